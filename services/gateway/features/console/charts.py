"""Charts as SVG, drawn on the server: they need no script, and take their colours from the page's style sheet.

Colours are attributes, which the pages' content security policy permits; a series has a CSS class, ``s1`` to ``s4``.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import leather
from leather import theme
from markupsafe import Markup, escape

from services.gateway.features.console.views.health import DayCounts
from services.gateway.features.console.views.progress import ProcessCard, QualityHistory
from services.gateway.features.console.views.tasks import format_nanos_as_dollars
from services.gateway.features.tenants import DailySpending

theme.margin = 0.0
theme.title_font_family = theme.axis_font_family = theme.tick_font_family = "inherit"
theme.tick_font_size = 13
theme.tick_font_char_width = 8
theme.tick_size = 4
theme.legend_font_char_height = theme.legend_gap = 0
theme.default_series_colors = ["currentColor"] * 32  # the style sheet gives them their own
_DOT_RADIUS = 3.5
_QUARTER_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SERIES_CLASS_ATTRIBUTE_PATTERN = re.compile(r'class="series (\w+)"')
_LEGEND_MARKUP_PATTERN = re.compile(r'<g transform="[^"]*"><rect[^>]*/><text[^>]*>Unnamed series</text></g>')
_LONG_NUMBER_PATTERN = re.compile(r'(?<=[ "])(-?\d+\.\d)\d+(?=[ "])')


class ChartLine(NamedTuple):
    """A line through points from left to right. ``tone``: the CSS class of its colour and stroke."""

    tone: str
    points: Sequence[tuple[float, float]]


class ChartFrame(NamedTuple):
    """The size of a chart and its vertical axis. ``ticks``: the values on the axis; ``format_tick`` formats them."""

    width: int
    height: int
    ticks: Sequence[float]
    format_tick: Callable[[float], str] = "{:g}".format


def draw_line_chart(lines: Sequence[ChartLine], label: str, frame: ChartFrame) -> Markup:
    """A chart of lines over one period, each with a dot at its end. The page labels the period's ends.

    ``label``: what the chart shows, for screen readers.
    """
    chart, tones = leather.Chart(), []
    xs = [x for line in lines for x, _ in line.points]
    start, length = min(xs), (max(xs) - min(xs)) or 1
    for line in lines:
        points = [((x - start) / length, y) for x, y in line.points]
        chart.add_line(points)
        chart.add_dots(points[-1:], radius=_DOT_RADIUS)
        tones += [line.tone, line.tone]
    chart.add_x_scale(0, 1)  # the library would round the ends of any other stretch
    chart.add_x_axis(ticks=_QUARTER_TICKS, tick_formatter=_format_no_label)
    _add_y_axis(chart, frame)
    return _render_svg(chart, label, frame.width, frame.height, tones)


def _draw_column_chart(rows: Sequence[tuple[str, float]], label: str, frame: ChartFrame) -> Markup:
    """A chart with a column for each (label, value). Its vertical axis is labelled; the page labels the columns."""
    chart = leather.Chart()
    chart.add_columns(rows)
    chart.add_x_axis(tick_formatter=_format_no_label)
    _add_y_axis(chart, frame)
    return _render_svg(chart, label, frame.width, frame.height, ["s1"])


def choose_round_ticks(largest: float) -> tuple[float, ...]:
    """Three ticks, from 0 to a round number that is at least ``largest``; 0 and 1 if that is not positive."""
    if largest <= 0:
        return (0.0, 1.0)
    step = 10.0 ** len(str(int(largest))) if largest >= 1 else 1.0
    while step / 10 >= largest:
        step /= 10
    top = next(step * part for part in (0.1, 0.2, 0.4, 0.5, 0.8, 1.0) if step * part >= largest)
    return tuple(top * part / 2 for part in range(3))


def _add_y_axis(chart: leather.Chart, frame: ChartFrame) -> None:
    chart.add_y_scale(frame.ticks[0], frame.ticks[-1])
    chart.add_y_axis(ticks=frame.ticks, tick_formatter=lambda value, _number, _count: frame.format_tick(value))


def _format_no_label(_value: float, _number: int, _count: int) -> str:
    return ""


def _render_svg(chart: leather.Chart, label: str, width: int, height: int, tones: Sequence[str]) -> Markup:
    """The chart as SVG. ``label``: its label for screen readers; ``tones``: the CSS class of each series, in order."""
    head = f'<svg class="chart" role="img" aria-label="{escape(label)}" viewBox="0 0 {width} {height}"'
    svg = _LONG_NUMBER_PATTERN.sub(r"\1", _LEGEND_MARKUP_PATTERN.sub("", chart.to_svg(width=width, height=height)))
    remaining_tones = iter(tones)
    styled_svg = _SERIES_CLASS_ATTRIBUTE_PATTERN.sub(
        lambda match: f'class="series {match[1]} {next(remaining_tones)}"', svg
    )
    return Markup(styled_svg.replace(f'<svg width="{width}" height="{height}"', head, 1))  # noqa: S704 - the library escapes


_SMALL_SIZE = (310, 150)  # as wide as its card: its words then have the size of the page's
_HALF_SIZE = (390, 180)
_WIDE_SIZE = (820, 230)
_HALF_TICKS = (0.0, 0.5, 1.0)
_NANOS_PER_DOLLAR = 1_000_000_000


def draw_quality_chart(quality: QualityHistory, *, is_small: bool = False) -> Markup:
    """The chart of quality over time: the mean of all tasks, and the mean of the latest tasks.

    ``is_small``: narrower, and with fewer ticks.
    """
    lines = [ChartLine("s2 faint", quality.mean), ChartLine("s1", quality.recent)]
    last = quality.samples[-1]
    label = (
        f"Quality over time, after {last.n} tasks: {last.recent:.2f} over the last {quality.window}, "
        f"{last.mean:.2f} over all"
    )
    frame = ChartFrame(*_SMALL_SIZE, _HALF_TICKS) if is_small else ChartFrame(*_WIDE_SIZE, _QUARTER_TICKS)
    return draw_line_chart(lines, label, frame)


def draw_arms_chart(card: ProcessCard) -> Markup:
    """The chart of each arm's mean reward over time; empty if no trend is stored."""
    if not card.lines:
        return Markup()
    lines = [ChartLine(tone, points) for tone, points in card.lines]
    return draw_line_chart(lines, f"{card.title}. {card.label}", ChartFrame(*_HALF_SIZE, _HALF_TICKS))


