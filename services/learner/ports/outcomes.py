"""The ports of the learner's core."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol

from shared.contracts.digest import Digest
from shared.contracts.knowledge import CaseEntry
from shared.domain.words import Strategy


class Delivery(NamedTuple):
    """One event as it was delivered, for the ``tries``-th time. ``event`` is the JSON of a ``TaskOutcome``.

    Only a first delivery has a digest: of a repeated one the event itself is read.
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
    """The names of all living learners, and this one's."""

    me: str
    learners: Collection[str]


class ClaimedOutcomes(NamedTuple):
    """The events delivered, in order within each partition.

    ``lost``: partitions that turned out to be another's; ``more``: partitions where more may be left to take.
    """

    deliveries: Sequence[Delivery]
    lost: Collection[int]
    more: Collection[int] = ()


class Outcomes(Protocol):
    """The partitions' streams of outcomes. Every method may raise ``StoreUnavailable``."""

    async def roster(self) -> Roster:
        """Report this learner as living, and read who else is."""

    async def claim(self, partitions: Collection[int]) -> ClaimedOutcomes:
        """Become or stay the reader of partitions, and take the next events of each.

        Events taken before and not settled come first, whoever took them, and nothing new before that.
        """

    async def settle(
        self, done: Sequence[Delivery], dead: Sequence[UnlearnedOutcome] = (), left: Sequence[Delivery] = ()
    ) -> Collection[int]:
        """Acknowledge learned events; move those given up to the dead letters; count a try of those that are left.

        The three are everything that one ``take`` has delivered of a partition. Returns the partitions where nothing
        was settled, because another server answers than the one they were taken from, which may lack what was learned:
        they are to be taken again.
        """

    async def release(self, partitions: Collection[int]) -> None:
        """Stop being the reader of partitions, so that another learner can be at once."""

    async def await_new(self, partitions: Collection[int], seconds: float) -> Collection[int]:
        """Wait for new events; returns their partitions, or none after so many seconds."""


class Pull(NamedTuple):
    """One use of a strategy for one process type."""

    process_type: str
    strategy: Strategy


class Lesson(NamedTuple):
    """What to learn from one event. ``pull`` is None if it says nothing about a strategy.

    ``counted`` is one line: reward in units, what the case counts as, when it ended (ms), its day, the event's id.
    ``entry``: the case as it is stored; without one, the event is only counted.
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
        """The case, parsed; only if there is an ``entry``."""
        return CaseEntry.model_validate_json(self.entry)


class LessonRefused(NamedTuple):
    """Why one lesson cannot be stored, though the store answers."""

    reason: str


class Lessons(Protocol):
    async def learn(self, lessons: Sequence[Lesson]) -> Sequence[bool | LessonRefused]:
        """Store lessons in order, each once: True for a new one, False for a known one, or why it cannot be stored.

        Raises ``StoreUnavailable``; then any of them may have been stored, and they can be given again.
        """


class StoredCase(NamedTuple):
    """An entry of the case log as it is stored. ``case``: None if this version cannot read it."""

    text: str
    case: CaseEntry | None


class LoadedRows(NamedTuple):
    """The record of a loaded object of training rows: its version and the result."""

    name: str
    version: str
    rows: int
    bad: int
    first_bad: str
    at: datetime


class CaseRepository(Protocol):
    """A tenant's case log, for cases from outside. Every method may raise ``StoreUnavailable``."""

    async def lock(self, tenant: str) -> bool:
        """Take or extend the loader's lock; False if another has it. It expires by itself."""

    async def unlock(self, tenant: str) -> None:
        """Release the loader's lock."""

    async def versions_loaded(self, tenant: str) -> Mapping[str, str]:
        """The version of each object that was loaded."""

    async def keep(
        self, tenant: str, merge: Callable[[Sequence[StoredCase]], Sequence[StoredCase]], loaded: LoadedRows
    ) -> Sequence[StoredCase] | None:
        """Replace the log by ``merge(log)`` and record the object as loaded, in one step; returns the new log.

        None, with nothing changed, if that version was loaded already. ``merge`` is called again if the log has changed
        meanwhile.
        """


class TrainingObject(NamedTuple):
    """An object in the bucket. ``version`` changes with its content; ``size`` is in bytes."""

    name: str
    version: str
    size: int


class BucketUnavailable(Exception):
    """The bucket cannot be used now; the message says why."""


class ObjectChanged(Exception):
    """The object has changed since it was listed."""


class TrainingBucket(Protocol):
    """A bucket of training rows. Both methods may raise ``BucketUnavailable``."""

    async def list_objects(self) -> Sequence[TrainingObject]:
        """All objects of training rows, oldest first."""

    async def read(self, found: TrainingObject) -> bytes:
        """The content of the listed version; raises ``ObjectChanged``."""
