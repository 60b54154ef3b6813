"""Training rows as cases; cases and files merged into what is stored: bad ones are named, nothing is there twice."""

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from time import process_time

import pytest
from hypothesis import given, strategies as st

from services.learner.core.files import importer
from services.learner.core.files.formats import FileStatistics
from services.learner.core.training import (
    MOST_ROWS,
    LoadedTrainingObject,
    TrainingObjectLoader,
    TrainingRows,
    build_case_of_row,
    build_stored_case,
    merge_case_logs,
    parse_training_rows,
)
from services.learner.ports.files import (
    ArmRecord,
    EntityRecord,
    ImportChanges,
    ImportRepository,
    LearnedSnapshot,
    StoredVersions,
    TaskStatistics,
)
from services.learner.ports.outcomes import StoredCase, TrainingObject, TrainingObjectStore
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.relevance import ENTITIES_KEPT, FACTS_KEPT
from shared.domain.bandit import Arm
from shared.domain.cases import CaseOutcome
from shared.domain.keywords import extract_keywords
from tests.doubles.redis_tasks import NOON
from tests.each_row import each_row
from tests.unit.learner.makers import a_case
from tests.unit.learner.training import a_row, lines_of


def _read(*rows: object) -> TrainingRows:
    return parse_training_rows("a/rows.jsonl", lines_of(rows))


def _case(row: object) -> CaseEntry:
    rows = _read(row)
    return build_case_of_row(rows.good[0], "rows.jsonl", NOON)


@pytest.mark.promise("training.failures_stay")
@each_row("score", [0.0, 0.5])
def test_a_failing_example_is_a_failure_with_its_cause_whatever_its_score(score: float) -> None:
    """Its messages may show what would have been right; its run was not."""
    case = _case(a_row(failed=True, score=score))
    assert (case.outcome, case.quality, case.worked) == (CaseOutcome.FAILURE, score, ())
    assert case.failed == ("it paid before it had read",)


@pytest.mark.promise("training.failures_stay")
@each_row(("score", "outcome"), [(0.2, CaseOutcome.FAILURE), (0.5, CaseOutcome.PARTIAL), (0.9, CaseOutcome.SUCCESS)])
def test_a_low_score_is_no_success_though_the_row_calls_itself_positive(score: float, outcome: CaseOutcome) -> None:
    assert _case(a_row(score=score)).outcome is outcome


def test_a_good_example_says_what_was_asked_and_which_tools_did_it() -> None:
    case = _case(a_row(7))
    assert case.summary == "Reconcile invoice INV-7 of the warehouse with its purchase order"
    assert (case.domain, case.worked, case.tool_count, case.task_id) == (
        "invoice_reconciliation",
        ("get_invoice",),
        1,
        "task_07",
    )
    assert "invoic" in case.keywords
    assert case.at == NOON


def test_scores_out_of_a_hundred_are_known_by_one_that_is_over_one() -> None:
    """Of an object, not of a row: in it a score of 1 is one of a hundred."""
    percent, unit = _read(a_row(1, score=1), a_row(2, score=87.5)), _read(a_row(1, score=1))
    assert [build_case_of_row(row, "x", NOON).quality for row in percent.good] == [0.01, 0.875]
    assert [build_case_of_row(row, "x", NOON).quality for row in unit.good] == [1.0]


@pytest.mark.promise("I12.training_rows")
def test_nothing_that_the_guard_marks_comes_into_the_log() -> None:
    row = a_row(failed=True, failure_cause="it told the password: hunter2secret to everybody")
    row["messages"] = [{"role": "user", "content": "Charge the card 4111 1111 1111 1111 for the order"}]
    said = _case(row).model_dump_json()
    assert "4111" not in said
    assert "hunter2secret" not in said


