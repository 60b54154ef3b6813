"""Optional parts of a service: settings name them, entry points find them, and only named ones are imported.

Each service has a group of entry points, ``purple_agent.SERVICE``, in ``pyproject.toml``; another distribution may add
parts to it. Settings check the names with ``PartGroup.check``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Generic, TypeVar, cast

from shared.infra.starting import CannotStart

P = TypeVar("P")
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


class PartGroup(Generic[P]):
    """The optional parts of one service. ``P`` is what their entry points name, such as functions that build them."""

    def __init__(self, service: str) -> None:
        self.name = f"purple_agent.{service}"

    def check(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The same names; raises ``ValueError`` for a name without an entry point. Imports no part."""
        for name in names:
            self._find_entry(name)
        return names

    def load(self, name: str) -> P:
        """Import a part; raises ``CannotStart`` if a library that it needs is not installed."""
        try:
            return cast(P, self._find_entry(name).load())
        except ModuleNotFoundError as error:
            raise CannotStart(f"The part {name!r} needs {error.name}, which is not installed.") from error

    def _find_entry(self, name: str) -> EntryPoint:
        """The entry point of a part. Ours come first: to search all distributions takes tens of milliseconds."""
        own = _own_entries().get(self.name, {})
        if name in own:
            return EntryPoint(name, own[name], self.name)
        known = {entry.name: entry for entry in entry_points(group=self.name)}
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
