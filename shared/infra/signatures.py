"""Passes keys and arguments to scripts by the names that a script declares in its first lines."""

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from shared.infra.lua import Argument, script_text

T = TypeVar("T")


def keys_for(script: str, *groups: object, **others: str) -> list[str]:
    """The keys of a script in its order, each from ``others``, or from the group with an attribute of its name.

    The script's last names may be left out. Raises ``TypeError`` for any other missing name, and for an unknown one.
    """
    wanted = _list_names(script, "KEYS")
    found = {name: getattr(group, name) for group in reversed(groups) for name in wanted if hasattr(group, name)}
    return _order_arguments(script, wanted, {**found, **others})


def arguments_for(script: str, **given: Argument) -> list[Argument]:
    """The arguments of a script in its order, given by name as in ``keys_for``."""
    return _order_arguments(script, _list_names(script, "ARGV"), given)


def _order_arguments(script: str, wanted: Sequence[str], given: dict[str, T]) -> list[T]:
    names = wanted[: len(given)]
    if given.keys() != set(names):
        differing = ", ".join(sorted(given.keys() ^ set(names)))
        raise TypeError(f"{script}.lua is given other names than it has: {differing}")
    return [given[name] for name in names]


@cache
def _list_names(script: str, table: str) -> tuple[str, ...]:
    lines = re.findall(rf"^local ([\w, ]+) = unpack\({table}\b", script_text(script), re.MULTILINE)
    return tuple(name for line in lines for name in line.split(", "))
