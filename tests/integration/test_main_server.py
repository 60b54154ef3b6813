"""A server that is told to stop before it serves."""

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("manner", ["plain", "linger"])
def test_a_signal_that_comes_before_it_serves_is_heeded(number: signal.Signals, manner: str) -> None:
    """Else a process that is started while its launcher dies would stay for ever.

    In a process of its own: what a library notes about a signal stays for all servers of the process.
    """
    command = [sys.executable, "-m", "tests.integration.stopped_early", str(int(number)), manner]
    assert subprocess.run(command, timeout=30, check=False).returncode == 0