@pytest.mark.promise("training.bad_rows")
def test_bad_rows_are_left_out_and_named_by_their_place() -> None:
    """Not JSON, no object, no messages, no score, a score from nowhere, a type that is none, nobody who asks."""
    silent = {**a_row(9), "messages": [{"role": "assistant", "content": "hello"}]}
    missing = a_row(8)
    missing["metadata"] = {"training_type": "positive"}
    lines = [
        lines_of([a_row(1)]),
        b"{not json\n",
        b"[]\n",
        b'"text"\n',
        lines_of([{}, missing, a_row(3, score=101.0), a_row(4, training_type="great"), silent]),
        b"\n",
        lines_of([a_row(2)]),
    ]
    rows = parse_training_rows("rows.jsonl", b"".join(lines))
    assert [row.metadata.task_id for row in rows.good] == ["task_01", "task_02"]
    assert [bad.place for bad in rows.bad] == [f"line {number}" for number in range(2, 10)]
    assert rows.bad[0].reason.startswith("no JSON")
    assert rows.bad[4].reason.startswith("metadata.overall_score")
    assert rows.bad[7].reason == "messages: no user says anything"


def test_a_json_file_holds_an_array_or_one_row_and_very_many_are_read_up_to_a_bound() -> None:
    array = parse_training_rows("rows.json", json.dumps([a_row(1), 5, a_row(2)]).encode())
    assert ([row.metadata.task_id for row in array.good], [bad.place for bad in array.bad]) == (
        ["task_01", "task_02"],
        ["row 2"],
    )
    assert len(parse_training_rows("rows.json", json.dumps(a_row()).encode()).good) == 1
    assert [bad.place for bad in parse_training_rows("rows.json", b"").bad] == ["the object"]
    rows = parse_training_rows("rows.json", b"[" + b",".join([json.dumps(a_row()).encode()] * (MOST_ROWS + 5)) + b"]")
    assert (len(rows.good), len(rows.bad)) == (MOST_ROWS, 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_bad_rows(content: bytes) -> None:
    for name in ("rows.jsonl", "rows.json"):
        rows = parse_training_rows(name, content)
        assert rows.good == []


@pytest.mark.promise("training.once")
def test_a_row_is_the_same_case_wherever_and_whenever_it_is_read() -> None:
    one, other = _read(a_row()).good[0], parse_training_rows("b.json", json.dumps(a_row()).encode()).good[0]
    assert build_case_of_row(one, "a", NOON).case_id == build_case_of_row(other, "b", NOON.replace(year=2030)).case_id
    assert _case(a_row(1)).case_id != _case(a_row(1, failed=True)).case_id


MOST = 6
_CASES = st.builds(
    lambda number, quality, hours: a_case(number, quality=quality / 4, at=NOON - timedelta(hours=hours)),
    st.integers(0, 12),
    st.integers(0, 4),
    st.integers(0, 5),
)
_NEW = st.lists(_CASES, max_size=10)
_LOGS = st.lists(_CASES, max_size=MOST, unique_by=lambda case: case.case_id).map(
    lambda cases: [build_stored_case(case) for case in sorted(cases, key=lambda case: case.at, reverse=True)]
)


def _cases(log: list[StoredCase]) -> list[CaseEntry]:
    return [entry.case for entry in log if entry.case]


@pytest.mark.promise("training.merged")
@given(_LOGS, _NEW)
def test_a_merged_log_has_nothing_twice_and_is_within_its_cap(log: list[StoredCase], new: list[CaseEntry]) -> None:
    """Everything in it comes from one of the two, and it is as full as it can be; newest first."""
    result = merge_case_logs(log, new, MOST)
    ids = [case.case_id for case in _cases(result)]
    offered = {case.case_id for case in [*_cases(log), *new]}
    assert len(ids) == len(set(ids)) == min(MOST, len(offered))
    assert set(ids) <= offered
    times = [case.at for case in _cases(result)]
    assert times == sorted(times, reverse=True)


@pytest.mark.promise("training.merged")
@given(_LOGS, _NEW)
def test_what_is_left_out_is_no_better_than_what_stays(log: list[StoredCase], new: list[CaseEntry]) -> None:
    result = _cases(merge_case_logs(log, new, MOST))
    latest = {case.case_id: case for case in [*_cases(log), *new]}
    ids = {case.case_id for case in result}
    out = [case.quality for name, case in latest.items() if name not in ids]
    assert not out or max(out) <= min(case.quality for case in result)


NAMES = [("payroll", "fsm"), ("payroll", "moa"), ("general", "fsm")]
_ARMS = st.dictionaries(
    st.sampled_from(NAMES), st.integers(1, 9).flatmap(lambda n: st.integers(0, n).map(lambda q: Arm(n, q * 10_000)))
)
_FILE_CASES = st.lists(st.builds(lambda number, q: a_case(number, quality=q / 4), st.integers(0, 9), st.integers(0, 4)))
_ENTITIES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5))
_FACTS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(1, 3), st.integers(0, 9)))
_ACCURACY = st.dictionaries(
    st.sampled_from("pq"), st.integers(1, 5).map(lambda n: PredictionAccuracy(attempts=n, matches=0))
)


