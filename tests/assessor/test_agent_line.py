"""How the agent that is measured is spoken to: with its key, and patiently."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
    """``refused`` is set when the agent took no connection; ``tries`` counts what was to be posted."""

    def __init__(self) -> None:
        super().__init__()
        self.refused, self.tries = asyncio.Event(), 0

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.tries += request.method == "POST"
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


@pytest.mark.promise("assessor.patience")
async def test_an_agent_that_stays_away_is_told_apart_from_a_slow_one_and_waited_for_once(
    agent: ScriptedParticipant, http: httpx.AsyncClient, line: Counted
) -> None:
    async with up(agent) as url:
        participant = A2aParticipant(url, http, patience=0.3)
        await participant.tell(TOLD)
    tries = []
    for _ in range(2):
        before = line.tries
        with pytest.raises(ParticipantFailed) as failed:
            await participant.ask(TURN, 20)
        tries.append(line.tries - before)

    assert failed.value.kind == "communication_error"
    assert tries[0] > 1
    assert tries[1] == 1


@pytest.mark.promise("assessor.patience")
async def test_a_turns_time_bounds_the_wait_for_an_agent(agent: ScriptedParticipant, http: httpx.AsyncClient) -> None:
    async with up(agent) as url:
        participant = A2aParticipant(url, http)
        await participant.tell(TOLD)
    with pytest.raises(ParticipantFailed) as failed:
        await participant.ask(TURN, 2)

    assert failed.value.kind == "communication_error"


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
