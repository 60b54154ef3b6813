"""`purple assess` measures a whole stack of ours; whatever dies in mid-turn, it ends by itself with a result."""

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from services.gateway.features.participation import OpenAssessments
from services.gateway.first_key import create_first_key
from shared.contracts.assessment.results import Assessment, AssessmentResults
from shared.infra.compression import DictionaryCompressor
from tests.e2e.commands import Done, purple
from tests.e2e.whole_stack import TENANT, WholeStack, whole_stack

pytestmark = pytest.mark.long  # one of them, with fewer turns, is in the suite: one_stack/test_commands.py
SHAPES = Path(__file__).parents[2] / "shared/infra"
SLOW = {"PLANNER_LATENCY_MS": "150", "LEASE_SECONDS": "1", "TOOL_TIMEOUT": "1.5"}


class Measured(NamedTuple):
    done: Done
    results: AssessmentResults


async def measured(whole: WholeStack, scenario: str, kept: Path, *options: str) -> Measured:
    asked = ("--scenario", scenario, "--agent", whole.stack.get_url("gateway"), "--dir", str(kept))
    done = await purple("assess", *asked, *options, seconds=110)
    assert "Traceback" not in done.err + done.out
    return Measured(done, _kept_in(kept, done.err))


def _kept_in(folder: Path, said: str) -> AssessmentResults:
    assert folder.is_dir(), said
    (file,) = folder.iterdir()
    (run,) = Assessment.model_validate_json(file.read_text("utf-8")).runs
    return run.results


@pytest.mark.promise("participant.whole", "participant.key_sealed")
@pytest.mark.parametrize("scenario", ["inbox_triage", "review_scheduling", "quiet_day"])
async def test_a_whole_assessment_ends_by_itself_with_a_result(scenario: str, tmp_path: Path) -> None:
    """And nothing of it is left where the key to its world was kept, which stands in no log and in nothing stored."""
    async with whole_stack() as whole, asyncio.TaskGroup() as group:
        told = group.create_task(_key_of_the_world(whole))
        found = await measured(whole, scenario, tmp_path / "kept")
        left = [name async for name in whole.redis.scan_iter("*participation*")]
        key, stored, written = await told, await _stored(whole), _written(whole.stack.options.folder)
    assert found.done.code == 0, found.done.err
    assert found.results.status == "completed"
    assert found.results.turns_taken > 1
    assert found.results.actions_taken > 0
    assert "failed" not in found.done.err
    assert left == []
    assert len(key) > 20
    assert b"/worlds/" in stored
    assert key.encode() not in stored + written


async def _key_of_the_world(whole: WholeStack) -> str:
    """What the worker was given, opened as an executor opens it."""
    kept = OpenAssessments(whole.redis, [whole.stack.options.assessment_key])
    running = await kept.find_assessment(TENANT, await _session_in_turn(whole))
    assert running is not None
    return kept.decrypt_key(running)


async def _stored(whole: WholeStack) -> bytes:
    """All that Redis holds, with what stands compressed in it."""
    await whole.redis.config_set("rdbcompression", "no")
    stored = b"".join([await whole.redis.dump(name) or b"" async for name in whole.redis.scan_iter()])
    return b"".join((stored, *_expanded(stored)))


def _expanded(stored: bytes) -> Iterator[bytes]:
    for file in SHAPES.glob("*_shapes.txt"):
        shapes = ",".join(file.read_text("utf-8").splitlines()).encode()
        head = DictionaryCompressor(file.name).pack("")[:6]  # it ends with the checksum of the shapes
        for match in re.finditer(re.escape(head), stored):
            yield zlib.decompressobj(zdict=shapes).decompress(stored[match.start() :])