def _stored(
    cases: Sequence[StoredCase] = (),
    arms: Mapping[tuple[str, str], Arm] | None = None,
    events: int = 0,
    facts: Sequence[tuple[str, KnownFact]] = (),
    entities: Mapping[str, KnownEntity] | None = None,
    accuracy: Mapping[str, PredictionAccuracy] | None = None,
) -> LearnedSnapshot:
    return LearnedSnapshot(
        StoredVersions("", "", "", ""), cases, arms or {}, events, facts, entities or {}, accuracy or {}
    )


def _entity(name: str, seen: int) -> EntityRecord:
    return EntityRecord(f"vendor:{name}", KnownEntity(kind="vendor", value=name, seen=seen, last_seen=NOON))


def _fact(subject: str, attribute: str, value: int, hours: int) -> KnownFact:
    text = f"{attribute} of supplier {subject} stands at {value} days"
    told = {"subject": subject, "attribute": attribute, "value": str(value), "at": NOON + timedelta(hours=hours)}
    return KnownFact.model_validate(
        {"text": text, "domain": "general", "quality": 0.9, "keywords": extract_keywords(text), **told}
    )


def _after_facts(stored: LearnedSnapshot, done: importer.ImportDecision) -> LearnedSnapshot:
    rows = done.changes.facts
    return stored if rows is None else _stored(facts=[(row, KnownFact.model_validate_json(row)) for row in rows])


@pytest.mark.promise("files.idempotent")
@given(_ARMS, _ARMS)
def test_of_arms_more_pulls_hold(here: Mapping[tuple[str, str], Arm], new: dict[tuple[str, str], Arm]) -> None:
    done = importer.merge_file_arms(_stored(arms=here), [ArmRecord(name, arm) for name, arm in new.items()])
    after = {**here, **{record.name: record.arm for record in done.changes.arms}}
    assert {name: arm.n for name, arm in after.items()} == {
        name: max(here.get(name, Arm()).n, new.get(name, Arm()).n) for name in {*here, *new}
    }
    assert importer.merge_file_arms(_stored(arms=after), [ArmRecord(name, arm) for name, arm in new.items()]).taken == 0


@pytest.mark.promise("files.idempotent")
@given(_FILE_CASES, _FILE_CASES)
def test_cases_brought_twice_are_there_once(here: list[CaseEntry], new: list[CaseEntry]) -> None:
    log = [build_stored_case(case) for case in {case.case_id: case for case in here}.values()]
    done = importer.merge_file_cases(_stored(cases=log), new)
    texts = done.changes.cases or [entry.text for entry in log]
    after = [StoredCase(text, CaseEntry.model_validate_json(text)) for text in texts]
    assert len({entry.case.case_id for entry in after if entry.case}) == len(after)
    assert importer.merge_file_cases(_stored(cases=after), new).taken == 0


@pytest.mark.promise("files.idempotent")
@given(_FACTS, _FACTS)
def test_facts_are_taught_once(here: list[tuple[str, str, int, int]], new: list[tuple[str, str, int, int]]) -> None:
    """Also those that contradict each other, in the file or what is stored."""
    stored = _stored()
    for told in (here, new, new):
        facts = sorted((_fact(*one) for one in told), key=lambda fact: fact.at, reverse=True)
        stored = _after_facts(stored, importer.merge_file_facts(stored, facts))
    again = importer.merge_file_facts(
        stored, sorted((_fact(*one) for one in new), key=lambda fact: fact.at, reverse=True)
    )
    assert again.taken == 0


