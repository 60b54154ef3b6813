"""A task in memory, the replicas that stream it, and what a client reads of a stream."""

from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from services.gateway.edge.keep_alive import ShutdownState
from services.gateway.features.identity.model import Caller
from services.gateway.features.participation import refuse_assessments
from services.gateway.features.streams.service import NumberedUpdate, TaskStream
from services.gateway.features.tasks.intake import TimeAndFreshId
from services.gateway.features.tasks.message import ClientMessage, parse_message
from services.gateway.features.tasks.service import MessageRules, TaskService
from shared.contracts.task import Artifact, Principal, TaskRecord, Turn
from shared.domain.exact_json import JsonObject
from shared.domain.words import A2aVersion, TaskState
from tests.doubles.gateway_doubles import MemoryTasks
from tests.doubles.memory_client_ids import MemoryClientIds

NOON = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
ANN = Caller("acme", Principal(id="ann", verified=True))


class Played:
    """A task whose worker is the test; every call of ``service`` makes another process on the same store."""

    def __init__(self) -> None:
        self.tasks = MemoryTasks()
        self.client_ids = MemoryClientIds(self.tasks)
        self._count = 0

    def service(self) -> TaskService:
        rules, shutdown = MessageRules(), ShutdownState()
        return TaskService(self.tasks, self.client_ids, self.moment, rules, 85, shutdown, refuse_assessments)

    async def sent(self, text: str = "pay it", dialect: A2aVersion = A2aVersion.A2A_1_0) -> TaskRecord:
        """A task that has just been accepted."""
        return (await self.service().submit_message(message(text, dialect), ANN)).record

    async def tells(self, record: TaskRecord, kind: str, **data: object) -> None:
        """One event, the task staying as it is."""
        await self.tasks.publish(await self.now(record), kind, **data)  # type: ignore[arg-type]  # JSON, by the tests

    async def ends(
        self, record: TaskRecord, turn: Turn, state: TaskState, artifacts: Sequence[Artifact] = (), answer: str = "paid"
    ) -> None:
        """The end of a turn, as a worker stores it: record and event in one step."""
        before = await self.now(record)
        done = (*before.turns_done, turn.turn_id)
        left = {"state": state, "answer": answer, "artifacts": (*before.artifacts, *artifacts), "turns_done": done}
        after = before.model_copy(update=left)
        await self.tasks.publish(after, "turn_finished", turn_id=turn.turn_id, state=state.value)

    async def now(self, record: TaskRecord) -> TaskRecord:
        found = await self.tasks.get_record(record.tenant, record.task_id)
        assert found is not None
        return found

    def moment(self) -> TimeAndFreshId:
        self._count += 1
        return TimeAndFreshId(NOON, f"id-{self._count}")


def message(text: str, dialect: A2aVersion = A2aVersion.A2A_1_0, **more: str) -> ClientMessage:
    parts: JsonObject = {"parts": [{"text": text}], "messageId": f"m-{text}", **more}
    if dialect is A2aVersion.LEGACY:
        return parse_message({"id": "t1", "message": parts}, dialect)
    return parse_message({"message": parts}, dialect)


async def read(stream: TaskStream, most: int | None = None) -> list[NumberedUpdate]:
    """What a client gets of a stream: all of it, or as much as comes before its connection is cut."""
    told: list[NumberedUpdate] = []
    if most == 0:
        return told
    async with aclosing(stream.stream_updates()) as updates:
        async for item in updates:
            told.append(item)
            if len(told) == most:
                break
    return told
