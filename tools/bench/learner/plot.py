"""Courses of regret as a picture; on its logarithmic axis of tasks what grows as the logarithm is a straight line."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

from tools.bench.learner.regret import RegretCourse

_WIDTH = 900
_COLOURS = ("#7c3aed", "#0e7490", "#b45309")
_FAINT = {"#7c3aed": "#c4b5fd", "#0e7490": "#a5d8e2", "#b45309": "#f2cf9d"}


class CannotPlot(Exception):
    """The library that draws is not installed; the message says how to get it."""


_Ticks = Callable[[float, int, int], str]


class _RegretChart(Protocol):
    def add_line(self, data: Sequence[tuple[float, float]], *, name: str, stroke_color: str, width: int) -> None: ...
    def add_x_axis(self, *, name: str, ticks: Sequence[int], tick_formatter: _Ticks) -> None: ...
    def add_y_axis(self, *, name: str) -> None: ...
    def to_svg(self, path: str, *, width: int) -> None: ...


def plot(courses: Sequence[RegretCourse], seeds: int, path: Path) -> None:
    """Write an SVG file: the regret of each course, and its bound in a lighter colour."""
    chart = _chart(
        f"Regret of the strategy bandit (mean of {seeds} seeds) and its bound (lighter), by the arms' mean rewards"
    )
    for colour, course in zip(_COLOURS, courses, strict=False):
        chart.add_line(_points(course, course.bound), name="bound", stroke_color=_FAINT[colour], width=2)
        chart.add_line(_points(course, course.regret), name=course.arms, stroke_color=colour, width=3)
    last = math.floor(math.log10(courses[0].after[-1]))
    chart.add_x_axis(name="tasks", ticks=range(1, last + 1), tick_formatter=_power_of_ten)
    chart.add_y_axis(name="regret")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.to_svg(str(path), width=_WIDTH)


def _points(course: RegretCourse, values: Sequence[float]) -> list[tuple[float, float]]:
    rows = zip(course.after, values, strict=True)
    return [(math.log10(after), value) for after, value in rows]


def _chart(title: str) -> _RegretChart:
    try:
        import leather  # only whoever draws needs it
        from leather import theme
    except ImportError:
        raise CannotPlot("leather is not installed: pip install 'purple-agent[learner-bench]'") from None
    theme.title_font_family = theme.legend_font_family = theme.axis_title_font_family = "sans-serif"
    theme.tick_font_family = "sans-serif"
    return cast(_RegretChart, leather.Chart(title))


def _power_of_ten(value: float, index: int, count: int) -> str:  # noqa: ARG001  # as the library calls it
    return f"{10**value:,g}"
