"""The durable tasks in memory, for tests of whoever stands in front of them."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from pydantic import JsonValue
from typing_extensions import override

from shared.contracts.task import TaskEvent, TaskRecord, Turn
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import (
    Acceptance,
    EventsLost,
    PrepareAcceptance,
    SessionBelongsToOther,
    TaskEnded,
    Tasks,
    TaskSnapshot,
)


class MemoryTasks(Tasks):
    """``turns`` holds what waits for a worker; ``broken`` makes every call fail as a dead store would."""

    def __init__(self) -> None:
        self.turns: asyncio.Queue[Turn] = asyncio.Queue()
        self.records: dict[tuple[str, str], TaskRecord] = {}
        self.broken: str | None = None
        self._owners: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[str, str, str, str], Acceptance] = {}
        self._events: dict[tuple[str, str], list[TaskEvent]] = defaultdict(list)
        self._dropped: dict[tuple[str, str], int] = defaultdict(int)
        self._news = asyncio.Condition()

    async def accept(
        self, record: TaskRecord, turn: Turn, dedupe: str | None, prepare: PrepareAcceptance | None = None
    ) -> Acceptance:
        self._check()
        message = (record.tenant, record.session_id, turn.principal.id, dedupe or turn.turn_id)
        if seen := self._seen.get(message):
            return Acceptance(self.records[record.tenant, seen.record.task_id], seen.turn_id, False)
        if self._owners.setdefault((record.tenant, record.session_id), turn.principal.id) != turn.principal.id:
            raise SessionBelongsToOther(record.session_id)
        known = self.records.get((record.tenant, record.task_id), record)
        if known.state.is_terminal:
            raise TaskEnded(record.task_id)
        if prepare is not None:
            await prepare()
        self.records[record.tenant, record.task_id] = known
        self._seen[message] = accepted = Acceptance(known, turn.turn_id, True)
        await self._arrived(turn, record)
        return accepted

    @override
    async def signal(self, tenant: str, session_id: str, turn: Turn) -> bool:
        self._check()
        record = self.records.get((tenant, turn.task_id))
        if record is None or record.state.is_terminal:
            return False
        await self.turns.put(turn)
        return True

    async def get_record(self, tenant: str, task_id: str, session_id: str = "") -> TaskRecord | None:
        self._check()
        return self.records.get((tenant, task_id))

    async def get_snapshot(self, tenant: str, task_id: str, session_id: str = "") -> TaskSnapshot | None:
        self._check()
        record, count = self.records.get((tenant, task_id)), len(self._events[tenant, task_id])
        if record is None:
            return None
        dropped = self._dropped[tenant, task_id]
        oldest, newest = (f"{dropped + 1}-0", f"{count}-0") if count else (None, None)
        return TaskSnapshot(record, oldest, newest, has_all_events=not dropped)

    def drop(self, record: TaskRecord, count: int) -> None:
        """What the cap of a task's events does: that many of the oldest are gone."""
        self._dropped[record.tenant, record.task_id] = count

    async def watch(
        self, tenant: str, task_id: str, after: str = "0", session_id: str = ""
    ) -> AsyncGenerator[tuple[str, TaskEvent], None]:
        events, seen = self._events[tenant, task_id], int(after.split("-")[0])
        while True:
            async with self._news:
                while len(events) <= seen and not self.broken:
                    await self._news.wait()
            self._check()
            dropped = self._dropped[tenant, task_id]
            if 0 < seen < dropped:
                raise EventsLost(f"{seen}-0")
            seen = max(seen, dropped)
            for event in events[seen:]:
                seen += 1
                yield f"{seen}-0", event

    async def publish(self, record: TaskRecord, kind: str, **data: JsonValue) -> None:
        """What a worker does: store the record as it now is, with one event."""
        async with self._news:
            self.records[record.tenant, record.task_id] = record
            self._events[record.tenant, record.task_id].append(TaskEvent(kind=kind, at=_now(), data=data))
            self._news.notify_all()

    async def finish(self, turn: Turn, state: TaskState, answer: str | None = None, reason: str | None = None) -> None:
        """End a turn as a worker would."""
        before = next(record for record in self.records.values() if record.task_id == turn.task_id)
        changed = {"state": state, "answer": answer, "reason": reason, "updated_at": _now()}
        record = before.model_copy(update={**changed, "turns_done": (*before.turns_done, turn.turn_id)})
        await self.publish(record, "turn_finished", turn_id=turn.turn_id, state=state.value)

    async def break_down(self, cause: str) -> None:
        """Fail from now on, also for whoever is watching."""
        async with self._news:
            self.broken = cause
            self._news.notify_all()

    async def _arrived(self, turn: Turn, record: TaskRecord) -> None:
        await self.publish(self.records[record.tenant, record.task_id], "submitted", turn_id=turn.turn_id)
        await self.turns.put(turn)

    def _check(self) -> None:
        if self.broken:
            raise StoreUnavailable(self.broken)


def _now() -> datetime:
    return datetime.now(UTC)
