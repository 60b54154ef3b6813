"""Quality over time, its trend, and the strategies (bandit arms) of each process type over time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import sqrt
from typing import NamedTuple

from services.gateway.features.console.views.formatting import count_with_noun, humanize_name, strategy_title
from shared.domain.bandit import Arm, compute_ucb1_score
from shared.domain.estimates import TrendPoint
from shared.domain.words import Strategy

_FEWEST_TASKS = 20  # tasks before anything is said of a direction
_MOST_LATE_TASKS = 100  # tasks that count as lately
_QUALITY_STANDARD_DEVIATION = 0.25  # how far qualities lie from their mean, roughly
_MOST_ROWS = 12
_STRATEGY_TONES = {Strategy.FSM.value: "s1", Strategy.FIVE_PHASE.value: "s2", Strategy.MOA.value: "s3"}
_OTHER_TONE = "s4"
LinePoints = Sequence[tuple[float, float]]
_BEFORE_FIRST_TASK = TrendPoint(0, 0, 0.0, 0.0)


class QualityTrend(NamedTuple):
    """Whether quality rises. ``arrow``: up, down, level or empty; ``recent_mean``: the mean of the latest tasks."""

    arrow: str
    tone: str
    recent_mean: float
    text: str


class QualityHistory(NamedTuple):
    """Quality over time, as points (ms, mean). ``recent``: of the latest ``window`` tasks; ``mean``: of all.

    ``samples``: the rows of the table beside the chart.
    """

    recent: LinePoints
    mean: LinePoints
    window: int
    samples: tuple[TrendPoint, ...]
    first: datetime
    last: datetime


class ArmRow(NamedTuple):
    """One strategy of a process type. ``score``: its present UCB1 score, empty if it was never tried."""

    title: str
    tone: str
    uses: int
    mean: str
    share: int
    score: str
    leads: bool


class ProcessCard(NamedTuple):
    """What the page on learning shows of one process type: its strategies, and the course of their rewards."""

    process: str
    title: str
    tasks: int
    arms: tuple[ArmRow, ...]
    lines: tuple[tuple[str, LinePoints], ...]
    samples: tuple[tuple[str, TrendPoint], ...]
    first: datetime | None
    last: datetime | None
    label: str


def compute_quality_trend(points: Sequence[TrendPoint]) -> QualityTrend | None:
    """Compare the mean quality of the latest tasks with that of as many before them; None before the first task."""
    if not points:
        return None
    last = points[-1]
    if last.n < _FEWEST_TASKS:
        mean = _compute_mean_between(_BEFORE_FIRST_TASK, last)
        return QualityTrend("", "", mean, f"after {count_with_noun(last.n, 'task')}; a few more tell where it goes")
    middle = _find_point_at_task(points, last.n - min(max(_FEWEST_TASKS, last.n // 10), last.n // 2, _MOST_LATE_TASKS))
    start = _find_point_at_task(points, 2 * middle.n - last.n)
    recent_mean, earlier = _compute_mean_between(middle, last), _compute_mean_between(start, middle)
    tasks = last.n - middle.n
    text = f"over the last {count_with_noun(tasks, 'task')}; {earlier:.2f} over the {middle.n - start.n} before"
    # of the difference between two means over so many tasks each
    standard_error = _QUALITY_STANDARD_DEVIATION * sqrt(2 / tasks)
    if abs(recent_mean - earlier) <= standard_error:
        return QualityTrend("level", "", recent_mean, text)
    arrow, tone = ("up", "good") if recent_mean > earlier else ("down", "warn")
    return QualityTrend(arrow, tone, recent_mean, text)


def build_quality_history(points: Sequence[TrendPoint]) -> QualityHistory | None:
    """Quality over time; None for fewer than two points."""
    if len(points) < 2:
        return None
    window = max(10, -(-points[-1].n // 10))
    starts = [_find_point_at_task(points, max(0, point.n - window)) for point in points]
    rolling = [
        point._replace(recent=_compute_mean_between(start, point)) for start, point in zip(starts, points, strict=True)
    ]
    return QualityHistory(
        recent=[(point.at_ms, point.recent) for point in rolling],
        mean=[(point.at_ms, point.mean) for point in rolling],
        window=window,
        samples=_select_sample_rows(rolling),
        first=points[0].at,
        last=points[-1].at,
    )


def build_process_cards(
    arms: Mapping[str, Mapping[str, Arm]], histories: Mapping[str, Mapping[str, Sequence[TrendPoint]]]
) -> tuple[ProcessCard, ...]:
    """A card for each process type, the most used first."""
    cards = [_build_card(process, strategies, histories.get(process, {})) for process, strategies in arms.items()]
    return tuple(sorted(cards, key=lambda card: (-card.tasks, card.process)))


def _build_card(process: str, arms: Mapping[str, Arm], histories: Mapping[str, Sequence[TrendPoint]]) -> ProcessCard:
    tasks = sum(arm.n for arm in arms.values())
    order = [*_STRATEGY_TONES, *sorted(set(arms) - set(_STRATEGY_TONES))]
    rows = tuple(_build_arm_row(name, arms.get(name, Arm()), tasks, arms) for name in order)
    drawn = {name: histories[name] for name in order if histories.get(name)}
    all_points = sorted((point for points in histories.values() for point in points), key=lambda point: point.at_ms)
    means = ", ".join(f"{row.title} {row.mean or 'not tried'}" for row in rows)
    return ProcessCard(
        process=process,
        title=humanize_name(process),
        tasks=tasks,
        arms=rows,
        lines=tuple(
            (_get_color_of_strategy(name), _build_mean_line(points, all_points[-1].at_ms))
            for name, points in drawn.items()
        ),
        samples=tuple(
            (strategy_title(name), row) for name, points in drawn.items() for row in _select_sample_rows(points)
        ),
        first=all_points[0].at if all_points else None,
        last=all_points[-1].at if all_points else None,
        label=f"Mean quality by strategy over time: {means}",
    )


def _build_mean_line(points: Sequence[TrendPoint], until_ms: int) -> LinePoints:
    """The points (ms, mean so far), the last mean repeated at ``until_ms``."""
    return [*((point.at_ms, point.mean) for point in points), (until_ms, points[-1].mean)]


def _build_arm_row(name: str, arm: Arm, tasks: int, arms: Mapping[str, Arm]) -> ArmRow:
    means = [other.mean_reward for other in arms.values() if other.n]
    score = compute_ucb1_score(arm, tasks) if tasks else None
    return ArmRow(
        title=strategy_title(name),
        tone=_get_color_of_strategy(name),
        uses=arm.n,
        mean=f"{arm.mean_reward:.2f}" if arm.n else "",
        share=round(100 * arm.n / tasks) if tasks else 0,
        score=f"{score:.2f}" if score is not None else "",
        leads=arm.n > 0 and min(means) < arm.mean_reward == max(means),
    )


def _get_color_of_strategy(name: str) -> str:
    return _STRATEGY_TONES.get(name, _OTHER_TONE)


def _find_point_at_task(points: Sequence[TrendPoint], n: int) -> TrendPoint:
    """The last point at or before the ``n``-th task."""
    return max((point for point in points if point.n <= n), key=lambda point: point.n, default=_BEFORE_FIRST_TASK)


def _compute_mean_between(start: TrendPoint, end: TrendPoint) -> float:
    return (end.mean * end.n - start.mean * start.n) / max(1, end.n - start.n)


def _select_sample_rows(rows: Sequence[TrendPoint]) -> tuple[TrendPoint, ...]:
    """At most 12 of the rows, evenly spaced, including the last."""
    step = -(-len(rows) // _MOST_ROWS)
    return tuple(rows[::-1][::step][::-1]) if rows else ()