@given(_ENTITIES, _ENTITIES, _ACCURACY, _ACCURACY, st.integers(0, 9), st.integers(0, 9))
def test_of_entities_predictions_and_totals_the_record_with_more_holds(
    here: dict[str, int],
    new: dict[str, int],
    held: dict[str, PredictionAccuracy],
    brought: dict[str, PredictionAccuracy],
    events: int,
    others: int,
) -> None:
    records = {name: _entity(name, seen) for name, seen in here.items()}
    stored = _stored(
        entities={record.field: record.entity for record in records.values()}, accuracy=held, events=events
    )
    things = importer.merge_file_entities(stored, [_entity(name, seen) for name, seen in new.items()], NOON)
    totals = importer.merge_file_statistics(stored, FileStatistics(TaskStatistics({"events": others}), brought))
    assert {record.entity.value for record in things.changes.entities} == {
        name for name, seen in new.items() if seen > here.get(name, 0)
    }
    assert (totals.changes.totals is not None) == (others > events)
    assert set(totals.changes.accuracy) == {
        name for name, row in brought.items() if row.attempts > held.get(name, PredictionAccuracy()).attempts
    }


def test_what_has_no_room_is_left_out_and_counted_first_of_all_what_cannot_be_read() -> None:
    """The newest entities and facts stay."""
    many = [_entity(f"v{number}", 1) for number in range(ENTITIES_KEPT + 5)]
    old = EntityRecord("vendor:old", many[0].entity.model_copy(update={"last_seen": NOON - timedelta(days=30)}))
    done = importer.merge_file_entities(_stored(), [*many, old], NOON)
    assert (done.taken, done.left_out) == (ENTITIES_KEPT, 6)
    facts = [_fact(f"s{number}", "terms", number, -number) for number in range(FACTS_KEPT + 3)]
    taken = importer.merge_file_facts(_stored(), facts)
    assert (taken.taken, taken.left_out) == (FACTS_KEPT, 3)
    log = [StoredCase("?", None), *(build_stored_case(a_case(number)) for number in range(3))]
    assert [entry.text == "?" for entry in merge_case_logs(log, [], 4)] == [False, False, False, True]
    assert not any(entry.text == "?" for entry in merge_case_logs(log, [a_case(9)], 4))


def test_of_a_long_file_of_facts_the_newest_are_merged_and_the_others_counted_as_left_out() -> None:
    here = _fact("old", "terms", 1, -100_000)
    many = [_fact(f"s{number}", "terms", number, -number) for number in range(10 * FACTS_KEPT)]
    began = process_time()
    done = importer.merge_file_facts(_stored(facts=[(here.model_dump_json(), here)]), many)
    assert (done.taken, done.left_out, process_time() - began < 5) == (FACTS_KEPT, 9 * FACTS_KEPT, True)


class _OneObject(TrainingObjectStore):
    async def list_objects(self) -> Sequence[TrainingObject]:
        return [TrainingObject("rows.jsonl", "1", 10)]

    async def read(self, listed_object: TrainingObject) -> bytes:
        return lines_of([a_row()])


class _EmptyLog(ImportRepository):
    async def read_snapshot(self, tenant: str) -> LearnedSnapshot:
        return _stored()

    async def store_changes(self, tenant: str, changes: ImportChanges, versions: StoredVersions) -> bool:
        return True


async def test_an_object_is_parsed_beside_the_event_loop_which_keeps_the_learners_locks_alive() -> None:
    threads: list[int] = []

    def read(name: str, content: bytes) -> TrainingRows:
        threads.append(threading.get_ident())
        return parse_training_rows(name, content)

    results: list[LoadedTrainingObject] = []
    await TrainingObjectLoader(_OneObject(), _EmptyLog(), "acme", lambda: NOON, read).load_new_objects(results.append)
    assert ([result.cases_in_log for result in results], threading.get_ident() in threads) == ([1], False)
