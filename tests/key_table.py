"""The page on keys in Redis as data: each row with the pattern of the names that it stands for."""

import re
from pathlib import Path
from typing import NamedTuple

_PAGE = Path(__file__).parents[1] / "docs" / "redis-keys.md"
_ROW = re.compile(r"\| `([^`]+)` \| ([^|]+) \| (\w+) \| ([^|]+) \|")
_STEMS = {
    "A session's": r"pa:\{p\d\d\}:s:[^:]+:[^:]+:",
    "A task's": r"pa:\{p\d\d\}:t:[^:]+:[^:]+:",
    "A partition's": r"pa:\{p\d\d\}:",
    "What is learned of a tenant": r"pa:\{t:[^:}]+\}:",
    "Others": r"pa:(\{p\d\d\}:)?",
    "The queue's": "",
}
_ENDS = {"Others": ":.+", "The queue's": ".*"}


class KeyKind(NamedTuple):
    """One row of the page. ``pattern``: of all names that it stands for."""

    group: str
    word: str
    lifetime: str
    pattern: re.Pattern[str]


def key_table() -> tuple[KeyKind, ...]:
    return tuple(
        KeyKind(group, word, lifetime, re.compile(_STEMS[group] + word.replace("NAME", ".+") + _ENDS.get(group, "")))
        for group, _, rows in (part.partition("\n") for part in _PAGE.read_text().split("\n## ")[1:])
        for word, _, lifetime, _ in _ROW.findall(rows)
    )


def words_of(group: str) -> set[str]:
    return {kind.word for kind in key_table() if kind.group == group}
