"""Tasks as the gateway needs them: taken in, followed, and known to their clients."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shared.contracts.task import TaskEvent, TaskRecord
from shared.ports.tasks import Tasks


class Stories(Protocol):
    async def events_of(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        """The task's events so far, each with its id; none once they have left. May raise ``StoreUnavailable``."""


class Thread(NamedTuple):
    """What is remembered of a client's own task id, and of one message (a fingerprint) under it.

    ``task_id`` is the newest task of that id, ``signalled`` the decision already handed on, and ``answered`` the last
    turn whose answer the client was given: until then, the same message again is the same turn.
    """

    task_id: str | None = None
    signalled: str = ""
    answered: str = ""


class ClientThreads(Protocol):
    """What is remembered of clients' own task ids. All may raise ``StoreUnavailable``."""

    async def thread_of(self, tenant: str, client_id: str, fingerprint: str) -> Thread: ...

    async def find(
        self, tasks: Tasks, tenant: str, client_id: str, fingerprint: str
    ) -> tuple[Thread, TaskRecord | None]:
        """What is remembered of an id, and the task that it leads to."""
        thread = await self.thread_of(tenant, client_id, fingerprint)
        return thread, await tasks.record(tenant, thread.task_id or client_id)

    async def points_to(self, tenant: str, client_id: str, task_id: str) -> None: ...

    async def note_signal(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...

    async def note_answer(self, tenant: str, client_id: str, fingerprint: str, turn_id: str) -> None: ...


class Readiness(Protocol):
    async def problems(self) -> tuple[str, ...]:
        """Why this replica should get no requests, one sentence each; empty when it is ready."""
