"""The archived form of an ended task: one JSON document with everything known of it."""

from shared.contracts.approval import Approval
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord

ARCHIVE_VERSION = 1


class ArchivedStep(Contract):
    """One journal entry; ``at_ms`` is the store's time when it was stored.

    ``lost``: the names of shared texts in its data that had expired when the task was archived.
    """

    key: str
    kind: str
    data: str
    at_ms: int = 0
    lost: tuple[str, ...] = ()


class ArchivedTask(Contract):
    """An ended task with all its data. ``ledger``: by write key; ``events``: those that had not expired."""

    v: int = ARCHIVE_VERSION
    record: TaskRecord
    journal: tuple[ArchivedStep, ...] = ()
    ledger: dict[str, LedgerEntry] = {}
    approvals: tuple[Approval, ...] = ()
    events: tuple[TaskEvent, ...] = ()


class UnknownVersion(ValueError):
    """A later release wrote the document."""


def parse_archived_task(content: bytes) -> ArchivedTask:
    """Parses an archived task. Raises ``UnknownVersion``, or ``ValueError`` for anything else."""
    task = ArchivedTask.model_validate_json(content)
    if task.v > ARCHIVE_VERSION:
        limit = f"this release reads up to version {ARCHIVE_VERSION}"
        raise UnknownVersion(f"the archived task has version {task.v}; {limit}")
    return task
