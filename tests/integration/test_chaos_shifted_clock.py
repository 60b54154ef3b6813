"""A process of a chaos run can be given a wrong wall clock while it runs."""

import os
import subprocess
import sys
from pathlib import Path

from tools.chaos.shifted_clock import ClockFile

_SAYS = """
import datetime, time
from datetime import UTC, datetime as named
print(time.time() - time.clock_gettime(time.CLOCK_REALTIME), isinstance(named.now(UTC), named), type(named.now(UTC)))
print((named.now(UTC) - datetime.datetime.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME), UTC)).total_seconds())
"""


def _run(folder: Path, file: Path) -> list[str]:
    (folder / "says_time.py").write_text(_SAYS)
    root = Path(__file__).resolve().parents[2]
    told = {**os.environ, "PYTHONPATH": f"{root}:{folder}"}
    words = [sys.executable, "-m", "tools.chaos.shifted_clock", str(file), "says_time"]
    return subprocess.run(words, env=told, capture_output=True, text=True, check=True).stdout.splitlines()


def test_every_reading_of_the_wall_clock_is_wrong_by_what_the_file_says(tmp_path: Path) -> None:
    clock = ClockFile(tmp_path / "clock")
    clock.set_wrong(600.0)
    first, second = _run(tmp_path, tmp_path / "clock")
    wrong, is_plain, kind = first.split(maxsplit=2)
    assert abs(float(wrong) - 600) < 60
    assert (is_plain, kind) == ("True", "<class 'datetime.datetime'>")
    assert abs(float(second) - 600) < 60
    assert clock.reads > 0


def test_a_clock_that_is_not_set_wrong_is_right(tmp_path: Path) -> None:
    ClockFile(tmp_path / "clock")
    assert abs(float(_run(tmp_path, tmp_path / "clock")[1])) < 60
