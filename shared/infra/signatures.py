"""Passes keys and arguments to scripts by the names that a script declares in its first lines."""

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from shared.infra.lua import Argument, read_script_file

T = TypeVar("T")


def order_script_keys(script: str, *groups: object, **extra_keys: str) -> list[str]:
    """The keys of a script in its order, each from ``extra_keys``, or from the group with an attribute of its name.

    The script's last names may be left out. Raises ``TypeError`` for any other missing name, and for an unknown one.
    """
    names = _list_unpacked_names(script, "KEYS")
    group_keys = {name: getattr(group, name) for group in reversed(groups) for name in names if hasattr(group, name)}
    return _order_arguments(script, names, {**group_keys, **extra_keys})


def order_script_arguments(script: str, **arguments: Argument) -> list[Argument]:
    """The arguments of a script in its order, given by name as in ``order_script_keys``."""
    return _order_arguments(script, _list_unpacked_names(script, "ARGV"), arguments)


def _order_arguments(script: str, declared_names: Sequence[str], values_by_name: dict[str, T]) -> list[T]:
    names = declared_names[: len(values_by_name)]
    if values_by_name.keys() != set(names):
        differing = ", ".join(sorted(values_by_name.keys() ^ set(names)))
        raise TypeError(f"{script}.lua is given other names than it has: {differing}")
    return [values_by_name[name] for name in names]


@cache
def _list_unpacked_names(script: str, table: str) -> tuple[str, ...]:
    lines = re.findall(rf"^local ([\w, ]+) = unpack\({table}\b", read_script_file(script), re.MULTILINE)
    return tuple(name for line in lines for name in line.split(", "))
