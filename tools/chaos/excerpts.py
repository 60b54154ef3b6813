"""The lines of a run's logs that name a task: what somebody reads who looks for the cause of a finding."""

from collections.abc import Iterator
from pathlib import Path

_MOST = 15
_LONGEST = 300


def excerpt(logs: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """At most some lines of each log that hold one of the names, oldest first within a log."""
    return tuple(line for log in sorted(logs.glob("*.log")) for line in _lines(log, names))


def _lines(log: Path, names: tuple[str, ...]) -> Iterator[str]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        found = [line.rstrip()[:_LONGEST] for line in lines if any(name in line for name in names)]
    return (f"{log.name}: {line}" for line in found[-_MOST:])
