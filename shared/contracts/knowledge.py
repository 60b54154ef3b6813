"""What a tenant's earlier tasks taught: cases, reusable facts, named entities, and the accuracy of predictions."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.domain.cases import CaseOutcome
from shared.domain.words import Strategy


class PredictionAccuracy(Contract):
    """How many predictions of one kind of threshold in one process type were checked, at most one for each task, and
    how many came true.

    ``window``: whether each of the newest came true, the newest last.
    """

    attempts: int = 0
    matches: int = 0
    window: tuple[bool, ...] = ()
    drift_alerts: int = 0  # how often it began to drift
    at: datetime | None = None


class CaseEntry(Contract):
    """What one ended task was and how well it went, kept in the tenant's case log for later tasks. ``domain`` is the
    process type; ``case_id`` the id of the outcome event.
    """

    case_id: str
    session_id: str
    task_id: str
    summary: str
    keywords: tuple[str, ...]
    outcome: CaseOutcome
    quality: float  # 0 to 1
    formula: str = ""  # by which the quality was measured, and the parts that it is the sum of
    parts: dict[str, float] = {}
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    tool_count: int
    domain: str
    strategy: Strategy
    at: datetime


class KnownFact(Contract):
    """One reusable fact. ``domain``: the process type it was learned in; ``task_id``: the last task that taught it.

    ``subject``, ``attribute`` and ``value`` are its parts. Of two facts with the same subject and attribute but
    different values, the newer one holds, and ``replaces`` has the value before; the older one keeps ``superseded_at``
    and is shown to no task. ``seen``: how many tasks taught it. The text comes from a task, so it must be quoted as
    data when a model sees it.
    """

    text: str
    domain: str
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    quality: float  # of the task that taught it, 0 to 1
    task_id: str = ""
    at: datetime  # when it was last taught
    session_id: str = ""
    subject: str = ""
    attribute: str = ""
    value: str = ""
    confidence: float = 0.6  # 0 to 1
    seen: int = 1
    first_at: datetime | None = None
    replaces: str = ""
    superseded_at: datetime | None = None
    superseded_by: str = ""

    @property
    def is_current(self) -> bool:
        """Whether no newer fact contradicts it."""
        return self.superseded_at is None


class KnownEntity(Contract):
    """An entity that tasks named (a vendor, a person, an amount, an id). ``seen``: how many tasks named it."""

    kind: str
    value: str
    seen: int
    last_seen: datetime
    first_seen: datetime | None = None
    names: tuple[str, ...] = ()  # other ways in which tasks write it


class EntityMention(Contract):
    """A task that named an entity."""

    task_id: str
    session_id: str
    at: datetime


class EntityLinks(Contract):
    """The entities named together with this one (``kind:value``, newest first), and the last tasks that named it."""

    together: tuple[str, ...] = ()
    tasks: tuple[EntityMention, ...] = ()
