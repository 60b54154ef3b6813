"""Training rows as cases: what failed stays failed, and what cannot be read is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.learner.core.training import MOST_ROWS, Rows, case_of, read_rows
from shared.contracts.knowledge import CaseEntry
from shared.domain.cases import CaseOutcome
from tests.doubles.redis_tasks import NOON
from tests.each_row import each_row
from tests.unit.learner.training import a_row, lines_of


def _read(*rows: object) -> Rows:
    return read_rows("a/rows.jsonl", lines_of(rows))


def _case(row: object) -> CaseEntry:
    rows = _read(row)
    return case_of(rows.good[0], rows.scale, "rows.jsonl", NOON)


@pytest.mark.promise("training.failures_stay")
@each_row("score", [0.0, 0.5, 0.95, 1.0])
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
    assert [case_of(row, percent.scale, "x", NOON).quality for row in percent.good] == [0.01, 0.875]
    assert [case_of(row, unit.scale, "x", NOON).quality for row in unit.good] == [1.0]


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
    rows = read_rows("rows.jsonl", b"".join(lines))
    assert [row.metadata.task_id for row in rows.good] == ["task_01", "task_02"]
    assert [bad.place for bad in rows.bad] == [f"line {number}" for number in range(2, 10)]
    assert rows.bad[0].reason.startswith("no JSON")
    assert rows.bad[4].reason.startswith("metadata.overall_score")
    assert rows.bad[7].reason == "messages: no user says anything"


@pytest.mark.promise("training.bad_rows")
@each_row("bad", ["NaN", "Infinity", "-1", "1e999"])
def test_a_score_that_is_no_score_makes_a_bad_row(bad: str) -> None:
    line = json.dumps(a_row()).replace('"overall_score": 0.9', f'"overall_score": {bad}')
    assert f'"overall_score": {bad}' in line
    assert read_rows("rows.jsonl", line.encode()).good == []


def test_a_json_file_holds_an_array_or_one_row() -> None:
    array = read_rows("rows.json", json.dumps([a_row(1), 5, a_row(2)]).encode())
    assert ([row.metadata.task_id for row in array.good], [bad.place for bad in array.bad]) == (
        ["task_01", "task_02"],
        ["row 2"],
    )
    assert len(read_rows("rows.json", json.dumps(a_row()).encode()).good) == 1
    assert [bad.place for bad in read_rows("rows.json", b"").bad] == ["the object"]


def test_an_object_of_very_many_rows_is_read_up_to_a_bound() -> None:
    rows = read_rows("rows.json", b"[" + b",".join([json.dumps(a_row()).encode()] * (MOST_ROWS + 5)) + b"]")
    assert (len(rows.good), len(rows.bad)) == (MOST_ROWS, 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_bad_rows(content: bytes) -> None:
    for name in ("rows.jsonl", "rows.json"):
        rows = read_rows(name, content)
        assert rows.good == []


@pytest.mark.promise("training.once")
def test_a_row_is_the_same_case_wherever_and_whenever_it_is_read() -> None:
    one, other = _read(a_row()).good[0], read_rows("b.json", json.dumps(a_row()).encode()).good[0]
    assert case_of(one, 1.0, "a", NOON).case_id == case_of(other, 1.0, "b", NOON.replace(year=2030)).case_id
    assert _case(a_row(1)).case_id != _case(a_row(1, failed=True)).case_id
