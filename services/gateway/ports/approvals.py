"""Approvals, and the tasks that wait for them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from shared.contracts.approval import Approval
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
