"""What a tenant's earlier tasks taught: cases, reusable facts, the things they speak of, and predictions."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.domain.cases import CaseOutcome
from shared.domain.words import Strategy


class Accuracy(Contract):
    """Of one process type and one kind of threshold, one sample a task. ``window`` has the last ones, newest last."""

    attempts: int = 0
    matches: int = 0
    window: tuple[bool, ...] = ()
    drift_alerts: int = 0  # how often it began to drift
    at: datetime | None = None


class CaseEntry(Contract):
    """One entry of a tenant's case log. ``domain`` is the process type; ``case_id`` the id of the outcome event."""

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
    """One reusable fact. ``domain`` is the process type that it was learned in, ``task_id`` the last task to teach it.

    ``subject``, ``attribute`` and ``value`` are what it says, in parts: of two facts that give the same attribute of
    the same subject another value, the newer holds (``replaces`` says what held before); the older one is kept with
    ``superseded_at`` and shown to no task. ``seen`` counts the tasks that taught it.
    It is text that a task left behind: whoever shows it to a model quotes it as data.
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
    def holds(self) -> bool:
        """Whether no newer fact contradicts it."""
        return self.superseded_at is None


class KnownEntity(Contract):
    """Something that tasks named: a vendor, a person, an amount, an id. ``seen`` counts the tasks that did."""

    kind: str
    value: str
    seen: int
    last_seen: datetime
    first_seen: datetime | None = None
    names: tuple[str, ...] = ()  # other ways in which tasks write it


class TaskSource(Contract):
    """A task that spoke of something."""

    task_id: str
    session_id: str
    at: datetime


class EntityLinks(Contract):
    """What an entity was named together with (``kind:value``, the newest first), and the last tasks that named it."""

    together: tuple[str, ...] = ()
    tasks: tuple[TaskSource, ...] = ()
