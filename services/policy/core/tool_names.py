"""Names of tools in rules: exact, or with ``*`` for any characters."""

from collections.abc import Callable
from typing import TypeAlias

Matches: TypeAlias = Callable[[str], bool]
MAX_STARS = 4  # every further one multiplies the ways to look


def matching(name: str) -> Matches:
    """Whether a tool's name fits; raises ``ValueError`` for a name that cannot be used."""
    name = name.strip()
    if not name:
        raise ValueError("a rule about tools names a tool")
    if "*" not in name:
        return name.__eq__
    if name.count("*") > MAX_STARS:
        raise ValueError(f"the tool name {name!r} has more than {MAX_STARS} stars")
    first, *middle, last = name.split("*")
    return lambda tool: _fits(tool, first, middle, last)


def is_exact(name: str) -> bool:
    return "*" not in name


def _fits(tool: str, first: str, middle: list[str], last: str) -> bool:
    if len(tool) < len(first) + len(last) or not (tool.startswith(first) and tool.endswith(last)):
        return False
    position, end = len(first), len(tool) - len(last)
    for part in middle:  # the leftmost place is never worse than a later one
        found = tool.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True
