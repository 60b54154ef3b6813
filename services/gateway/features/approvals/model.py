"""What approvals, and telling tenants of them, need from outside."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shared.contracts.approval import Approval, NoticeEvent
from shared.contracts.task import TaskRecord


class Question(NamedTuple):
    """An approval, and the task that waits for it."""

    approval: Approval
    record: TaskRecord


class Approvals(Protocol):
    """Both may raise ``StoreUnavailable``."""

    async def waiting(self, tenant: str) -> Sequence[Question]:
        """Every approval of the tenant that is not decided."""
        ...

    async def find(self, tenant: str, approval_id: str) -> Question | None:
        """That approval, decided or not; None if there is none, or its deadline is over."""
        ...


class OwedNotice(NamedTuple):
    """Something to be told of an approval. ``name`` is its own in the store."""

    name: str
    event: NoticeEvent
    step: int
    tenant: str
    approval_id: str


class OwedNotices(Protocol):
    """Notices about approvals that were not sent yet. Every method may raise ``StoreUnavailable``."""

    async def take(self) -> Sequence[OwedNotice]:
        """What is owed now. It is another's to take after a while, should this taker die."""
        ...

    async def mark_done(self, owed: OwedNotice) -> None: ...


class UnreadableReference(Exception):
    """A target refers to what is not there, or may not be referred to; the message says which, and no secret."""


class References(Protocol):
    def read(self, text: str, tenant: str) -> str:
        """What a target's field refers to, or the field itself; raises ``UnreadableReference``."""
        ...
