"""Parses training rows, and loads them from a bucket into a tenant's case log, each object once."""

import asyncio
import heapq
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field, JsonValue, ValidationError

from services.learner.ports import outcomes
from services.learner.ports.files import ImportChanges, ImportRepository
from shared.contracts.base import FrozenModel, describe_first_error
from shared.contracts.knowledge import CaseEntry
from shared.contracts.outcome_digest import LONGEST_SUMMARY, shorten_and_redact_note, shorten_and_redact_notes
from shared.domain.cases import CASES_KEPT, CaseOutcome, classify_case_outcome
from shared.domain.exact_json import digest
from shared.domain.keywords import extract_keywords
from shared.domain.redaction import redact_text
from shared.domain.words import Strategy, TaskState
from shared.ports.store import StoreUnavailable

TRAINING_PREFIX = "agentbench-training-data/"
MOST_ROWS = 10_000  # of one object
_BEST_SCORE = 100.0
_LONGEST_REASON = 200  # characters


class TrainingType(StrEnum):
    """What kind of example a training row is."""

    POSITIVE = "positive"
    NEGATIVE_CORRECTED = "negative_corrected"  # a run that failed; its messages may show what would have been right


class BadRow(NamedTuple):
    """A row that is left out: its position, and what is wrong with it, without its content."""

    place: str
    reason: str


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else str(value))]  # of any JSON value


class TrainingRowMetadata(FrozenModel):
    """A row's metadata. ``overall_score``: out of 1, or out of 100 if any row of the same object has a score over 1."""

    overall_score: float = Field(ge=0, le=_BEST_SCORE, allow_inf_nan=False)
    training_type: TrainingType
    task_id: Text = ""
    scenario: Text = ""
    failure_cause: Text = ""
    tool_count: int | None = Field(default=None, ge=0)


class TrainingMessage(FrozenModel):
    """A message of a training row. ``content``: a text, or blocks as in the Messages API."""

    role: str
    content: str | list[dict[str, JsonValue]]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(block["text"]) for block in self.content if isinstance(block.get("text"), str))

    @property
    def tools_used(self) -> tuple[str, ...]:
        """The names of the tools used in the message, in order."""
        blocks = () if isinstance(self.content, str) else self.content
        return tuple(str(block.get("name")) for block in blocks if block.get("type") == "tool_use")


class TrainingRow(FrozenModel):
    """One example in the format of training rows: the messages of a task, and how well it went."""

    messages: tuple[TrainingMessage, ...]
    metadata: TrainingRowMetadata

    @property
    def request(self) -> str:
        """The task's request: the first user text."""
        texts = (message.text.strip() for message in self.messages if message.role == "user")
        return next(filter(None, texts), "")

    @property
    def tools_used(self) -> tuple[str, ...]:
        return tuple(name for message in self.messages for name in message.tools_used)


class TrainingRows(NamedTuple):
    """The rows of one object, whose scores are from 0 to 1."""

    good: Sequence[TrainingRow]
    bad: Sequence[BadRow]


def parse_training_rows(name: str, content: bytes) -> TrainingRows:
    """Parses the rows of an object. Never raises: what cannot be parsed becomes a bad row."""
    return validate_training_rows(_split_into_numbered_rows(name, content))


def validate_training_rows(entries: Iterable[tuple[str, object]]) -> TrainingRows:
    """Sorts entries into valid and bad rows. Each is ``(position, content)``; a content that is a text says why there
    is no row.
    """
    good_rows: list[TrainingRow] = []
    bad_rows: list[BadRow] = []
    for number, (place, row_content) in enumerate(entries):
        if number >= MOST_ROWS:
            reason = f"there are more than {MOST_ROWS} rows; this one and all after it are left out"
            bad_rows.append(BadRow(place, reason))
            break
        row = row_content if isinstance(row_content, str) else _parse_training_row(row_content)
        if isinstance(row, str):
            bad_rows.append(BadRow(place, row[:_LONGEST_REASON]))
        else:
            good_rows.append(row)
    if any(row.metadata.overall_score > 1 for row in good_rows):
        good_rows = list(map(_scale_score_to_one, good_rows))
    return TrainingRows(good_rows, bad_rows)


def _scale_score_to_one(row: TrainingRow) -> TrainingRow:
    metadata = row.metadata.model_copy(update={"overall_score": row.metadata.overall_score / _BEST_SCORE})
    return row.model_copy(update={"metadata": metadata})


