"""`purple assess` against an assessor: followed to the results, an agent that dies, refusals, giving up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from cli.assess.assessor import RunParameters, run_assessment
from cli.assess.command import describe_update
from cli.console import CommandError
from services.assessor.bootstrap import build
from services.assessor.settings import AssessorSettings
from shared.contracts.assessment.messages import Update
from tests.assessor.agents import Gold, reached
from tests.assessor.scenes import SCENE, written
from tests.assessor.stage import ADMIN, simulator
from tests.doubles.scripted_participant import Hanging, ScriptedParticipant
from tests.http_client import open_http
from tests.serving import serving

pytestmark = pytest.mark.promise("assess.command")


@pytest.fixture
async def assessor(tmp_path: Path) -> AsyncIterator[str]:
    written(tmp_path)
    async with simulator() as ues:
        given = {"scenarios_dir": tmp_path, "anthropic_api_key": "", "anthropic_base_url": ""}
        world = {"simulator_url": ues, "simulator_admin_key": ADMIN}
        async with serving(build(AssessorSettings.model_validate({**given, **world}))) as url:
            yield url


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with open_http(trust_env=False) as client:
        yield client


async def test_an_assessment_is_followed_from_turn_to_turn_to_its_results(
    assessor: str, http: httpx.AsyncClient
) -> None:
    followed: list[Update] = []
    async with reached(Gold().participant) as participant:
        results = await run_assessment(assessor, http, RunParameters(SCENE, participant.url), followed.append)

    told = [describe_update(update) for update in followed]
    assert (results.status, results.scores.overall.score) == ("completed", 9)
    assert [line.split(",")[0] for line in told if line.startswith("turn")] == ["turn 1", "turn 2"]
    assert "  email.send" in told
    assert told[-1] == "ended: early completion"


async def test_an_agent_that_is_killed_in_mid_turn_is_a_communication_error(
    assessor: str, http: httpx.AsyncClient
) -> None:
    """Not a hang, and not a stack trace: the turn failed, and so do those that nobody answers any more."""
    followed: list[Update] = []
    async with asyncio.timeout(30):
        server = await _dying()
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        results = await run_assessment(assessor, http, RunParameters(SCENE, url, turn_timeout=3), followed.append)

    kinds = {str(turn["error_type"]) for turn in results.failed_turns}
    assert (results.status, kinds) == ("failed", {"communication_error"})
    assert any(describe_update(update).startswith("  communication error: ") for update in followed)


async def test_an_assessor_that_cannot_run_it_says_why(assessor: str, http: httpx.AsyncClient) -> None:
    with pytest.raises(CommandError, match="no scenario"):
        await run_assessment(assessor, http, RunParameters("nowhere", "http://127.0.0.1:1"), _nobody)


async def test_what_is_no_assessor_is_named(http: httpx.AsyncClient) -> None:
    with pytest.raises(CommandError, match="No assessor answers at"):
        await run_assessment("http://127.0.0.1:1", http, RunParameters(SCENE, "http://127.0.0.1:1"), _nobody)


async def test_whoever_gives_up_leaves_no_assessment_running(assessor: str, http: httpx.AsyncClient) -> None:
    hanging, begun = Hanging(), asyncio.Event()
    agent = ScriptedParticipant(hanging)
    async with reached(agent) as participant:
        run = asyncio.create_task(
            run_assessment(assessor, http, RunParameters(SCENE, participant.url), lambda _: begun.set())
        )
        async with asyncio.timeout(10):
            while len(agent.heard) < 2:
                await asyncio.sleep(0.01)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        async with asyncio.timeout(10):
            while not await _is_revoked(agent):
                await asyncio.sleep(0.01)
        hanging.let_go.set()

    assert begun.is_set()


async def _is_revoked(agent: ScriptedParticipant) -> bool:
    """The key that the agent was given opens nothing any more."""
    start = agent.heard[0]
    async with open_http(trust_env=False, headers={"X-API-Key": str(start["api_key"])}) as http:
        return (await http.get(f"{start['ues_url']}/chat/state")).status_code in (401, 404)


async def _dying() -> asyncio.Server:
    """An agent that is gone as soon as it has begun a turn."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = await reader.readuntil(b"\r\n\r\n")
        if heard.startswith(b"GET"):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif b"turn_start" in await reader.readexactly(_length(heard)):
            server.close()
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server


def _length(head: bytes) -> int:
    fields = [line.split(b":", 1) for line in head.splitlines() if b":" in line]
    return next(int(value) for name, value in fields if name.lower() == b"content-length")


def _nobody(_: Update) -> None:
    """Nobody follows."""
