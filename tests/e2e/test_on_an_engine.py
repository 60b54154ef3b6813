"""Images and compose file for real, on machines with a container engine; elsewhere it is said what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.docker import missing

_SECONDS = 3600  # nine images are built
ABSENT = missing()


@pytest.mark.promise("deploy.tried_on_an_engine")
@pytest.mark.skipif(not ABSENT, reason="there is an engine here: the tests below use it")
def test_without_an_engine_it_is_said_what_is_missing_and_nothing_fails() -> None:
    done = _tried()

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Skipped, nothing was tried: {'; '.join(ABSENT)}.\n"


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.timeout(_SECONDS)
@pytest.mark.promise("deploy.tried_on_an_engine")
@pytest.mark.skipif(bool(ABSENT), reason="; ".join(ABSENT))
@pytest.mark.parametrize("part", ["images", "run", "compose"])
def test_images_are_built_started_used_and_stopped(part: str) -> None:
    """Nothing amiss inside them, the same layers twice; the two documented commands; the demo on the compose file."""
    done = _tried(part)

    assert done.returncode == 0, done.stdout + done.stderr


def _tried(*parts: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.engine", *parts]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=_SECONDS, check=False)
