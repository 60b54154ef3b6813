"""Charts as SVG, drawn on the server: they need no script, and their colours are those of the page's theme.

The library writes colours and sizes as attributes, never as styles, so the page's content policy holds for them;
the style sheet overrides the colours.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

import leather
from leather import theme
from markupsafe import Markup, escape

theme.margin = 0.0
theme.title_font_family = theme.axis_font_family = theme.tick_font_family = "inherit"
theme.tick_font_size = 13
theme.tick_size = 4
_ROW = 34
_AXIS = 24


class Bar(NamedTuple):
    label: str
    value: float


class _Chart(Protocol):
    def add_bars(self, data: Sequence[tuple[float, str]]) -> None: ...

    def add_x_scale(self, low: float, high: float) -> None: ...

    def to_svg(self, width: int, height: int) -> str: ...


def bars(rows: Sequence[Bar], name: str, width: int, low: float, high: float) -> Markup:
    """Horizontal bars, the first on top, for readers and for who listens: ``name`` and the values are its words."""
    chart = cast(_Chart, leather.Chart())
    chart.add_bars([(row.value, row.label) for row in rows])
    chart.add_x_scale(low, high)
    height = _ROW * len(rows) + _AXIS
    words = f"{name}: {', '.join(f'{row.label} {row.value:g}' for row in rows)}"
    head = f'<svg class="chart" role="img" aria-label="{escape(words)}" viewBox="0 0 {width} {height}"'
    drawn = chart.to_svg(width=width, height=height)
    return Markup(drawn.replace(f'<svg width="{width}" height="{height}"', head, 1))  # noqa: S704 - the library escapes
