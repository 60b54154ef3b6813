"""Outcomes, lessons, the case log, and the port of training rows."""

from collections.abc import Collection, Sequence
from datetime import date
from typing import NamedTuple, Protocol

from shared.contracts.knowledge import CaseEntry
from shared.contracts.outcome_digest import OutcomeDigest
from shared.domain.words import Strategy


class Delivery(NamedTuple):
    """One event of an outcome stream, read for the ``tries``-th time. ``event``: the JSON of a ``TaskOutcome``.

    ``digest``, what the executor computed of it for the learner, comes only with a first delivery; for a repeated one
    the event itself is parsed.
    """

    partition: int
    entry_id: str
    tries: int
    event: str
    digest: OutcomeDigest | None = None
    traceparent: str = ""  # where it stands in its task's trace, if it has one
    group: str = ""  # the only consumer group that applies it, after an operator requeued it; empty: every group


class AbandonedOutcome(NamedTuple):
    """An outcome that cannot be learned from and is moved to the dead letters, and why."""

    delivery: Delivery
    error: str


class LivingLearners(NamedTuple):
    """The names of all living learners, and this learner's."""

    me: str
    learners: Collection[str]


class ClaimedOutcomes(NamedTuple):
    """The delivered events, in order within each partition.

    ``partitions_lost``: those that another learner reads; ``partitions_with_more``: those that may have further events.
    """

    deliveries: Sequence[Delivery]
    partitions_lost: Collection[int]
    partitions_with_more: Collection[int] = ()


class StrategyUse(NamedTuple):
    """One use of a strategy (an arm of the bandit) for one process type."""

    process_type: str
    strategy: Strategy


class Lesson(NamedTuple):
    """What to learn from one outcome. ``pull``: the strategy that was used; None if the event names none.

    ``counted_line``: the reward in ten-thousandths, what the case counts as, when it ended (ms), its day, and the
    event's id, separated by spaces. ``case_json``: the case in its stored form; if it is empty, the event is only
    counted.
    """

    event_id: str
    tenant: str
    counted_line: str
    day: date
    case_json: str
    pull: StrategyUse | None


class LessonRefused(NamedTuple):
    """Why one lesson cannot be stored, although the store answers."""

    reason: str


class StoredCase(NamedTuple):
    """A stored entry of the case log. ``case``: None if this version cannot read it."""

    text: str
    case: CaseEntry | None


class TrainingObject(NamedTuple):
    """An object in the bucket. ``version`` changes with its content; ``size`` is in bytes."""

    name: str
    version: str
    size: int


class ObjectStoreUnavailable(Exception):
    """The bucket cannot be used now; the message says why."""


class ObjectChanged(Exception):
    """The object has changed since it was listed."""


class TrainingObjectStore(Protocol):
    """A bucket of objects with training rows. Both methods may raise ``ObjectStoreUnavailable``."""

    async def list_objects(self) -> Sequence[TrainingObject]:
        """All objects of training rows, oldest first."""

    async def read(self, listed_object: TrainingObject) -> bytes:
        """The content of the listed version; raises ``ObjectChanged``."""
