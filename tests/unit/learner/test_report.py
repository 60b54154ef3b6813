"""Benchmark reports in whatever shape they come, and training rows out of them."""

import json
from datetime import UTC, datetime
from time import process_time

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.learner.core.files.benchmark_report import (
    BadReport,
    BenchmarkReport,
    build_failure_facts,
    build_training_rows,
    convert_report_to_json,
    parse_report,
    validate_report_rows,
)
from services.learner.core.files.formats import read_facts
from services.learner.core.training import MOST_ROWS, parse_training_rows
from tests.each_row import each_row
from tests.unit.learner.training import a_row, lines_of

SHAPES: tuple[JsonValue, ...] = (
    {"policy": {"avg_score": 40.0, "pass_rate": 0.3}, "functional": {"avg_score": 71.5}},
    [{"dimension": "policy", "avg_score": 40.0, "pass_rate": 0.3}, {"dimension": "functional", "avg_score": 71.5}],
    {"policy": 40.0, "functional": 71.5},
    ["policy", "functional"],
    {"policy": ["late", "skips approval"], "functional": []},
)


def _report(**parts: JsonValue) -> BenchmarkReport:
    told = {"generated_at": "2026-01-05T04:00:00Z", "pass_rate": 0.5, **parts}
    return parse_report("r.json", json.dumps(told).encode())


def _names(part: JsonValue) -> list[str]:
    assert isinstance(part, dict)
    rows = part["rows"]
    assert isinstance(rows, list)
    return [str(row[0]) for row in rows if isinstance(row, list)]


@pytest.mark.promise("report.shapes")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", ["dimension_analysis", "top_failures", "scenario_difficulty_ranking"])
def test_a_part_is_read_in_every_shape(shape: JsonValue, part: str) -> None:
    """Lists and mappings, of names, numbers and objects."""
    assert _names(convert_report_to_json(_report(**{part: shape}))[part]) == ["policy", "functional"]


@each_row("content", [b"", b"[]", b'{"hello": 1}'])
def test_what_is_no_report_is_named(content: bytes) -> None:
    with pytest.raises(BadReport, match=r"r\.json"):
        parse_report("r.json", content)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(_JSON, _JSON, _JSON)
def test_any_parts_are_shown_and_make_only_rows_that_the_learner_reads(
    failures: JsonValue, ranking: JsonValue, signals: JsonValue
) -> None:
    report = _report(top_failures=failures, scenario_difficulty_ranking=ranking, brainos_training_signals=signals)
    json.dumps(convert_report_to_json(report))
    rows = build_training_rows([report]).rows
    assert parse_training_rows("x.jsonl", lines_of(rows)).bad == []


@pytest.mark.promise("report.rows")
def test_a_failure_becomes_a_failing_row_with_its_cause_and_a_score_that_somebody_gave() -> None:
    """Its own, or that of its scenario in the ranking: each name has a scale of its own."""
    failures: JsonValue = [
        {"scenario": "invoice_missing_po", "failure_cause": "paid without one", "avg_score": 22},
        {"scenario": "payroll_uk", "reason": "taxes left out"},
        {"scenario": "vague"},
    ]
    ranking: JsonValue = {"payroll_uk": {"pass_rate": 0.2, "difficulty": "hard"}}
    found = build_training_rows([_report(top_failures=failures, scenario_difficulty_ranking=ranking)])
    rows = parse_training_rows("x.jsonl", lines_of(found.rows)).good
    assert [(row.request, row.metadata.overall_score, row.metadata.failure_cause) for row in rows] == [
        ("invoice missing po", 0.22, "paid without one"),
        ("payroll uk", 0.2, "taxes left out"),
    ]
    assert {row.metadata.training_type.value for row in rows} == {"negative_corrected"}
    assert found.skipped == ["r.json: top_failures: vague does not say its score"]


