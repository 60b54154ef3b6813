"""Prints assessments as tables: by dimension and criterion, with the reasons; or two side by side."""

from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean

from rich.table import Table
from rich.text import Text

from cli.console import CommandError
from shared.contracts.assessment.figures import CriterionPoints, criterion_points
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import PASSES_AT, Assessment
from shared.domain.estimates import Interval, difference_interval


def assessment_table(assessment: Assessment) -> Table:
    table = Table("dimension", "criterion", "points", "of", "reason", title=_build_title(assessment))
    listed = criterion_points(assessment)
    for dimension in dict.fromkeys(line.dimension for line in listed):
        within = [line for line in listed if line.dimension == dimension]
        mean, most = sum(line.mean for line in within), sum(line.most for line in within)
        table.add_row(dimension.replace("_", " "), "", _format_number(mean), _format_number(most), "", style="bold")
        for line in within:
            table.add_row(
                "",
                strip_control_characters(line.name),
                _points_text(line),
                _format_number(line.most),
                strip_control_characters(line.reason),
            )
        table.add_section()
    return table


def summary_sentences(assessment: Assessment) -> list[str]:
    """Sentences about each run (its end, its failed turns) and about how often the agent passes."""
    said = []
    for number, run in enumerate(assessment.runs, 1):
        results, points = run.results, run.points
        share = f"{_format_number(points.score)} of {_format_number(points.max_score)} points"
        took = f"{results.turns_taken} turns, {results.actions_taken} actions, {results.duration_seconds:.1f} s"
        said.append(f"Run {number}: {results.status}, {share}, {took}.")
        said.extend(f"  Failed: {_describe_failure(turn)}" for turn in results.failed_turns)
    unjudged = assessment.runs[0].results.unjudged
    if unjudged:
        said.append(f"Nobody was there to judge {', '.join(unjudged)}: left out of the points of a run.")
    chances = ", ".join(f"pass^{k} {chance:.2f}" for k, chance in assessment.pass_hat.items())
    passing, earned = assessment.pass_interval, assessment.points_interval
    said.append(f"Passing is {PASSES_AT:.0%} of the points: {chances}.")
    said.append(f"With 95 % confidence a run passes with a chance of {_interval_text(passing)}{_mean_text(earned)}.")
    return [str(strip_control_characters(sentence)) for sentence in said]


def compare_points(before: Assessment, after: Assessment) -> JsonObject:
    """How points changed by criterion, by dimension and in total, as means over the runs of each assessment.

    Raises ``CommandError`` for different scenarios.
    """
    if before.scenario != after.scenario:
        raise CommandError(f"{before.name} is of scenario {before.scenario}, {after.name} of {after.scenario}.")
    first, second = criterion_points(before), criterion_points(after)
    criteria = {line.criterion: line.dimension for line in (*first, *second)}
    return {
        "scenario": before.scenario,
        "agents": [before.agent, after.agent],
        "runs": [len(before.runs), len(after.runs)],
        "passed": [before.passed, after.passed],
        "dimensions": {
            name: _describe_change(_run_totals(first, name), _run_totals(second, name))
            for name in dict.fromkeys(criteria.values())
        },
        "criteria": {name: _describe_change(_run_points(first, name), _run_points(second, name)) for name in criteria},
        "overall": _describe_change(_run_totals(first), _run_totals(second)),
    }


def comparison_table(figures: JsonObject, names: Sequence[str]) -> Table:
    columns = ("", *(str(strip_control_characters(name)) for name in names), "change", "95 % confidence")
    table = Table(*columns, title=strip_control_characters(f"{figures['scenario']}: mean points"))
    for group in ("dimensions", "criteria"):
        rows = figures[group]
        for name, change in rows.items() if isinstance(rows, dict) else []:
            table.add_row(
                strip_control_characters(name), *_change_cells(change), style="bold" if group == "dimensions" else ""
            )
        table.add_section()
    table.add_row("overall", *_change_cells(figures["overall"]), style="bold")
    return table


def strip_control_characters(text: str) -> Text:
    """The text with control characters, which could drive the terminal, replaced by spaces."""
    return Text("".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text))


def _build_title(assessment: Assessment) -> Text:
    runs = f", mean of {len(assessment.runs)} runs" if len(assessment.runs) > 1 else ""
    return strip_control_characters(f"{assessment.scenario}: {assessment.agent}{runs}")


def _points_text(line: CriterionPoints) -> str:
    if line.unjudged:
        return "unjudged"
    each = f" ({' '.join(map(_format_number, line.points))})" if len(set(line.points)) > 1 else ""
    return f"{_format_number(line.mean)}{each}"


def _describe_failure(turn: JsonObject) -> str:
    number, kind = turn.get("turn_number", "?"), str(turn.get("error_type", "error")).replace("_", " ")
    which = _format_number(number) if isinstance(number, float) else number
    return f"turn {which}, {kind}: {turn.get('error', '')}"


def _interval_text(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


def _mean_text(interval: Interval | None) -> str:
    return "" if interval is None else f" and earns a share of {_interval_text(interval)} of the points"


def _run_totals(listed: Sequence[CriterionPoints], dimension: str = "") -> list[float]:
    """The total points of each run, in one dimension or in all."""
    columns = [line.points for line in listed if dimension in ("", line.dimension)]
    return [sum(points) for points in zip_longest(*columns, fillvalue=0.0)] or [0.0]


def _run_points(listed: Sequence[CriterionPoints], criterion: str) -> tuple[float, ...]:
    """The points of a criterion in each run; empty if there is no such criterion."""
    return next((line.points for line in listed if line.criterion == criterion), ())


def _describe_change(before: Sequence[float], after: Sequence[float]) -> JsonObject:
    """The mean points before and after, null where one assessment lacks the criterion, and how they differ.

    ``interval``: the 95 % confidence interval of the difference, null if one side has a single run; ``clear``: whether
    it does not contain 0.
    """
    means = [fmean(points) if points else None for points in (before, after)]
    change = means[1] - means[0] if means[0] is not None and means[1] is not None else None
    interval = difference_interval(before, after)
    clear = interval is not None and not interval.low <= 0 <= interval.high
    told: JsonObject = {"before": means[0], "after": means[1], "change": change}
    return {**told, "interval": [*interval] if interval else None, "clear": clear}


def _change_cells(change: object) -> list[str]:
    values = [change.get(name) for name in ("before", "after", "change")] if isinstance(change, dict) else []
    shown = ["-" if value is None else _format_number(value) for value in values]
    interval = change.get("interval") if isinstance(change, dict) else None
    scatter = f"{_format_number(interval[0])} to {_format_number(interval[1])}" if isinstance(interval, list) else "-"
    return [*shown[:2], f"+{shown[2]}" if shown[2][0] not in "-0" else shown[2], scatter]


def _format_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