def _written(folder: Path) -> bytes:
    """Logs, archive, and the store's own files."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_socket()]
    return b"".join(path.read_bytes() for path in files)


@pytest.mark.promise("assessor.agent_key")
async def test_a_whole_stack_behind_keys_is_measured_and_its_key_is_written_nowhere(tmp_path: Path) -> None:
    async with whole_stack(1, None, AUTHENTICATION="keys") as whole:
        operator = await create_first_key(whole.stack.redis_url, TENANT, "olga", allows_another=False)
        wish = {"key": {"principal": "assessor", "roles": ["client"]}}
        shown = {"Authorization": f"Bearer {operator.token}"}
        made = await whole.http.post("/keys/create", json=wish, headers=shown)
        key = str(made.json()["token"])
        url, kept = whole.stack.get_url("gateway"), tmp_path / "kept"
        asked = ("--scenario", "inbox_triage", "--agent", url, "--max-turns", "3", "--dir", str(kept))
        done = await purple("assess", *asked, environ={"AGENT_API_KEY": key})
        refused = await purple("assess", *asked)
        written = _written(whole.stack.options.folder) + await _stored(whole)
    assert (done.code, _kept_in(kept, done.err).turns_taken) == (0, 3), done.err
    assert (refused.code, "it wants a key" in refused.err) == (1, True)
    assert key.rpartition("_")[2].encode() not in written + (done.out + done.err + _all(kept)).encode()


def _all(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in folder.iterdir())


class Accident(NamedTuple):
    """What happens in mid-turn, how many seconds the assessor waits for a turn, and what comes of it."""

    strike: Callable[[WholeStack, str], Awaitable[None]]
    patience: str
    status: str
    said: str


async def _kill_the_executor(whole: WholeStack, session: str) -> None:
    await whole.kill(await whole.owner(session))


async def _replace_the_executor(whole: WholeStack, session: str) -> None:
    await _kill_the_executor(whole, session)
    await whole.replaced("executor-1")


async def _restart_the_gateway(whole: WholeStack, session: str) -> None:
    await _kill_the_gateway(whole, session)
    await whole.replaced("gateway")


async def _kill_the_gateway(whole: WholeStack, _: str) -> None:
    await whole.kill(whole.child("gateway").pid)


ACCIDENTS = {
    "the executor dies": Accident(_kill_the_executor, "4", "timeout", "no answer came within 4 seconds"),
    "another executor takes over": Accident(_replace_the_executor, "60", "completed", "ended: "),
    "the gateway dies": Accident(_kill_the_gateway, "5", "failed", "the agent could not be reached"),
    "the gateway restarts": Accident(_restart_the_gateway, "60", "completed", "the agent could not be reached"),
}


@pytest.mark.promise("participant.killed")
@pytest.mark.parametrize("name", ACCIDENTS)
async def test_what_dies_in_mid_turn_costs_turns_and_never_the_result(name: str, tmp_path: Path) -> None:
    """As the error table says: turns that failed, and after three of them the run, judged as it stands."""
    accident = ACCIDENTS[name]
    async with whole_stack(1, None, **SLOW) as whole, _in_mid_turn(whole, accident):
        found = await measured(
            whole, "inbox_triage", tmp_path / "kept", "--turn-timeout", accident.patience, "--max-turns", "4"
        )
    assert (found.results.status, found.done.code) == (accident.status, int(accident.status != "completed"))
    assert accident.said in found.done.err
    assert ("timeout:" in found.done.err) is (accident.status == "timeout")


@asynccontextmanager
async def _in_mid_turn(whole: WholeStack, accident: Accident) -> AsyncIterator[None]:
    """The accident happens in the first turn, while an executor works on it."""

    async def strike() -> None:
        session = await _session_in_turn(whole)
        await accident.strike(whole, session)

    async with asyncio.TaskGroup() as group:
        struck = group.create_task(strike())
        yield
        assert struck.done()


async def _session_in_turn(whole: WholeStack) -> str:
    async with asyncio.timeout(60):
        while True:
            async for name in whole.redis.scan_iter(f"*:participation:{TENANT}:*"):
                turns = await whole.redis.hget(name, "turns")  # type: ignore[misc]  # sync or async
                session = unquote(str(name).rpartition(":")[2])
                if turns and await whole.held_by(session):
                    return session
            await asyncio.sleep(0.02)