@pytest.mark.promise("report.rows")
def test_rows_that_a_report_brings_are_passed_on_bad_ones_named_and_a_signal_says_whether_it_failed() -> None:
    good: JsonValue = a_row()
    bad: JsonValue = {"messages": []}
    found = build_training_rows([_report(brainos_training_signals={"rows": [good, bad], "examples": [good]})])
    assert found.rows == [good]
    assert [line.startswith("r.json: brainos_training_signals 2: metadata") for line in found.skipped] == [True]
    signals: JsonValue = [
        {"scenario": "payroll", "score": 93, "training_type": "positive", "task": "Run the payroll"},
        {"scenario": "close", "score": 50},
    ]
    found = build_training_rows([_report(brainos_training_signals=signals)])
    rows = parse_training_rows("x.jsonl", lines_of(found.rows)).good
    assert [(row.request, row.metadata.overall_score) for row in rows] == [("Run the payroll", 0.93)]
    assert found.skipped == ["r.json: brainos_training_signals: close does not say its training_type"]


NOW = datetime(2026, 1, 6, tzinfo=UTC)


def _content(**parts: JsonValue) -> bytes:
    return json.dumps({"generated_at": "2026-01-05T04:00:00Z", "pass_rate": 0.5, **parts}).encode()


@pytest.mark.promise("report.teaches")
def test_what_tasks_of_a_kind_failed_of_becomes_a_fact_each_kind_once() -> None:
    failures: JsonValue = [
        {"scenario": "invoice_reconciliation", "failure_cause": "it paid before it had read the order"},
        {"scenario": "invoice_reconciliation", "failure_cause": "a second cause"},
        {"scenario": "access_review"},
        {"scenario": "hr_change", "failure_cause": "password: hunter22 was told"},
    ]
    (fact,) = build_failure_facts("r.json", _content(top_failures=failures), NOW)
    assert fact["text"] == (
        "Tasks of the kind 'invoice reconciliation' failed in a benchmark: it paid before it had read the order"
    )
    assert (fact["domain"], fact["at"]) == ("invoice_reconciliation", "2026-01-05T04:00:00+00:00")


@pytest.mark.promise("report.teaches")
@each_row("content", [b"", b"[]", _content(top_failures=[]), _content(top_failures={"policy": 3})])
def test_a_report_that_says_no_cause_and_what_is_no_report_teach_no_fact(content: bytes) -> None:
    assert build_failure_facts("r.json", content, NOW) == []


@pytest.mark.promise("report.teaches")
def test_failures_and_ready_made_rows_of_a_report_become_rows_and_what_is_no_report_a_bad_one() -> None:
    failures: JsonValue = [{"scenario": "b", "task": "Pay it", "failure_cause": "late", "score": 0.4}]
    signals: JsonValue = [a_row(1, score=85.0)]
    rows = validate_report_rows("r.json", _content(top_failures=failures, brainos_training_signals=signals))
    assert sorted(row.metadata.overall_score for row in rows.good) == [0.4, 0.85]
    rows = validate_report_rows("r.json", b"[]")
    assert (list(rows.good), [row.place for row in rows.bad]) == ([], ["the object"])


@pytest.mark.promise("report.teaches")
def test_a_report_with_an_impossible_date_teaches_its_facts_as_of_now() -> None:
    content = _content(generated_at="1970-01-01T00:00:00Z", top_failures=[{"scenario": "b", "failure_cause": "late"}])
    (fact,) = build_failure_facts("r.json", content, NOW)
    assert fact["at"] == NOW.isoformat()
    assert len(read_facts([fact])) == 1


@pytest.mark.promise("report.teaches")
def test_a_report_that_is_nested_too_deeply_is_a_bad_row_and_teaches_nothing() -> None:
    """It must not keep the objects after it from being loaded."""
    deep = '[{"a":' * 450 + "1" + "}]" * 450
    content = f'{{"pass_rate": 0.5, "top_failures": [{deep}]}}'.encode()
    assert len(validate_report_rows("r.json", content).bad) == 1
    assert build_failure_facts("r.json", content, NOW) == []


@pytest.mark.promise("report.teaches")
def test_a_report_of_many_ready_made_rows_is_read_in_time_that_grows_with_their_number() -> None:
    signals: JsonValue = [a_row(number, score=85.0) for number in range(MOST_ROWS)]
    began = process_time()
    rows = validate_report_rows("r.json", _content(brainos_training_signals=signals))
    assert (len(rows.good), rows.good[0].metadata.overall_score, process_time() - began < 5) == (MOST_ROWS, 0.85, True)
