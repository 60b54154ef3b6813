"""Optional parts of a service: settings name them, entry points find them, and only named ones are imported.

Each service has a group of entry points, ``purple_agent.SERVICE``, in ``pyproject.toml``; another distribution may add
parts to it. Settings check the names with ``check_parts``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from shared.infra.starting import CannotStart

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def check_parts(service: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names; raises ``ValueError`` for a name without an entry point. Imports no part."""
    for name in names:
        _find_entry(service, name)
    return names


def load_part(service: str, name: str) -> object:
    """What a part's entry point names, imported; raises ``CannotStart`` if a library that it needs is missing."""
    try:
        return _find_entry(service, name).load()
    except ModuleNotFoundError as error:
        raise CannotStart(f"The part {name!r} needs {error.name}, which is not installed.") from error


def _find_entry(service: str, name: str) -> EntryPoint:
    """The entry point of a part. Ours come first: to search all distributions takes tens of milliseconds."""
    group = f"purple_agent.{service}"
    own = _own_entries().get(group, {})
    if name in own:
        return EntryPoint(name, own[name], group)
    known = {entry.name: entry for entry in entry_points(group=group)}
    if name not in known:
        raise ValueError(f"there is no part {name!r}; there are {', '.join(sorted({*own, *known})) or 'none'}")
    return known[name]


@cache
def _own_entries() -> Mapping[str, Mapping[str, str]]:
    """The entry points in the project file beside the code, by group; empty if there is no such file.

    A checkout and an image run from their files: an editable installation's metadata may be older than they are, and an
    image has none. An installed wheel has no project file, and its metadata match its files.
    """
    if not _PROJECT.is_file():
        return {}
    project = tomllib.loads(_PROJECT.read_text("utf-8"))["project"]
    return cast("Mapping[str, Mapping[str, str]]", project.get("entry-points", {}))
