"""A learner that lacks something says what, in one sentence, and does not start."""

import os
import subprocess
import sys

import pytest


def _start(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    command = [sys.executable, "-m", "services.learner"]
    return subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.promise("learner.refuses_to_start")
@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        pytest.param({}, "REDIS_URL is not set", id="nothing"),
        pytest.param({"REDIS_URL": ""}, "REDIS_URL cannot be used", id="an empty URL"),
        pytest.param({"REDIS_URL": "unix:///nowhere.sock"}, "REDIS_URL cannot be used", id="nobody there"),
        pytest.param({"REDIS_URL": "unix:///nowhere.sock", "PORT": "many"}, "PORT cannot be used", id="a port"),
        pytest.param(
            {"REDIS_URL": "unix:///nowhere.sock", "LEASE_SECONDS": "0"}, "LEASE_SECONDS cannot be used", id="a lease"
        ),
    ],
)
def test_it_names_what_it_lacks_and_exits_with_2(environment: dict[str, str], sentence: str) -> None:
    ended = _start(environment)
    assert ended.returncode == 2
    assert ended.stderr.startswith(sentence)
    assert ended.stderr.count("\n") == 1
