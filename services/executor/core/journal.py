"""The journal of one task: every paid or binding step once, whoever runs it and however often (I5)."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime

from pydantic import JsonValue

from services.executor.core.endings import Canceled, Failed
from services.executor.ports import JournalEntry, Pulse, TurnStore
from shared.contracts.task import TaskEvent

CHECKPOINT = "checkpoint"


class Journal:
    """Finished steps by key. A step that is there is answered from memory and not done again."""

    def __init__(self, store: TurnStore, entries: Iterable[JournalEntry], now: datetime, seconds: float) -> None:
        """``seconds``: the working time that is left for the task."""
        self._store = store
        self._steps = {entry.key: entry.data_json for entry in entries}
        self._events: list[TaskEvent] = []
        self._now = now
        self._began = now
        self._seconds = seconds

    @property
    def now(self) -> datetime:
        """The store's time when it last answered."""
        return self._now

    @property
    def began(self) -> datetime:
        """When this attempt at the turn began: no two attempts have the same."""
        return self._began

    @property
    def worked_seconds(self) -> float:
        """How long this turn has been worked on."""
        return (self._now - self._began).total_seconds()

    @property
    def seconds_left(self) -> float:
        """The working time that is left for the task."""
        return self._seconds - self.worked_seconds

    def get(self, key: str) -> str | None:
        return self._steps.get(key)

    def tell(self, kind: str, **data: JsonValue) -> None:
        """An event for people who watch; it is published with the next thing stored."""
        self._events.append(TaskEvent(kind=kind, at=self._now, data=data))

    def untold(self) -> tuple[TaskEvent, ...]:
        """Events not published yet; they count as published from now on."""
        events, self._events = tuple(self._events), []
        return events

    async def once(self, key: str, kind: str, step: Callable[[], Awaitable[str]]) -> str:
        """The step's result: from the journal if it was finished before, else done now and stored before it is used."""
        known = self._steps.get(key)
        if known is not None:
            return known
        await self.check()
        result = await step()
        await self.add(key, kind, result)
        return result

    async def add(self, key: str, kind: str, data: str) -> None:
        self._steps[key] = data
        await self._append([JournalEntry(key, kind, data)])

    async def check(self) -> None:
        """Ask the store whether this run may go on: raises ``Canceled``, ``Failed`` or ``LeaseLost``."""
        self.heard(await self._store.pulse())

    def heard(self, pulse: Pulse) -> None:
        """Take note of what the store said; ends the run if somebody wants it to stop, or its time is used up."""
        self._now = pulse.now
        if pulse.cancel is not None:
            raise Canceled(f"canceled by {pulse.cancel.principal.id}")
        if self.seconds_left <= 0:
            raise self.out_of_time()

    def out_of_time(self) -> Failed:
        return Failed("the task used up its working time (TASK_TIMEOUT)")

    def noted(self, pulse: Pulse) -> None:
        """Take note of the time only: between a write's intent and its result nothing may interrupt."""
        self._now = pulse.now

    async def _append(self, entries: Sequence[JournalEntry]) -> None:
        self.noted(await self._store.append(entries, self.untold()))
