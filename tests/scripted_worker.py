"""A worker for conformance suites: what it does with a message is told by how the message's id begins.

``python -m tests.scripted_worker --redis-url URL [--queue-redis-url URL]`` stands beside a gateway in the executor's
place, on the same queue and stores, until it is stopped. Messages with other ids are played by their text, as
``tests.integration.gateway_stage`` says.
"""

import argparse
import asyncio
import base64
import signal
from collections.abc import Mapping
from typing import NamedTuple

from redis.asyncio import Redis
from typing_extensions import override

from services.executor.core.reflect.turn_end import list_new_user_messages
from services.executor.ports.turns import Lease, SessionState, TurnEnd, TurnStore, TurnWork
from shared.contracts.task import Artifact, ArtifactChunk, ArtifactFile, TaskEvent, TaskRecord, TurnKind
from shared.domain.words import TaskState
from shared.infra.redis import connect
from tests.integration.gateway_stage import ScriptedWorker

SLOW_SECONDS = 4.0
_STEP_SECONDS = 0.1
_BYTES = base64.b64encode(b"a file of the scripted worker").decode()
_TEXT = Artifact(name="text", text="a text of the scripted worker", media_type="text/plain")
_FILE = Artifact(name="file", file=ArtifactFile(name="output.txt", media_type="text/plain", content=_BYTES))
_LINK = Artifact(
    name="link", file=ArtifactFile(name="output.txt", media_type="text/plain", url="https://example.com/output.txt")
)
_DATA = Artifact(name="data", data={"key": "value", "count": 42})


class Script(NamedTuple):
    """How a turn ends: its state, what it made, and what was told of it before."""

    state: TaskState = TaskState.COMPLETED
    artifacts: tuple[Artifact, ...] = ()
    chunks: tuple[ArtifactChunk, ...] = ()
    says: int = 0  # how often it says that it works
    as_message: bool = False
    slow: bool = False


def _streamed(*artifacts: Artifact) -> Script:
    chunks = tuple(ArtifactChunk(index=index, artifact=one) for index, one in enumerate(artifacts, start=1))
    return Script(artifacts=tuple(_told(one) for one in artifacts), chunks=chunks, says=1)


def _told(artifact: Artifact) -> Artifact:
    return artifact.model_copy(update={"streamed": True})


_PIECES = tuple(Artifact(name="chunks", text=text) for text in ("one ", "two ", "three"))
_CHUNKED = Script(
    artifacts=(Artifact(name="chunks", text="one two three", streamed=True),),
    chunks=tuple(
        ArtifactChunk(artifact=piece, append=place > 0, last_chunk=place == len(_PIECES) - 1)
        for place, piece in enumerate(_PIECES)
    ),
    says=1,
)
SCRIPTS: Mapping[str, Script] = {
    "tck-complete-task": Script(),
    "tck-artifact-text": Script(artifacts=(_TEXT,)),
    "tck-artifact-file-url": Script(artifacts=(_LINK,)),
    "tck-artifact-file": Script(artifacts=(_FILE,)),
    "tck-artifact-data": Script(artifacts=(_DATA,)),
    "tck-message-response": Script(as_message=True),
    "tck-input-required": Script(TaskState.INPUT_REQUIRED),
    "tck-reject-task": Script(TaskState.REJECTED),
    "tck-stream-artifact-text": _streamed(_TEXT),
    "tck-stream-artifact-file": _streamed(_FILE),
    "tck-stream-artifact-chunked": _CHUNKED,
    "tck-stream-ordering-001": Script(artifacts=(_TEXT,), says=3),
    "tck-stream-001": Script(artifacts=(_TEXT,), says=1),
    "tck-stream-002": Script(says=2),
    "tck-stream-003": Script(artifacts=(_TEXT, _DATA), says=1),
    "test-resubscribe-message-id": Script(slow=True, says=1),
}


class ConformanceWorker(ScriptedWorker):
    """``slow``: for how many seconds it works on what is to be subscribed to."""

    def __init__(self, redis: Redis, url: str, slow: float = SLOW_SECONDS) -> None:
        super().__init__(redis, url)
        self._slow = slow

    @override
    async def _play(self, lease: Lease, work: TurnWork) -> None:
        script = script_for(work)
        if script is None:
            await super()._play(lease, work)
        else:
            await self._play_script(lease, work, script)

    async def _play_script(self, lease: Lease, work: TurnWork, script: Script) -> None:
        await self._begun(work)
        store = self._sessions.turn_store(lease, work)
        if work.record.state.is_terminal:  # it was canceled before its message was begun
            await store.finish(TurnEnd(record=work.record, session=SessionState()))
            return
        await store.append([], _sayings(work, script), work.record.model_copy(update={"state": TaskState.WORKING}))
        canceled = script.slow and await _canceled_meanwhile(store, self._slow)
        state = TaskState.CANCELED if canceled else script.state
        await store.finish(TurnEnd(record=_ended(work, script, state), session=SessionState()))


def script_for(work: TurnWork) -> Script | None:
    """The longest beginning that fits; only messages are played by their ids."""
    if work.turn.kind is not TurnKind.MESSAGE:
        return None
    fitting = [name for name in SCRIPTS if (work.turn.message_id or "").startswith(name)]
    return SCRIPTS[max(fitting, key=len)] if fitting else None


def _sayings(work: TurnWork, script: Script) -> tuple[TaskEvent, ...]:
    at = work.record.updated_at
    said = [TaskEvent(kind="note", at=at, data={"text": "begun"})]
    said += [TaskEvent(kind="phase", at=at, data={"phase": "EXECUTE", "step": step}) for step in range(script.says)]
    said += [TaskEvent(kind="artifact", at=at, data=chunk.model_dump(mode="json")) for chunk in script.chunks]
    return tuple(said)


def _ended(work: TurnWork, script: Script, state: TaskState) -> TaskRecord:
    waits = state is TaskState.INPUT_REQUIRED
    return work.record.model_copy(
        update={
            "state": state,
            "answer": None if waits or script.artifacts else f"{work.turn.message_id}: {state.value}",
            "reason": "what else is there to know?" if waits else None,
            "artifacts": script.artifacts,
            "history": (*work.record.history, *list_new_user_messages(work)),
            "answers_as": "message" if script.as_message else "task",
            "turns_done": (*work.record.turns_done, work.turn.turn_id),
        }
    )


async def _canceled_meanwhile(store: TurnStore, seconds: float) -> bool:
    """Work for a while; True if the task is canceled before that is over."""
    for _ in range(round(seconds / _STEP_SECONDS)):
        await asyncio.sleep(_STEP_SECONDS)
        if (await store.get_stop_state()).cancel is not None:
            return True
    return False


async def serve(redis_url: str, queue_redis_url: str) -> None:
    """Until SIGINT or SIGTERM."""
    redis = connect(redis_url)
    worker = ConformanceWorker(redis, queue_redis_url)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(worker.run())
        await stop.wait()
        running.cancel()
    await worker.aclose()
    await redis.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_worker", description=__doc__)
    parser.add_argument("--redis-url", required=True)
    parser.add_argument("--queue-redis-url", help="where the queue is, if elsewhere")
    given = parser.parse_args()
    asyncio.run(serve(given.redis_url, given.queue_redis_url or given.redis_url))


if __name__ == "__main__":
    main()
