"""The gateway's ports to tasks: events, clients' own ids, readiness."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shared.contracts.task import TaskEvent, TaskRecord
from shared.ports.tasks import Tasks


class Stories(Protocol):
    async def events_of(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        """The task's events so far, with their ids; empty once they have expired. May raise ``StoreUnavailable``."""


class Thread(NamedTuple):
    """What is stored about a client's own task id, and about one message (a fingerprint) under it.

    ``task_id``: the newest task of that id. ``signalled``: the decision already passed on. ``answered``: the last turn
    whose answer the client received; until then the same message is the same turn.
    """

    task_id: str | None = None
    signalled: str = ""
    answered: str = ""


class ClientThreads(Protocol):
    """What is stored about clients' own task ids. All methods may raise ``StoreUnavailable``."""

    async def thread_of(self, tenant: str, client_id: str, fingerprint: str) -> Thread: ...

    async def find(
        self, tasks: Tasks, tenant: str, client_id: str, fingerprint: str
    ) -> tuple[Thread, TaskRecord | None]:
        """What is stored about an id, and the task that it leads to."""
        thread = await self.thread_of(tenant, client_id, fingerprint)
        return thread, await tasks.record(tenant, thread.task_id or client_id)

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None: ...

    async def note_signal(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...

    async def note_answer(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...
