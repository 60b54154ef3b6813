"""What is kept of an assessment, what its table says, and how two compare."""

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console
from typer.testing import CliRunner

from cli.assess.command import assess, load_assessment, save_assessment
from cli.assess.report import build_assessment_table, build_comparison_table, compare_points, write_summary_sentences
from cli.console import CommandError
from shared.contracts.assessment.criterion_points import collect_criterion_points
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import Assessment, AssessmentResults, Run

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
FAILED: JsonObject = {"turn_number": 1, "error_type": "communication_error", "error": "it is gone"}
RIGHT, WRONG = (6.0, 3.0), (0.0, 3.0)
pytestmark = pytest.mark.promise("assess.results")


def _criterion(key: str, dimension: str, score: float, most: float, **more: object) -> JsonObject:
    explanation = f"{key} got {score:g} \x1b[31m[red]"
    fields = {"criterion_id": key, "name": key, "dimension": dimension, "score": score, "max_score": most}
    made: JsonObject = json.loads(json.dumps({**fields, "explanation": explanation, **more}))
    return made


def _run(scores: tuple[float, float], status: str = "completed") -> Run:
    given = {
        "assessment_id": "a",
        "scenario_id": "one_answer",
        "participant": "http://agent",
        "status": status,
        "duration_seconds": 1.5,
        "turns_taken": 2,
        "actions_taken": 1,
        "scores": {"overall": {"score": sum(scores), "max_score": 10}},
        "criteria_results": [
            _criterion("answered", "accuracy", scores[0], 6),
            _criterion("polite", "politeness", 0, 1, details={"unjudged": True}),
            _criterion("discreet", "safety", scores[1], 3),
        ],
        "judged": {"score": sum(scores), "max_score": 9},
        "unjudged": ["polite"],
        "failed_turns": [] if status == "completed" else [FAILED],
    }
    return Run(results=AssessmentResults.model_validate(given))


def _assessment(*runs: Run, name: str = "one", scenario: str = "one_answer") -> Assessment:
    return Assessment(name=name, scenario=scenario, agent="http://agent", began=BEGAN, runs=runs)


def _shown(what: object) -> str:
    console = Console(file=StringIO(), width=120, force_terminal=False)
    console.print(what)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_table_has_each_criterion_under_its_dimension_with_the_reason_of_the_worst_run() -> None:
    shown = _shown(build_assessment_table(_assessment(_run(RIGHT), _run(WRONG))))

    assert "3 (6 0)" in shown
    assert "answered got 0" in shown
    assert "unjudged" in shown
    assert shown.index("accuracy") < shown.index("answered") < shown.index("safety") < shown.index("discreet")


def test_words_of_others_neither_steer_the_terminal_nor_count_as_markup() -> None:
    shown = _shown(build_assessment_table(_assessment(_run(RIGHT))))

    assert "\x1b" not in shown
    assert "[red]" in shown


def test_a_run_passes_by_what_could_be_judged_and_only_if_it_was_completed() -> None:
    assert [_run(RIGHT).passed, _run(WRONG).passed, _run(RIGHT, "failed").passed] == [True, False, False]


@pytest.mark.promise("assess.intervals")
def test_what_is_told_of_runs_and_of_their_difference_has_its_confidence() -> None:
    right, wrong = _run(RIGHT), _run(WRONG)
    before, after = _assessment(wrong, wrong, right), _assessment(right, right, right, name="two")

    said = " ".join(write_summary_sentences(before))
    figures = compare_points(before, after)
    alone = compare_points(_assessment(wrong), _assessment(right, name="two"))

    assert "a run passes with a chance of 0.06 to 0.79" in said
    assert "earns a share of 0.00 to 1.00 of the points" in said
    assert figures["overall"] == {
        "before": 5.0, "after": 9.0, "change": 4.0, "interval": pytest.approx([-4.606, 12.606]), "clear": False
    }  # fmt: skip
    assert alone["overall"] == {"before": 3.0, "after": 9.0, "change": 6.0, "interval": None, "clear": False}
    assert "12.61" in _shown(build_comparison_table(figures, ("one", "two")))


def test_pass_hat_is_how_likely_that_many_runs_all_pass() -> None:
    right, wrong = _run(RIGHT), _run(WRONG)

    assert _assessment(right, right, wrong).pass_hat == pytest.approx({1: 2 / 3, 2: 1 / 3, 3: 0.0})


def test_each_failed_turn_is_told_with_its_kind() -> None:
    said = "\n".join(write_summary_sentences(_assessment(_run(WRONG, "failed"))))

    assert "Run 1: failed, 3 of 9 points" in said
    assert "Failed: turn 1, communication error: it is gone" in said
    assert "Nobody was there to judge polite" in said


def test_what_is_kept_is_read_again_by_name_and_by_path_and_never_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    first, path = save_assessment(folder, "one_answer", "http://agent", BEGAN, (_run(RIGHT),))
    second, _ = save_assessment(folder, "one_answer", "http://agent", BEGAN, (_run(WRONG),))

    assert (first.name, second.name) == ("one_answer-20260302-090000", "one_answer-20260302-090000-2")
    assert (load_assessment(folder, first.name), load_assessment(tmp_path, str(path))) == (first, first)
    assert load_assessment(folder, second.name) == second


def test_a_file_that_is_no_assessment_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")

    with pytest.raises(CommandError, match=r"x\.json is no assessment"):
        load_assessment(tmp_path, "x")
    with pytest.raises(CommandError, match="There is no assessment y"):
        load_assessment(tmp_path, "y")


def test_two_assessments_are_compared_by_criterion_dimension_and_in_all() -> None:
    before, after = _assessment(_run(WRONG)), _assessment(_run(RIGHT), _run(WRONG), name="two")

    figures = compare_points(before, after)

    assert isinstance(figures["criteria"], dict)
    alone: JsonObject = {"interval": None, "clear": False}
    assert figures["criteria"]["answered"] == {"before": 0.0, "after": 3.0, "change": 3.0, **alone}
    assert figures["overall"] == {"before": 3.0, "after": 6.0, "change": 3.0, **alone}
    assert "+3" in _shown(build_comparison_table(figures, ("one", "two")))
    assert [line.mean for line in collect_criterion_points(after)] == [3.0, 0.0, 3.0]


def test_assessments_of_two_scenarios_are_not_compared() -> None:
    with pytest.raises(CommandError, match="is of scenario"):
        compare_points(_assessment(_run(RIGHT)), _assessment(_run(RIGHT), scenario="other"))


def test_a_kept_file_has_the_form_that_is_printed(tmp_path: Path) -> None:
    said = CliRunner().invoke(assess, ["schema"])
    _, path = save_assessment(tmp_path, "one_answer", "http://agent", BEGAN, (_run(RIGHT), _run(WRONG, "timeout")))
    form = Draft202012Validator(json.loads(said.output))

    assert list(form.iter_errors(json.loads(path.read_text("utf-8")))) == []
    assert list(form.iter_errors({"name": "one", "runs": []})) != []
