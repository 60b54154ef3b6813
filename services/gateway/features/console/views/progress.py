"""Whether the worker improves: quality over time, and the arms of each process type over time."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import sqrt
from typing import NamedTuple, TypeVar

from services.gateway.features.console.views.words import count_of, strategy_title, title_of
from shared.domain.bandit import Arm, ucb1
from shared.domain.estimates import TrendPoint
from shared.domain.words import Strategy

_FEWEST = 20  # tasks before anything is said of a direction
_MOST = 100  # tasks that count as lately
_SPREAD = 0.25  # how far qualities lie from their mean, roughly
_ROWS = 12
_TONES = {Strategy.FSM.value: "s1", Strategy.FIVE_PHASE.value: "s2", Strategy.MOA.value: "s3"}
_OTHER = "s4"
Drawn = Sequence[tuple[float, float]]
T = TypeVar("T")
_START = TrendPoint(0, 0, 0.0, 0.0)


class Direction(NamedTuple):
    """Whether quality rises. ``arrow`` is up, down, level or empty; ``text`` says it in a sentence."""

    arrow: str
    tone: str
    lately: float
    text: str


class Sample(NamedTuple):
    """A row of the table beside a chart."""

    tasks: int
    at: datetime
    mean: float
    recent: float


class Quality(NamedTuple):
    """Quality over time (ms). ``recent``: the mean of the latest tasks at each point; ``mean``: of all until then."""

    recent: Drawn
    mean: Drawn
    window: int
    samples: tuple[Sample, ...]
    first: datetime
    last: datetime


class ArmRow(NamedTuple):
    """One arm. ``score``: its present UCB1 score; empty if it was never tried."""

    title: str
    tone: str
    uses: int
    mean: str
    share: int
    score: str
    leads: bool


class ProcessCard(NamedTuple):
    process: str
    title: str
    tasks: int
    arms: tuple[ArmRow, ...]
    lines: tuple[tuple[str, Drawn], ...]
    samples: tuple[tuple[str, Sample], ...]
    first: datetime | None
    last: datetime | None
    words: str


def direction(points: Sequence[TrendPoint]) -> Direction | None:
    """Compares the latest tasks with as many before them; None before the first task."""
    if not points:
        return None
    last = points[-1]
    if last.n < _FEWEST:
        mean = _mean_between(_START, last)
        return Direction("", "", mean, f"after {count_of(last.n, 'task')}; a few more tell where it goes")
    turn = _last_until(points, last.n - min(max(_FEWEST, last.n // 10), last.n // 2, _MOST))
    start = _last_until(points, 2 * turn.n - last.n)
    lately, before = _mean_between(turn, last), _mean_between(start, turn)
    said = f"over the last {count_of(last.n - turn.n, 'task')}; {before:.2f} over the {turn.n - start.n} before"
    if abs(lately - before) <= _by_chance(last.n - turn.n):
        return Direction("level", "", lately, said)
    return Direction("up", "good", lately, said) if lately > before else Direction("down", "warn", lately, said)


def _by_chance(tasks: int) -> float:
    """By how much two means of so many tasks differ by chance (one standard error)."""
    return _SPREAD * sqrt(2 / tasks)


def quality(points: Sequence[TrendPoint]) -> Quality | None:
    """Quality over time; None for fewer than two points."""
    if len(points) < 2:
        return None
    window = max(10, -(-points[-1].n // 10))
    rolling = [_mean_between(_last_until(points, max(0, one.n - window)), one) for one in points]
    samples = tuple(
        Sample(one.n, _time_of(one.at_ms), one.mean, recent) for one, recent in zip(points, rolling, strict=True)
    )
    return Quality(
        recent=[(one.at_ms, recent) for one, recent in zip(points, rolling, strict=True)],
        mean=[(one.at_ms, one.mean) for one in points],
        window=window,
        samples=_thin_out(samples),
        first=_time_of(points[0].at_ms),
        last=_time_of(points[-1].at_ms),
    )


def build_process_cards(
    arms: Mapping[str, Mapping[str, Arm]], courses: Mapping[str, Mapping[str, Sequence[TrendPoint]]]
) -> tuple[ProcessCard, ...]:
    """A card for each process type, the most used first."""
    cards = [_build_card(process, strategies, courses.get(process, {})) for process, strategies in arms.items()]
    return tuple(sorted(cards, key=lambda card: (-card.tasks, card.process)))


def _build_card(process: str, arms: Mapping[str, Arm], courses: Mapping[str, Sequence[TrendPoint]]) -> ProcessCard:
    tasks = sum(arm.n for arm in arms.values())
    told = {name: points for name, points in courses.items() if points}
    order = [*_TONES, *sorted(set(arms) - set(_TONES))]
    rows = tuple(
        _build_row(name, arms.get(name, Arm()), tasks, arms) for name in order if name in arms or name in _TONES
    )
    times = [one.at_ms for course in told.values() for one in course]
    until = max(times, default=0)
    lines = tuple(
        (_arm_tone(name), [*((one.at_ms, one.mean) for one in told[name]), (until, told[name][-1].mean)])
        for name in order
        if name in told
    )
    samples = tuple(
        (strategy_title(name), Sample(one.n, _time_of(one.at_ms), one.mean, one.recent))
        for name in order
        for one in _thin_out(told.get(name, ()))
    )
    said = ", ".join(f"{row.title} {row.mean or 'not tried'}" for row in rows)
    return ProcessCard(
        process=process,
        title=title_of(process),
        tasks=tasks,
        arms=rows,
        lines=lines,
        samples=samples,
        first=_time_of(min(times)) if times else None,
        last=_time_of(until) if times else None,
        words=f"Mean quality by strategy over time: {said}",
    )


def _build_row(name: str, arm: Arm, tasks: int, arms: Mapping[str, Arm]) -> ArmRow:
    means = [one.mean_reward for one in arms.values() if one.n]
    score = ucb1(arm, tasks) if tasks else None
    return ArmRow(
        title=strategy_title(name),
        tone=_arm_tone(name),
        uses=arm.n,
        mean=f"{arm.mean_reward:.2f}" if arm.n else "",
        share=round(100 * arm.n / tasks) if tasks else 0,
        score=f"{score:.2f}" if score is not None else "",
        leads=arm.n > 0 and min(means) < arm.mean_reward == max(means),
    )


def _arm_tone(name: str) -> str:
    return _TONES.get(name, _OTHER)


def _last_until(points: Sequence[TrendPoint], n: int) -> TrendPoint:
    """The last point that is not after the ``n``-th task."""
    return max((one for one in points if one.n <= n), key=lambda one: one.n, default=_START)


def _mean_between(start: TrendPoint, end: TrendPoint) -> float:
    return (end.mean * end.n - start.mean * start.n) / max(1, end.n - start.n)


def _thin_out(rows: Sequence[T]) -> tuple[T, ...]:
    """At most ``_ROWS`` of the rows, evenly spaced, always with the last."""
    step = -(-len(rows) // _ROWS)
    return tuple(rows[::-1][::step][::-1]) if rows else ()


def _time_of(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
