"""An ended task as the archive keeps it: all that was known of it, in one envelope."""

from shared.contracts.approval import Approval
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord

VERSION = 1


class ArchivedStep(Contract):
    """One entry of the journal, oldest first; ``at_ms`` is the store's time when it was stored.

    ``lost``: names of common texts that its data refer to and that were missing when the task was archived.
    """

    key: str
    kind: str
    data: str
    at_ms: int = 0
    lost: tuple[str, ...] = ()


class ArchivedTask(Contract):
    """An ended task with all that belongs to it. ``ledger``: by write key; ``events``: those still kept."""

    v: int = VERSION
    record: TaskRecord
    journal: tuple[ArchivedStep, ...] = ()
    ledger: dict[str, LedgerEntry] = {}
    approvals: tuple[Approval, ...] = ()
    events: tuple[TaskEvent, ...] = ()


class UnknownVersion(ValueError):
    """The envelope was written by a later release than this one."""


def read_archived(content: bytes) -> ArchivedTask:
    """Parse an archived task. Raises ``UnknownVersion``, or ``ValueError`` for what is not one."""
    task = ArchivedTask.model_validate_json(content)
    if task.v > VERSION:
        raise UnknownVersion(f"the archived task has version {task.v}; this release reads up to version {VERSION}")
    return task