def _parse_training_row(row_content: object) -> TrainingRow | str:
    try:
        row = TrainingRow.model_validate(row_content)
    except ValidationError as error:
        return describe_first_error(error)
    return row if row.request else "messages: no user says anything"


def _split_into_numbered_rows(name: str, content: bytes) -> Iterator[tuple[str, object]]:
    """Yields each row's position with its JSON, or with a text on what is wrong."""
    if name.endswith(".jsonl"):
        for number, line in enumerate(content.split(b"\n"), 1):
            if line.strip():
                yield f"line {number}", _parse_json_or_describe_error(line)
        return
    parsed_content = _parse_json_or_describe_error(content)
    if isinstance(parsed_content, list):
        yield from ((f"row {number}", row_content) for number, row_content in enumerate(parsed_content, 1))
    else:
        yield "the object", parsed_content


def _parse_json_or_describe_error(content: bytes) -> object:
    """The parsed JSON, or a text on what is wrong; a row itself is never a text."""
    try:
        parsed_content: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {type(error).__name__}"
    return "no JSON object" if isinstance(parsed_content, str) else parsed_content


def build_stored_case(case: CaseEntry) -> outcomes.StoredCase:
    return outcomes.StoredCase(case.stored_json(), case)


def merge_case_logs(
    stored_log: Sequence[outcomes.StoredCase], new_cases: Iterable[CaseEntry], limit: int = CASES_KEPT
) -> list[outcomes.StoredCase]:
    """The log with the new cases, newest first; existing entries keep their order and text.

    A new case replaces one with the same id if it differs or was learned later. Beyond ``limit``, unreadable entries
    are dropped first, then those of lowest quality, of equal ones the older.
    """
    old_by_id = {entry.case.case_id: entry.case for entry in stored_log if entry.case}
    new_by_id = {case.case_id: case for case in new_cases}
    changes = {name: case for name, case in new_by_id.items() if not _is_known_case(old_by_id.get(name), case)}
    unchanged_entries = [entry for entry in stored_log if entry.case and entry.case.case_id not in changes]
    unreadable_entries = [entry for entry in stored_log if not entry.case]
    new_entries = sorted(map(build_stored_case, changes.values()), key=_sort_key_newest_first)
    best_entries = _keep_best_cases(
        list(heapq.merge(unchanged_entries, new_entries, key=_sort_key_newest_first)), limit
    )
    return [*best_entries, *unreadable_entries[: limit - len(best_entries)]]


def _keep_best_cases(entries: list[outcomes.StoredCase], limit: int) -> list[outcomes.StoredCase]:
    qualities = [entry.case.quality if entry.case else 0.0 for entry in entries]
    indices = heapq.nlargest(limit, range(len(entries)), key=qualities.__getitem__)
    return [entries[index] for index in sorted(indices)]


def _is_known_case(stored_case: CaseEntry | None, new_case: CaseEntry) -> bool:
    """Whether the known case says the same and was learned no earlier."""
    if stored_case is None or new_case.at > stored_case.at:
        return False
    return stored_case.model_copy(update={"at": new_case.at, "session_id": new_case.session_id}) == new_case


def _sort_key_newest_first(entry: outcomes.StoredCase) -> float:
    return -entry.case.at.timestamp() if entry.case else 0.0


LARGEST_OBJECT = 64 * 1024 * 1024  # bytes of one object
_MOST_TRIES = 100  # every other learner's step may change the log in between


class LoadedTrainingObject(NamedTuple):
    """An object of a bucket, as loaded. ``rows``: how many of its rows are cases, ``bad_rows`` the others;
    ``cases_in_log``: how many of these cases the case log took.
    """

    source: outcomes.TrainingObject
    rows: int
    bad_rows: tuple[BadRow, ...]
    cases_in_log: int


async def _ignore_content(_name: str, _content: bytes) -> None:
    """The ``import_other_content`` of a loader of training rows, whose objects hold nothing but cases."""