def draw_spending_chart(days: Sequence[DailySpending], *, is_small: bool = False) -> Markup:
    """The chart of each day's cost, or of its tokens if the model costs nothing."""
    paid = any(day.nanos for day in days)
    rows = [(day.date, day.nanos / _NANOS_PER_DOLLAR if paid else float(day.tokens)) for day in days]
    largest = max(value for _, value in rows)
    format_value = _format_dollars if paid else _format_tokens
    bar_texts = ", ".join(f"{label} {format_value(value)}" for label, value in rows if value)
    frame = ChartFrame(*(_SMALL_SIZE if is_small else _HALF_SIZE), choose_round_ticks(largest), format_value)
    return _draw_column_chart(rows, f"{'Spent' if paid else 'Tokens'} by day: {bar_texts}", frame)


def draw_days_chart(days: Sequence[DayCounts], *, is_small: bool = False) -> Markup:
    """The chart of how many tasks ended on each day, from the first to the last."""
    counts_by_date = {date.fromisoformat(day.date): day.tasks for day in days}
    first, last = min(counts_by_date), max(counts_by_date)
    all_days = [first + timedelta(days=shift) for shift in range((last - first).days + 1)]
    rows = [(day.isoformat(), float(counts_by_date.get(day, 0))) for day in all_days]
    bar_texts = ", ".join(f"{day.date} {day.tasks}" for day in days)
    ticks = choose_round_ticks(max(counts_by_date.values()))
    frame = ChartFrame(*(_SMALL_SIZE if is_small else _WIDE_SIZE), ticks, _format_tokens)
    return _draw_column_chart(rows, f"Tasks that ended by day: {bar_texts}", frame)


def _format_dollars(value: float) -> str:
    return format_nanos_as_dollars(round(value * _NANOS_PER_DOLLAR))


def _format_tokens(value: float) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "K")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
