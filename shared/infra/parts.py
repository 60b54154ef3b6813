"""Optional parts of a service: settings name them, entry points find them, and only named ones are imported.

Each service has a group of entry points, ``purple_agent.SERVICE``; other distributions may add parts to it.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from shared.infra.starting import CannotStart

_PROJECT_FILE = Path(__file__).parents[2] / "pyproject.toml"


def check_optional_parts(service: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names; raises ``ValueError`` for one without an entry point. Imports nothing."""
    for name in names:
        _find_entry_point(service, name)
    return names


def load_optional_part(service: str, name: str) -> object:
    """Imports the object of a part's entry point; raises ``CannotStart`` if a required library is missing."""
    try:
        return _find_entry_point(service, name).load()
    except ModuleNotFoundError as error:
        raise CannotStart(f"The part {name!r} needs {error.name}, which is not installed.") from error


def _find_entry_point(service: str, name: str) -> EntryPoint:
    """A part's entry point, ours first, since searching all distributions is slow. Raises ``ValueError`` if none."""
    group = f"purple_agent.{service}"
    own_values = _read_pyproject_entry_points().get(group, {})
    if name in own_values:
        return EntryPoint(name, own_values[name], group)
    entries = {entry.name: entry for entry in entry_points(group=group)}
    if name not in entries:
        raise ValueError(f"there is no part {name!r}; there are {', '.join(sorted({*own_values, *entries})) or 'none'}")
    return entries[name]


@cache
def _read_pyproject_entry_points() -> Mapping[str, Mapping[str, str]]:
    """The entry points in the ``pyproject.toml`` next to the code, by group; empty if there is none.

    A checkout and an image use that file, since installed metadata may be older or missing. An installed wheel has no
    such file, and its metadata are right.
    """
    if not _PROJECT_FILE.is_file():
        return {}
    project = tomllib.loads(_PROJECT_FILE.read_text("utf-8"))["project"]
    return cast("Mapping[str, Mapping[str, str]]", project.get("entry-points", {}))
