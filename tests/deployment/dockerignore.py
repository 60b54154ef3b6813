"""What `.dockerignore` lets into a build, by the rules of the engine: the last line that fits decides."""

import re
from functools import cache
from typing import NamedTuple

_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_PART = re.compile(r"\*\*/|\*\*|\*|\?")


class Line(NamedTuple):
    """``lets_in`` is an exception from the lines above it. A folder that fits takes everything below it along."""

    pattern: re.Pattern[str]
    lets_in: bool


def lets_in(text: str, path: str) -> bool:
    """Whether a file with that text lets a path, as seen from the root of the context, into a build."""
    inside = True
    for line in _lines(text):
        if line.pattern.fullmatch(path):
            inside = line.lets_in
    return inside


@cache
def _lines(text: str) -> tuple[Line, ...]:
    texts = [line.strip() for line in text.splitlines()]
    return tuple(_line(line) for line in texts if line and not line.startswith("#"))


def _line(text: str) -> Line:
    words, last = "", 0
    bare = text.removeprefix("!").strip("/")
    for found in _PART.finditer(bare):
        words += re.escape(bare[last : found.start()]) + _PARTS[found.group()]
        last = found.end()
    return Line(re.compile(f"{words}{re.escape(bare[last:])}(?:/.*)?"), text.startswith("!"))
