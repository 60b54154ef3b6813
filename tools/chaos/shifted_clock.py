"""A wall clock that can be set wrong: ``python -m tools.chaos.shifted_clock FILE services.gateway ...``

The file holds by how many seconds the process's wall clock is wrong, and how often it was read since. Monotonic time is
as it was: no system ever sets that.
"""

import mmap
import runpy
import struct
import sys
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

from typing_extensions import override

_FIELDS = struct.Struct("dq")


class ClockFile:
    """One process's error, shared with whoever sets it."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            file.write_bytes(_FIELDS.pack(0.0, 0))
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), _FIELDS.size)

    def set_wrong(self, seconds: float) -> None:
        self._memory[:] = _FIELDS.pack(seconds, 0)

    @property
    def reads(self) -> int:
        """How often the time was read since it was set wrong."""
        return int(_FIELDS.unpack(self._memory[:])[1])

    def read(self) -> float:
        """By how many seconds the clock is wrong."""
        seconds, reads = _FIELDS.unpack(self._memory[:])
        if seconds:
            self._memory[:] = _FIELDS.pack(seconds, reads + 1)
        return float(seconds)


def _shift(clock: ClockFile) -> None:
    """Every reading of the wall clock in this process is wrong by what the file says, from now on."""
    true, true_ns = time.time, time.time_ns
    time.time = lambda: true() + clock.read()
    time.time_ns = lambda: true_ns() + int(clock.read() * 1_000_000_000)

    class AnyDatetime(type):
        """Whatever is made is a plain one: nobody downstream sees another type."""

        @override
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _TRUE)

        @override
        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, _TRUE)

    class ShiftedDatetime(_TRUE, metaclass=AnyDatetime):
        @override
        def __new__(cls, *words: int, **named: int) -> datetime:  # type: ignore[misc]  # a plain one
            return _TRUE(*words, **named)  # type: ignore[arg-type]  # as given

        @classmethod
        @override
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # a plain one
            return _TRUE.now(tz) + timedelta(seconds=clock.read())

        @classmethod
        @override
        def utcnow(cls) -> datetime:  # type: ignore[override]  # a plain one
            return _TRUE.utcnow() + timedelta(seconds=clock.read())  # for libraries that ask so

    sys.modules["datetime"].datetime = ShiftedDatetime  # type: ignore[attr-defined]  # before anybody imports it by name


_TRUE = datetime

if __name__ == "__main__":
    _, _file, _service, *_rest = sys.argv
    _shift(ClockFile(Path(_file)))
    sys.argv = [_service, *_rest]
    runpy.run_module(_service, run_name="__main__", alter_sys=True)
