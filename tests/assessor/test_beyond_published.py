"""What published assessors leave undone: true counts, worlds reached from elsewhere, made room for and put away."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from services.assessor.adapters.ues_server import UESServerManager
from services.assessor.adapters.worlds import OwnProcess, RunningSimulator, SharedWorld
from services.assessor.contexts import GreenAgents, TooManyContexts
from services.assessor.hosting import GreenAgent
from services.assessor.ports.participants import Agent
from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.contracts.assessment.messages import JsonObject, TurnStarted
from tests.assessor.agents import Following, Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, config, simulator, staged
from tests.doubles.scripted_participant import ScriptedParticipant
from tests.http_client import open_http
from tests.serving import serving

pytestmark = pytest.mark.promise("assessor.beyond_published")


class Quick(Gold):
    """Asks for a minute after each of its turns, of which it has three."""

    async def turn(self, said: JsonObject) -> JsonObject:
        answer = await super().turn({**said, "turn_number": 1 if said["turn_number"] == 1 else 2})
        if said["turn_number"] == 2:
            return {"message_type": "turn_complete", "time_step": "PT1H"}
        return answer if answer["message_type"] == "early_completion" else {**answer, "time_step": "PT1M"}


async def test_turns_tell_how_many_events_wait_and_how_many_happened(tmp_path: Path) -> None:
    """Ben's answer is on its way after the first turn, and there after the second."""
    quick = Quick()
    changes = {"late_replies": "later"}
    async with staged(tmp_path, changes=changes) as stage, reached(quick.participant) as participant:
        await stage.assessed(participant)

    started = [update for update in stage.following.updates if isinstance(update, TurnStarted)]
    told = [said["events_processed"] for said in quick.participant.heard if said["message_type"] == "turn_start"]
    assert [update.events_pending for update in started] == [0, 1, 0]
    assert told == [0, 0, 1]


async def test_an_agent_elsewhere_is_told_an_address_that_it_can_reach() -> None:
    own = OwnProcess(UESServerManager(8123, public_host="worlds.example"))
    given = {"simulator_url": "http://127.0.0.1:9050", "simulator_public_url": "https://worlds.example"}
    shared = GreenAgent(config=config(**given, simulator_admin_key=ADMIN), context_id="c1")

    assert own.public_url == "http://worlds.example:8123"
    assert shared.ues_url.startswith("https://worlds.example/worlds/")


@pytest.mark.long
async def test_worlds_make_room_for_others_and_leave_with_the_assessor(tmp_path: Path) -> None:
    written(tmp_path)
    async with simulator() as url:
        agents = _agents(tmp_path, url)
        before = await _worlds(url)
        async with reached(Gold().participant) as one, reached(Gold().participant) as other:
            await agents.run_assessment("room-1", "t1", Agent(one.url), SCENE, {}, Following())
            first = await _worlds(url) - before
            await agents.run_assessment("room-2", "t2", Agent(other.url), SCENE, {}, Following())
            second = await _worlds(url) - before
        await agents.close_idle()
        kept = await _worlds(url) - before
        await agents.close()
        left = await _worlds(url)

    assert (len(first), len(second), first & second) == (1, 1, set())
    assert kept == second, "it was used just now"
    assert left == before


@pytest.mark.long
async def test_more_assessments_at_once_than_there_is_room_for_are_refused(tmp_path: Path) -> None:
    written(tmp_path)
    began, let_go = asyncio.Event(), asyncio.Event()

    async def turn(_: JsonObject) -> JsonObject:
        began.set()
        await let_go.wait()
        return {"message_type": "early_completion"}

    async with simulator() as url, reached(ScriptedParticipant(turn)) as agent:
        agents = _agents(tmp_path, url)
        async with asyncio.TaskGroup() as group:
            group.create_task(agents.run_assessment("full-1", "t1", Agent(agent.url), SCENE, {}, Following()))
            await began.wait()
            with pytest.raises(TooManyContexts, match="MAX_CONTEXTS"):
                await agents.run_assessment("full-2", "t2", Agent(agent.url), SCENE, {}, Following())
            let_go.set()
        await agents.close()


class _SlowToClose:
    """A simulator whose first closing of a world takes until another request opens one, or half a second."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.closing, self._opened = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        closes = scope["type"] == "http" and scope["method"] == "DELETE" and "/keys/" not in scope["path"]
        if closes and not self.closing.is_set():
            self.closing.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._opened.wait()
        await self._app(scope, receive, send)
        if scope["type"] == "http" and scope["path"] == "/worlds" and self.closing.is_set():
            self._opened.set()


async def test_an_assessment_that_comes_while_its_idle_context_is_closed_gets_a_world_of_its_own(
    tmp_path: Path,
) -> None:
    """Worlds are named after contexts: the one that is being closed must not be taken for the new one."""
    written(tmp_path)
    slow = _SlowToClose(build(SimulatorSettings.model_validate({"ues_admin_key": ADMIN})))
    async with serving(slow) as url, reached(Gold().participant) as one, reached(Gold().participant) as other:
        world = {"simulator_url": url, "simulator_admin_key": ADMIN}
        agents = GreenAgents(config(scenarios_dir=tmp_path, context_idle_seconds=0.001, **world))
        await agents.run_assessment("again", "t1", Agent(one.url), SCENE, {}, Following())
        await asyncio.sleep(0.01)  # the time after which a context is idle
        closing = asyncio.create_task(agents.close_idle())
        await slow.closing.wait()
        results = await agents.run_assessment("again", "t2", Agent(other.url), SCENE, {}, Following())
        await closing
        await agents.close()
    assert (results.status, results.scores.overall.score) == ("completed", 9.0)


async def test_a_simulator_that_is_gone_keeps_nobody_from_stopping() -> None:
    await SharedWorld(RunningSimulator("http://127.0.0.1:1", "", ADMIN), "left-behind").stop()


def _agents(folder: Path, url: str) -> GreenAgents:
    world = {"simulator_url": url, "simulator_admin_key": ADMIN}
    return GreenAgents(config(scenarios_dir=folder, max_contexts=1, context_idle_seconds=60, **world))


async def _worlds(url: str) -> set[str]:
    async with open_http(trust_env=False, headers={"X-API-Key": ADMIN}) as http:
        listed = (await http.get(f"{url}/worlds")).json()
    return {str(world["world_id"]) for world in listed["worlds"]}
