"""Prints assessments as tables: by dimension and criterion, with the reasons; or two side by side."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean

from rich.table import Table
from rich.text import Text

from cli.console import CommandError
from shared.contracts.assessment.criterion_points import CriterionPoints, collect_criterion_points
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import PASSING_SHARE, Assessment
from shared.domain.estimates import ConfidenceInterval, compute_difference_interval


def build_assessment_table(assessment: Assessment) -> Table:
    runs = f", mean of {len(assessment.runs)} runs" if len(assessment.runs) > 1 else ""
    title = strip_control_characters(f"{assessment.scenario}: {assessment.agent}{runs}")
    table = Table("dimension", "criterion", "points", "of", "reason", title=title)
    all_points = collect_criterion_points(assessment)
    for dimension in dict.fromkeys(points.dimension for points in all_points):
        dimension_points = [points for points in all_points if points.dimension == dimension]
        mean = _format_number(sum(points.mean for points in dimension_points))
        most = _format_number(sum(points.most for points in dimension_points))
        table.add_row(dimension.replace("_", " "), "", mean, most, "", style="bold")
        for points in dimension_points:
            table.add_row(
                "",
                strip_control_characters(points.name),
                _format_points(points),
                _format_number(points.most),
                strip_control_characters(points.reason),
            )
        table.add_section()
    return table


def write_summary_sentences(assessment: Assessment) -> list[str]:
    """Sentences about each run (its end, its failed turns) and about how often the agent passes."""
    sentences = []
    for number, run in enumerate(assessment.runs, 1):
        results, points = run.results, run.points
        share = f"{_format_number(points.score)} of {_format_number(points.max_score)} points"
        took = f"{results.turns_taken} turns, {results.actions_taken} actions, {results.duration_seconds:.1f} s"
        sentences.append(f"Run {number}: {results.status}, {share}, {took}.")
        sentences.extend(f"  Failed: {_describe_failure(turn)}" for turn in results.failed_turns)
    unjudged = assessment.runs[0].results.unjudged
    if unjudged:
        sentences.append(f"Nobody was there to judge {', '.join(unjudged)}: left out of the points of a run.")
    chances = ", ".join(f"pass^{k} {chance:.2f}" for k, chance in assessment.pass_hat.items())
    passing, earned = assessment.pass_interval, assessment.points_interval
    sentences.append(f"Passing is {PASSING_SHARE:.0%} of the points: {chances}.")
    earns = f" and earns a share of {_format_interval(earned)} of the points" if earned else ""
    sentences.append(f"With 95 % confidence a run passes with a chance of {_format_interval(passing)}{earns}.")
    return [str(strip_control_characters(sentence)) for sentence in sentences]


def compare_points(before: Assessment, after: Assessment) -> JsonObject:
    """How points changed by criterion, by dimension and in total, as means over the runs of each assessment.

    Raises ``CommandError`` for different scenarios.
    """
    if before.scenario != after.scenario:
        raise CommandError(f"{before.name} is of scenario {before.scenario}, {after.name} of {after.scenario}.")
    points_before, points_after = collect_criterion_points(before), collect_criterion_points(after)
    criteria = {points.criterion: points.dimension for points in (*points_before, *points_after)}
    pairs = {
        name: (_find_points_by_run(points_before, name), _find_points_by_run(points_after, name)) for name in criteria
    }
    return {
        "scenario": before.scenario,
        "agents": [before.agent, after.agent],
        "runs": [len(before.runs), len(after.runs)],
        "passed": [before.passed_runs, after.passed_runs],
        "dimensions": {
            name: _describe_change(_sum_points_by_run(points_before, name), _sum_points_by_run(points_after, name))
            for name in dict.fromkeys(criteria.values())
        },
        "criteria": {name: _describe_change(*pair) for name, pair in pairs.items()},
        "overall": _describe_change(_sum_points_by_run(points_before), _sum_points_by_run(points_after)),
    }


def build_comparison_table(figures: JsonObject, names: Sequence[str]) -> Table:
    columns = ("", *(str(strip_control_characters(name)) for name in names), "change", "95 % confidence")
    table = Table(*columns, title=strip_control_characters(f"{figures['scenario']}: mean points"))
    for group in ("dimensions", "criteria"):
        rows = figures[group]
        for name, change in rows.items() if isinstance(rows, dict) else []:
            table.add_row(
                strip_control_characters(name),
                *_format_change_cells(change),
                style="bold" if group == "dimensions" else "",
            )
        table.add_section()
    table.add_row("overall", *_format_change_cells(figures["overall"]), style="bold")
    return table


def strip_control_characters(text: str) -> Text:
    """The text with spaces in place of control characters, except line breaks: they could drive the terminal."""
    return Text("".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text))


def _format_points(points: CriterionPoints) -> str:
    if points.unjudged:
        return "unjudged"
    points_by_run = f" ({' '.join(map(_format_number, points.points))})" if len(set(points.points)) > 1 else ""
    return f"{_format_number(points.mean)}{points_by_run}"


def _describe_failure(turn: JsonObject) -> str:
    number = turn.get("turn_number", "?")
    kind = str(turn.get("error_type", "error")).replace("_", " ")
    number_text = _format_number(number) if isinstance(number, float) else number
    return f"turn {number_text}, {kind}: {turn.get('error', '')}"


def _format_interval(interval: ConfidenceInterval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _sum_points_by_run(all_points: Sequence[CriterionPoints], dimension: str = "") -> list[float]:
    """The total points of each run, in one dimension or in all."""
    columns = [points.points for points in all_points if dimension in ("", points.dimension)]
    return [sum(points) for points in zip_longest(*columns, fillvalue=0.0)] or [0.0]


def _find_points_by_run(all_points: Sequence[CriterionPoints], criterion: str) -> tuple[float, ...]:
    """The points of a criterion in each run; empty if there is no such criterion."""
    return next((points.points for points in all_points if points.criterion == criterion), ())


def _describe_change(before: Sequence[float], after: Sequence[float]) -> JsonObject:
    """The mean points before and after, null where one assessment lacks the criterion, and how they differ.

    ``interval``: the 95 % confidence interval of the difference, null if one side has a single run; ``clear``: whether
    it does not contain 0.
    """
    means = [fmean(points) if points else None for points in (before, after)]
    change = means[1] - means[0] if means[0] is not None and means[1] is not None else None
    interval = compute_difference_interval(before, after)
    clear = interval is not None and not interval.low <= 0 <= interval.high
    means_json: JsonObject = {"before": means[0], "after": means[1], "change": change}
    return {**means_json, "interval": [*interval] if interval else None, "clear": clear}


def _format_change_cells(change: object) -> list[str]:
    values = [change.get(name) for name in ("before", "after", "change")] if isinstance(change, dict) else []
    texts = ["-" if value is None else _format_number(value) for value in values]
    interval = change.get("interval") if isinstance(change, dict) else None
    scatter = f"{_format_number(interval[0])} to {_format_number(interval[1])}" if isinstance(interval, list) else "-"
    return [*texts[:2], f"+{texts[2]}" if texts[2][0] not in "-0" else texts[2], scatter]


def _format_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
