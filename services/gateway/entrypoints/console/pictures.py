"""The console's charts, from its view models."""

from collections.abc import Sequence
from datetime import date, timedelta

from markupsafe import Markup

from services.gateway.core.console.health import DayCounts
from services.gateway.core.console.progress import ProcessCard, Quality
from services.gateway.core.console.tasks import dollars
from services.gateway.entrypoints.console.charts import Bar, Frame, Line, columns, lines, round_ticks
from services.gateway.ports.tenants import DaySpent

_SMALL = (310, 150)  # as wide as its card: its words then have the size of the page's
_HALF = (390, 180)
_WIDE = (820, 230)
_SHARE = (0.0, 0.25, 0.5, 0.75, 1.0)
_HALVES = (0.0, 0.5, 1.0)
_NANO = 1_000_000_000


def quality_chart(found: Quality, *, small: bool = False) -> Markup:
    """The mean of all tasks, and of those just before."""
    drawn = [Line("s2 faint", found.mean), Line("s1", found.recent)]
    last = found.samples[-1]
    words = (
        f"Quality over time, after {last.tasks} tasks: {last.recent:.2f} over the last {found.window}, "
        f"{last.mean:.2f} over all"
    )
    return lines(drawn, words, Frame(*(_SMALL if small else _WIDE), _HALVES if small else _SHARE))


def arms_chart(card: ProcessCard) -> Markup:
    """The mean reward of each arm over time; empty where nothing was kept of it."""
    if not card.lines:
        return Markup()
    drawn = [Line(tone, points) for tone, points in card.lines]
    return lines(drawn, f"{card.title}. {card.words}", Frame(*_HALF, _HALVES))


def spend_chart(days: Sequence[DaySpent], *, small: bool = False) -> Markup:
    """What each day has cost; the tokens, where nothing is paid for."""
    paid = any(day.nanos for day in days)
    rows = [Bar(day.date, day.nanos / _NANO if paid else float(day.tokens)) for day in days]
    most = max(row.value for row in rows)
    word = _dollars if paid else _tokens
    said = ", ".join(f"{row.label} {word(row.value)}" for row in rows if row.value)
    frame = Frame(*(_SMALL if small else _HALF), round_ticks(most), word)
    return columns(rows, f"{'Spent' if paid else 'Tokens'} by day: {said}", frame)


def days_chart(days: Sequence[DayCounts], *, small: bool = False) -> Markup:
    """How many tasks ended on each day, from the first of them to the last; a day without any is a gap."""
    ended = {date.fromisoformat(day.date): day.events for day in days}
    first, last = min(ended), max(ended)
    every = [first + timedelta(days=shift) for shift in range((last - first).days + 1)]
    rows = [Bar(day.isoformat(), float(ended.get(day, 0))) for day in every]
    said = ", ".join(f"{day.date} {day.events}" for day in days)
    frame = Frame(*(_SMALL if small else _WIDE), round_ticks(max(row.value for row in rows)), _tokens)
    return columns(rows, f"Tasks that ended by day: {said}", frame)


def _dollars(value: float) -> str:
    return dollars(round(value * _NANO))


def _tokens(value: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "K")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
