"""What the lock files name."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)

_UNMARKED = re.compile(rf"{_PINNED.pattern}\s*(?:\\\\)?$", re.MULTILINE)


class Package(NamedTuple):
    """A name as indexes compare it (lower case, hyphens) and its version."""

    name: str
    version: str


def locked(lock: Path) -> frozenset[Package]:
    """Every package of the file, whatever system it is for."""
    return frozenset(Package(canonical(name), version) for name, version in _PINNED.findall(lock.read_text()))


def on_every_system(lock: Path) -> frozenset[Package]:
    """Those of the file that no marker keeps from some systems or versions of Python."""
    return frozenset(Package(canonical(name), version) for name, version in _UNMARKED.findall(lock.read_text()))


def all_locked(locks: Iterable[Path]) -> tuple[Package, ...]:
    return tuple(sorted(frozenset().union(*map(locked, locks))))


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
