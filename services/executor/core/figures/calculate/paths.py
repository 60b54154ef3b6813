"""Paths into a JSON value: ``amount``, ``items[0].amount``, ``items[*].amount``, ``items[status='open'].amount``.

The empty path is the value itself. A condition selects the records of a list for which it holds.
"""

import re

from services.executor.core.figures.calculate.conditions import CONDITION, condition
from shared.domain.exact_json import Json

_STEP = re.compile(rf"([^.\[\]]+)|\[(\*|\d+)\]|\[({CONDITION})\]")


class NoSuchPath(LookupError):
    """The value has nothing at that path; the message names the step that failed."""


def select(value: Json, path: str) -> list[Json]:
    """All values at ``path``: several where it has a ``[*]``. Raises ``NoSuchPath``."""
    found: list[Json] = [value]
    for match in _STEP.finditer(path.removeprefix("$").removeprefix(".")):
        key, index, only = match[1], match[2], match[3]
        if only is not None:
            holds = condition(only)
            found = [record for parent in found for record in _records(parent) if holds(record)]
            continue
        found = [item for parent in found for item in _step(parent, key, index, path)]
    return found


def one(value: Json, path: str) -> Json:
    """The single value at ``path``; ``NoSuchPath`` if there is none or more than one."""
    found = select(value, path)
    if len(found) != 1:
        raise NoSuchPath(f"path {path!r} has {len(found)} values, not one")
    return found[0]


def _step(parent: Json, key: str | None, index: str | None, path: str) -> list[Json]:
    if key is not None and isinstance(parent, dict) and key in parent:
        return [parent[key]]
    if index == "*" and isinstance(parent, list):
        return list(parent)
    if index is not None and index != "*" and isinstance(parent, list) and int(index) < len(parent):
        return [parent[int(index)]]
    raise NoSuchPath(f"path {path!r}: no {key or f'[{index}]'} there")


def _records(parent: Json) -> list[Json]:
    """What a condition looks at: the items of a list, or the one thing that an earlier condition let through."""
    return parent if isinstance(parent, list) else [parent]
