"""How the agent that is measured is spoken to: with its key, and patiently."""

import asyncio
import selectors
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx
import pytest
from typing_extensions import override

from services.assessor.adapters.a2a_participant import A2aParticipant
from services.assessor.ports.participants import Agent, ParticipantFailed
from shared.contracts.assessment.messages import AssessmentComplete, JsonObject, TurnStart
from tests.doubles.scripted_participant import ScriptedParticipant
from tests.serving import listening, serving_on

KEY = "pa_" + "5e" * 20
TURN = TurnStart.model_validate({"turn_number": 1, "current_time": "2026-03-02T09:00:00Z"})
TOLD = AssessmentComplete(reason="scenario_complete")


class Counted(httpx.AsyncHTTPTransport):
    """``refused`` is set when the agent took no connection."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = asyncio.Event()

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await super().handle_async_request(request)
        except httpx.ConnectError:
            self.refused.set()
            raise


@pytest.fixture
def line() -> Counted:
    return Counted()


@pytest.fixture
async def http(line: Counted) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, transport=line) as client:
        yield client


@pytest.fixture
def agent() -> ScriptedParticipant:
    async def done(_: JsonObject) -> JsonObject:
        return {"message_type": "turn_complete", "notes": f"I was shown {KEY}.", "time_step": "PT1H"}

    return ScriptedParticipant(done)


@asynccontextmanager
async def up(agent: ScriptedParticipant, port: int = 0) -> AsyncIterator[str]:
    """The agent's address while it is up; its card names that address, unless it names another one already."""
    with listening(port) as (listener, url):
        agent.url = agent.url or url
        async with serving_on(listener, agent.app()):
            yield url


def port_of(url: str) -> int:
    return httpx.URL(url).port or 0


@pytest.mark.promise("assessor.agent_key")
async def test_an_agent_is_shown_its_key_and_what_it_says_of_it_is_masked(
    agent: ScriptedParticipant, http: httpx.AsyncClient
) -> None:
    async with up(agent) as url:
        reply = await A2aParticipant(Agent(url, KEY), http).ask(TURN, 5)

    assert [headers["authorization"] for headers in agent.headers] == [f"Bearer {KEY}"]
    assert reply["notes"] == "I was shown [the agent's key]."
    assert KEY not in repr(Agent(url, KEY))


@pytest.mark.promise("assessor.agent_key")
async def test_a_key_goes_to_no_other_origin_that_a_card_names(
    agent: ScriptedParticipant, http: httpx.AsyncClient
) -> None:
    agent.url = "http://localhost:1/"
    async with up(agent) as url:
        with pytest.raises(ParticipantFailed, match=r"http://localhost:1/, another origin than .*: no key goes there"):
            await A2aParticipant(Agent(url, KEY), http).tell(TOLD)

    assert agent.headers == []


@pytest.mark.promise("assessor.patience")
async def test_a_question_waits_for_an_agent_that_restarts(
    agent: ScriptedParticipant, http: httpx.AsyncClient, line: Counted
) -> None:
    async with up(agent) as url:
        participant = A2aParticipant(url, http)
        await participant.tell(TOLD)
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(participant.ask(TURN, 20))
        await asyncio.wait_for(line.refused.wait(), 10)
        async with up(agent, port_of(url)):
            await asyncio.wait({asked})

    assert asked.result()["message_type"] == "turn_complete"
    assert [said["message_type"] for said in agent.heard] == ["assessment_complete", "turn_start"]


class _Hurry(selectors.DefaultSelector):
    """Nobody waits: where nothing has come, time is what it would be when the next timer ends."""

    passed = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout and 0)
        self.passed += 0 if ready else timeout or 0
        return ready


class HurriedLoop(asyncio.SelectorEventLoop):
    """Its time passes only where everybody waits, however slow the machine is."""

    def __init__(self) -> None:
        self._hurry = _Hurry()
        super().__init__(self._hurry)

    @override
    def time(self) -> float:
        return self._hurry.passed


class Failure(NamedTuple):
    """Of a question: how it failed, how often it was posted, and for how long it was waited."""

    kind: str
    tries: int
    seconds: float


async def _ask_who_is_away(*times: float) -> list[Failure]:
    """One question after the other, with so many seconds each, to an agent that takes no connection."""
    posted, failures, loop = list[httpx.Request](), list[Failure](), asyncio.get_running_loop()

    def refuse(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404)
        posted.append(request)
        raise httpx.ConnectError("nobody is there")

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        participant = A2aParticipant(Agent("http://agent.example"), client, patience=10)
        for seconds in times:
            posted.clear()
            began = loop.time()
            with pytest.raises(ParticipantFailed) as failed:
                await participant.ask(TURN, seconds)
            failures.append(Failure(failed.value.kind, len(posted), loop.time() - began))
    return failures


@pytest.mark.promise("assessor.patience")
def test_an_agent_that_stays_away_is_told_apart_from_a_slow_one_and_waited_for_once() -> None:
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        first, second = runner.run(_ask_who_is_away(60, 60))

    assert (first.kind, second.kind) == ("communication_error", "communication_error")
    assert first.tries > 1
    assert first.seconds == pytest.approx(10)
    assert (second.tries, second.seconds) == (1, 0)


@pytest.mark.promise("assessor.patience")
def test_a_turns_time_bounds_the_wait_for_an_agent() -> None:
    """Just before it is over, the agent is known to be away, and not to be slow."""
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        (failed,) = runner.run(_ask_who_is_away(5))

    assert failed.kind == "communication_error"
    assert 4 < failed.seconds < 5


@pytest.mark.promise("assessor.replies")
async def test_a_card_without_an_end_is_not_read_to_its_end() -> None:
    """Each part is a megabyte; it stops long before the last of ten thousand."""
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        for _ in range(10_000):
            given += 1
            yield b" " * 1024 * 1024

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=endless()))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(ParticipantFailed, match="larger"):
            await A2aParticipant(Agent("http://agent.example"), client).ask(TURN, 5)

    assert given < 20
