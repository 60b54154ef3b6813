"""Tasks that end right, by the share of replies with a fault: each strategy beside the plain loop, as a picture."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, cast

from shared.domain.exact_json import JsonObject

WIDTH = 900
COLOURS = {"flat loop": "#6b7280", "fsm": "#7c3aed", "five_phase": "#0e7490", "moa": "#b45309"}


class CannotPlotWorth(Exception):
    """The library that draws is not installed, or nothing was measured that could be drawn; the message says which."""


WorthTicks = Callable[[float, int, int], str]


class WorthChart(Protocol):
    def add_line(self, data: Sequence[tuple[float, float]], *, name: str, stroke_color: str, width: int) -> None: ...
    def add_x_axis(self, *, name: str, ticks: Sequence[float]) -> None: ...
    def add_x_scale(self, domain_min: float, domain_max: float) -> None: ...
    def add_y_axis(self, *, name: str, ticks: Sequence[float]) -> None: ...
    def add_y_scale(self, domain_min: float, domain_max: float) -> None: ...
    def to_svg(self, path: str, *, width: int) -> None: ...


def plot_worth(figures: JsonObject, path: Path) -> None:
    """Writes an SVG file: per cent of the tasks that end right, against per cent of the replies with a fault.

    Raises ``CannotPlotWorth`` if no loop has two points.
    """
    courses = read_courses(figures)
    if not any(len(points) > 1 for points in courses.values()):
        raise CannotPlotWorth("there is nothing to draw: play the faulty model too")
    chart = make_chart("Tasks that end right, by the share of a model's replies that have a fault")
    last = max(rate for points in courses.values() for rate, _ in points)
    chart.add_x_scale(0, last)
    chart.add_y_scale(0, 100)
    for loop, points in courses.items():
        chart.add_line(points, name=loop.replace("_", " "), stroke_color=COLOURS[loop], width=3)
    chart.add_x_axis(name="replies with a fault, %", ticks=sorted({rate for rate, _ in points}))
    chart.add_y_axis(name="tasks right, %", ticks=(0, 25, 50, 75, 100))
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.to_svg(str(path), width=WIDTH)


def read_courses(figures: JsonObject) -> dict[str, list[tuple[float, float]]]:
    """By loop: a point for each share of faults; the perfect model has none."""
    courses: dict[str, list[tuple[float, float]]] = {}
    for line in cast("list[dict[str, float | str]]", figures["lines"]):
        if line["model"] in ("perfect", "faulty"):
            right = 100 * float(line["right"]) / float(line["tasks"])
            courses.setdefault(str(line["loop"]), []).append((100 * float(line["rate"]), right))
    return {loop: sorted(points) for loop, points in courses.items()}


def make_chart(title: str) -> WorthChart:
    try:
        import leather  # only whoever draws needs it
        from leather import theme
    except ImportError:
        raise CannotPlotWorth("leather is not installed: pip install 'purple-agent[learner-bench]'") from None
    theme.title_font_family = theme.legend_font_family = theme.axis_title_font_family = "sans-serif"
    theme.tick_font_family = "sans-serif"
    return cast(WorthChart, leather.Chart(title))
