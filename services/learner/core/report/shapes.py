"""Parts of a report in whatever shape they come: lists or mappings, of texts, numbers or objects."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

_NAMES = (
    "name", "dimension", "scenario", "scenario_id", "scenario_name", "test", "failure", "failure_mode", "failure_type",
    "pattern", "title", "label", "key", "task_id", "id",
)  # fmt: skip
_SCORES = ("overall_score", "score", "avg_score", "average_score", "mean_score", "mean", "average", "avg", "pass_rate")
_CAUSES = ("failure_cause", "cause", "root_cause", "reason", "why", "failure_reason", "error", "issue", "description")
_TEXTS = ("task_text", "task", "prompt", "request", "input", "text", "question", "instruction")
_VALUE = "value"


class Entry(NamedTuple):
    """One line of a part: what it is about, and what is said of it."""

    name: str
    said: Mapping[str, JsonValue]

    @property
    def named_score(self) -> tuple[str, float] | None:
        """The score that is given, and under which name."""
        found = ((name, _number(self.said.get(name))) for name in (*_SCORES, _VALUE))
        return next(((name, score) for name, score in found if score is not None), None)

    @property
    def cause(self) -> str:
        return _first_text(self.said, _CAUSES)

    @property
    def text(self) -> str:
        return _first_text(self.said, _TEXTS)


def entries(part: JsonValue) -> list[Entry]:
    """The lines of a part, in their order. Nothing at all has none."""
    if isinstance(part, dict):
        one = _is_one_entry(part)
        return [_of_object(part)] if one else [_of_mapping(name, inner) for name, inner in part.items()]
    if isinstance(part, list):
        return [_of_list(one) for one in part]
    return [] if part in (None, "") else [_of_list(part)]


def columns(found: Iterable[Entry]) -> list[str]:
    """What is said of any of them, in the order in which it comes up."""
    return list(dict.fromkeys(name for entry in found for name in entry.said))


class ReportScores:
    """Scores from 0 to 1, whichever scale a report has: under a name with one that is over 1, all are out of 100."""

    def __init__(self, found: Iterable[Entry]) -> None:
        scored = [entry.named_score for entry in found]
        self._percent = {name for name, score in filter(None, scored) if score > 1}

    def score_of(self, entry: Entry | None) -> float | None:
        if entry is None or entry.named_score is None:
            return None
        name, score = entry.named_score
        return score / 100 if name in self._percent else score


def _is_one_entry(part: Mapping[str, JsonValue]) -> bool:
    """Whether the mapping speaks of one thing, and not of one thing for each of its names."""
    return any(isinstance(part.get(name), str) for name in _NAMES) and not any(
        isinstance(one, dict) for one in part.values()
    )


def _of_list(one: JsonValue) -> Entry:
    return _of_object(one) if isinstance(one, dict) else Entry(as_word(one), {})


def _of_object(one: Mapping[str, JsonValue]) -> Entry:
    name = next((name for name in _NAMES if isinstance(one.get(name), str | int) and one[name] != ""), None)
    return Entry(as_word(one[name]) if name else "", {key: value for key, value in one.items() if key != name})


def _of_mapping(name: str, one: JsonValue) -> Entry:
    return Entry(name, one if isinstance(one, dict) else {_VALUE: one})


def as_word(value: JsonValue) -> str:
    """A value as a word in a table."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case list():
            return ", ".join(map(as_word, value))
        case dict():
            return ", ".join(f"{name}: {as_word(inner)}" for name, inner in value.items())
        case _:
            return str(value)


def _number(value: JsonValue) -> float | None:
    """Also one that is written as a text, with or without a percent sign."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return found if 0 <= found <= 100 else None


def _first_text(said: Mapping[str, JsonValue], names: Iterable[str]) -> str:
    texts = (said.get(name) for name in names)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
