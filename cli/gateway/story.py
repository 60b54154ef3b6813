"""A task's events as lines for people: which words, which colour, and which phase stands in the spinner."""

from collections.abc import Mapping
from dataclasses import dataclass

from cli.gateway.messages import Event
from shared.domain.exact_json import Json, dumps

_STYLES = {
    "submitted": "dim",
    "phase": "bold magenta",
    "state": "bold cyan",
    "model": "dim",
    "tool": "blue",
    "write": "bold yellow",
    "verdict": "bold",
    "approval": "bold yellow",
    "note": "italic dim",
    "status": "bold green",
}
_HIDDEN = frozenset({"turn_finished"})
_NAMING = ("phase", "state", "status", "tool", "name", "text", "note", "sentence")
_LONG = 160


@dataclass(frozen=True)
class Line:
    """One line: what kind of thing happened, what, and how it looks."""

    kind: str
    text: str
    style: str


def line_of(event: Event) -> Line | None:
    """The line of an event; None for what nobody needs to see."""
    if event.kind in _HIDDEN:
        return None
    return Line(event.kind, _text(event.data), _STYLES.get(event.kind, ""))


def _text(data: Mapping[str, Json]) -> str:
    """The naming value first, the rest as ``key=value``."""
    lead = next((key for key in _NAMING if isinstance(data.get(key), str)), None)
    first = [str(data[lead])] if lead else []
    rest = [f"{key}={_short(value)}" for key, value in data.items() if key != lead and value not in (None, "", [], {})]
    return "  ".join([*first, *rest])


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
