"""What the learner's core needs of the world, in the core's own words."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol

from shared.contracts.digest import Digest
from shared.contracts.knowledge import CaseEntry
from shared.domain.words import Strategy


class Delivery(NamedTuple):
    """One event as it was handed out, for the ``tries``-th time. ``event`` is the text of a ``TaskOutcome``.

    With a digest it has no text. It has one only at the first try: whatever comes again, comes with its text.
    """

    partition: int
    entry_id: str
    tries: int
    event: str
    digest: Digest | None = None
    traceparent: str = ""  # where it stands in its task's trace, if it has one


class UnlearnedOutcome(NamedTuple):
    """An event that is given up, and why."""

    delivery: Delivery
    error: str


class Roster(NamedTuple):
    """The names of all learners that live."""

    me: str
    learners: Collection[str]


class Taken(NamedTuple):
    """What was handed out, in order within each partition.

    ``lost``: the partitions that turned out to be another's; ``more``: those in which something may be left to take.
    """

    deliveries: Sequence[Delivery]
    lost: Collection[int]
    more: Collection[int] = ()


class Outcomes(Protocol):
    """The partitions' streams of outcomes. Every method may raise ``StoreUnavailable``."""

    async def roster(self) -> Roster:
        """Show a sign of life, and see who else is there."""

    async def take(self, partitions: Collection[int]) -> Taken:
        """Become or stay the reader of partitions, and take what comes next in each.

        What was taken and not settled comes again first, whoever took it; nothing new before that.
        """

    async def settle(self, done: Sequence[Delivery], dead: Sequence[UnlearnedOutcome]) -> None:
        """Acknowledge what was learned; move what is given up to the dead letters."""

    async def give_up(self, partitions: Collection[int]) -> None:
        """Stop being the reader of partitions, so that another can be at once."""

    async def news(self, partitions: Collection[int], seconds: float) -> Collection[int]:
        """Wait until something is there that was not there when it was last taken, and where; nowhere in that time."""


class Pull(NamedTuple):
    """One use of a strategy for one process type."""

    process_type: str
    strategy: Strategy


class Lesson(NamedTuple):
    """What is to be learned from one event. ``pull`` is None if it says nothing about a strategy.

    ``counted`` is one line: reward in units, what the case counts as, when it ended (ms), the day of that, the event's
    id. ``entry`` is the case as it is stored; one without is counted as an event, and that is all.
    """

    event_id: str
    tenant: str
    counted: str
    day: date
    entry: str
    pull: Pull | None

    @property
    def reward_units(self) -> int:
        return int(self.counted.partition(" ")[0])

    @property
    def case(self) -> CaseEntry:
        """Only where there is an entry."""
        return CaseEntry.model_validate_json(self.entry)


class LessonRefused(NamedTuple):
    """Why one lesson cannot be stored, though the store answers."""

    reason: str


class Memory(Protocol):
    async def learn(self, lessons: Sequence[Lesson]) -> Sequence[bool | LessonRefused]:
        """Store lessons in order, each once: for each True if it was new, False if it was known, or why it cannot be.

        Raises ``StoreUnavailable``; then any of them may have been stored, and they can be given again.
        """


class Shelved(NamedTuple):
    """An entry of the case log as it is stored; ``case`` is None where this version cannot read it."""

    text: str
    case: CaseEntry | None


class LoadedRows(NamedTuple):
    """What is remembered of an object of training rows: its version, and what came of it."""

    name: str
    version: str
    rows: int
    bad: int
    first_bad: str
    at: datetime


class CaseRepository(Protocol):
    """A tenant's case log, for whoever brings cases that no event did. Every method may raise ``StoreUnavailable``."""

    async def begin(self, tenant: str) -> bool:
        """Become, or stay, the one who loads; False if another one is. It lapses by itself."""

    async def end(self, tenant: str) -> None:
        """Let others load at once."""

    async def versions_loaded(self, tenant: str) -> Mapping[str, str]:
        """The version of each object that was loaded."""

    async def keep(
        self, tenant: str, merge: Callable[[Sequence[Shelved]], Sequence[Shelved]], loaded: LoadedRows
    ) -> Sequence[Shelved] | None:
        """Replace the log by what ``merge`` makes of it and remember the object, in one step, however busy others are.

        The log as it is then; None, and nothing is changed, if that version was loaded already. ``merge`` is called
        again if the log has changed meanwhile.
        """


class TrainingObject(NamedTuple):
    """``version`` differs whenever the content does; ``size`` is in bytes."""

    name: str
    version: str
    size: int


class BucketUnavailable(Exception):
    """The bucket cannot be used now; the message says why."""


class ObjectChanged(Exception):
    """The object is not any more what it was when it was listed."""


class TrainingBucket(Protocol):
    """Both may raise ``BucketUnavailable``."""

    async def objects(self) -> Sequence[TrainingObject]:
        """All objects of training rows, the oldest first."""

    async def read(self, found: TrainingObject) -> bytes:
        """The content of that very version; raises ``ObjectChanged``."""