class TrainingObjectLoader:
    """Loads new objects of a bucket into a tenant's case log. If several learners do so, each object is stored once.

    ``read`` parses an object's rows, in a thread. ``import_other_content`` is called before the object counts as
    loaded, and may be called again for the same object.
    """

    def __init__(
        self,
        bucket: outcomes.TrainingObjectStore,
        repository: ImportRepository,
        tenant: str,
        clock: Callable[[], datetime],
        read: Callable[[str, bytes], TrainingRows] = parse_training_rows,
        import_other_content: Callable[[str, bytes], Awaitable[None]] = _ignore_content,
    ) -> None:
        self._read = read
        self._import_other_content = import_other_content
        self._bucket = bucket
        self._repository = repository
        self._tenant = tenant
        self._clock = clock

    async def load_new_objects(self, report_result: Callable[[LoadedTrainingObject], None]) -> None:
        """Loads new objects, calling ``report_result`` with the result of each that no other learner has loaded.

        Raises ``ObjectStoreUnavailable`` and ``StoreUnavailable``; objects loaded by then stay loaded.
        """
        loaded_versions = (await self._repository.read_snapshot(self._tenant)).loaded
        for source in await self._bucket.list_objects():
            if loaded_versions.get(source.name) != source.version and (result := await self._load_object(source)):
                report_result(result)

    async def _load_object(self, source: outcomes.TrainingObject) -> LoadedTrainingObject | None:
        """Loads one object; None if it was replaced meanwhile, so that the next pass finds the new one, or another
        learner was first.
        """
        if source.size > LARGEST_OBJECT:
            reason = f"it is larger than {LARGEST_OBJECT} bytes, and nothing of it was read"
            return await self._store_cases(source, [], (BadRow("the object", reason),))
        try:
            content = await self._bucket.read(source)
        except outcomes.ObjectChanged:
            return None
        cases, bad_rows = await asyncio.to_thread(self._read_cases, source.name, content)  # a large object takes long
        await self._import_other_content(source.name, content)
        return await self._store_cases(source, cases, tuple(bad_rows))

    def _read_cases(self, name: str, content: bytes) -> tuple[list[CaseEntry], Sequence[BadRow]]:
        rows = self._read(name, content)
        short_name = name.rpartition("/")[2]
        now = self._clock()
        return [build_case_of_row(row, short_name, now) for row in rows.good], rows.bad

    async def _store_cases(
        self, source: outcomes.TrainingObject, cases: list[CaseEntry], bad_rows: tuple[BadRow, ...]
    ) -> LoadedTrainingObject | None:
        for _ in range(_MOST_TRIES):
            stored = await self._repository.read_snapshot(self._tenant)
            if stored.loaded.get(source.name) == source.version:
                return None
            log = merge_case_logs(stored.cases, cases)
            changes = ImportChanges(cases=[entry.text for entry in log], loaded={source.name: source.version})
            if await self._repository.store_changes(self._tenant, changes, stored.versions):
                ids = {case.case_id for case in cases}
                in_log = sum(bool(entry.case and entry.case.case_id in ids) for entry in log)
                return LoadedTrainingObject(source, len(cases), bad_rows, in_log)
        raise StoreUnavailable(f"the case log of {self._tenant} changed at each of {_MOST_TRIES} tries")


_ID_CHARACTERS = 16
_UNKNOWN_DOMAIN = "general"


def build_case_of_row(row: TrainingRow, source: str, now: datetime) -> CaseEntry:
    """The case of a training row. Its time is ``now``; its id depends only on the row.

    ``source``: the object's name.
    """
    metadata, quality = row.metadata, round(row.metadata.overall_score, 4)
    summary = redact_text(row.request)
    has_failed = metadata.training_type is TrainingType.NEGATIVE_CORRECTED
    return CaseEntry(
        case_id=f"training-{digest([metadata.task_id, row.request, metadata.training_type.value])[:_ID_CHARACTERS]}",
        session_id=f"training:{source}",
        task_id=metadata.task_id,
        summary=summary[:LONGEST_SUMMARY],
        keywords=extract_keywords(summary),
        outcome=CaseOutcome.FAILURE if has_failed else classify_case_outcome(TaskState.COMPLETED, quality),
        quality=quality,
        worked=() if has_failed else shorten_and_redact_notes(dict.fromkeys(row.tools_used)),
        failed=shorten_and_redact_notes([metadata.failure_cause] if metadata.failure_cause.strip() else ()),
        tool_count=len(row.tools_used) if metadata.tool_count is None else metadata.tool_count,
        domain=shorten_and_redact_note(metadata.scenario.strip()) or _UNKNOWN_DOMAIN,
        strategy=Strategy.FSM,
        at=now,
    )
