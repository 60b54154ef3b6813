"""Seeds a tenant's case log from a bucket of training rows: each version of each object once."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from services.learner.core.training.merge import merge_cases
from services.learner.core.training.rows import BadRow, Rows, TrainingRow, TrainingType, read_rows
from services.learner.ports.outcomes import (
    CaseRepository,
    LoadedRows,
    ObjectChanged,
    Shelved,
    TrainingBucket,
    TrainingObject,
)
from shared.contracts.case import CaseEntry
from shared.domain.cases import CaseOutcome, judge_outcome
from shared.domain.exact_json import digest
from shared.domain.keywords import keywords
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy, TaskState

LARGEST = 64 * 1024 * 1024  # bytes of one object


class SeedResult(NamedTuple):
    """What became of one object. ``kept`` is how many of its cases stand in the log now; None: it was known."""

    found: TrainingObject
    rows: int
    bad: tuple[BadRow, ...]
    kept: int | None


async def _teach_nothing(_name: str, _content: bytes) -> None:
    """Training rows teach by their cases alone."""


class Seeder:
    """One of several learners looks at a time: whoever finds ``begin`` taken lets the other do it.

    ``read`` finds the rows of an object; ``teach`` takes in what else it says, before it counts as loaded: it may be
    called again with the same object.
    """

    def __init__(
        self,
        bucket: TrainingBucket,
        repository: CaseRepository,
        tenant: str,
        clock: Callable[[], datetime],
        read: Callable[[str, bytes], Rows] = read_rows,
        teach: Callable[[str, bytes], Awaitable[None]] = _teach_nothing,
    ) -> None:
        self._read = read
        self._teach = teach
        self._bucket = bucket
        self._repository = repository
        self._tenant = tenant
        self._clock = clock

    async def look(self, tell: Callable[[SeedResult], None]) -> bool:
        """Load what is new, telling of each object; False if another one looks at this time.

        Raises ``BucketUnavailable`` and ``StoreUnavailable``; what was loaded by then stays, and is not loaded again.
        """
        if not await self._repository.begin(self._tenant):
            return False
        try:
            loaded = await self._repository.versions_loaded(self._tenant)
            for found in await self._bucket.objects():
                if loaded.get(found.name) != found.version and (seeded := await self._seed(found)):
                    tell(seeded)
                    await self._repository.begin(self._tenant)
        finally:
            await self._repository.end(self._tenant)
        return True

    async def _seed(self, found: TrainingObject) -> SeedResult | None:
        """None if it was replaced while it was read: the next look finds the new one."""
        if found.size > LARGEST:
            bad = (BadRow("the object", f"it is larger than {LARGEST} bytes, and nothing of it was read"),)
            return await self._keep(found, [], bad)
        try:
            content = await self._bucket.read(found)
        except ObjectChanged:
            return None
        rows = self._read(found.name, content)
        await self._teach(found.name, content)
        source, now = found.name.rpartition("/")[2], self._clock()
        return await self._keep(found, [case_of(row, rows.scale, source, now) for row in rows.good], tuple(rows.bad))

    async def _keep(self, found: TrainingObject, cases: list[CaseEntry], bad: tuple[BadRow, ...]) -> SeedResult:
        def merge(log: Sequence[Shelved]) -> Sequence[Shelved]:
            return merge_cases(log, cases)

        first_bad = f"{bad[0].place}: {bad[0].reason}" if bad else ""
        loaded = LoadedRows(found.name, found.version, len(cases), len(bad), first_bad, self._clock())
        log = await self._repository.keep(self._tenant, merge, loaded)
        return SeedResult(found, len(cases), bad, None if log is None else _standing(log, cases))


def _standing(log: Sequence[Shelved], cases: Sequence[CaseEntry]) -> int:
    ids = {case.case_id for case in cases}
    return sum(entry.case is not None and entry.case.case_id in ids for entry in log)


_SUMMARY = 200  # characters
_NOTE = 200
_NOTES = 10
_ID = 16
_UNKNOWN = "general"


def case_of(row: TrainingRow, scale: float, source: str, now: datetime) -> CaseEntry:
    """The case of a row. Its time is that of learning it; its id is the same wherever and whenever it is read.

    ``scale`` is the best score that the row could have; ``source`` the name of where it was found.
    """
    told, quality = row.metadata, round(row.metadata.overall_score / scale, 4)
    summary = redact_text(row.request)
    failed = told.training_type is TrainingType.NEGATIVE_CORRECTED
    return CaseEntry(
        case_id=f"training-{digest([told.task_id, row.request, told.training_type.value])[:_ID]}",
        session_id=f"training:{source}",
        task_id=told.task_id,
        summary=summary[:_SUMMARY],
        keywords=keywords(summary),
        outcome=CaseOutcome.FAILURE if failed else judge_outcome(TaskState.COMPLETED, quality),
        quality=quality,
        worked=() if failed else tuple(dict.fromkeys(map(_note, row.tools)))[:_NOTES],
        failed=(_note(told.failure_cause),) if told.failure_cause.strip() else (),
        tool_count=len(row.tools) if told.tool_count is None else told.tool_count,
        domain=_note(told.scenario.strip()) or _UNKNOWN,
        strategy=Strategy.FSM,
        at=now,
    )


def _note(text: str) -> str:
    return redact_text(text)[:_NOTE]
