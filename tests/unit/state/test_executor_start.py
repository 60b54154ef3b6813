"""An executor that lacks something says what, in one sentence, and does not start."""

import os
import subprocess
import sys

import pytest

NEEDED = {
    "REDIS_URL": "unix:///nowhere.sock",
    "POLICY_URL": "http://x",
    "TENANT_FILE": "t.json",
    "ANTHROPIC_API_KEY": "k",
}
LACKING = [(name, f"{name} is not set") for name in NEEDED] + [("", "PORT cannot be used")]


def _start(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    command = [sys.executable, "-m", "services.executor"]
    return subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.promise("state.refuses_to_start")
@pytest.mark.parametrize(("lacking", "sentence"), LACKING)
def test_it_names_what_it_lacks_and_exits_with_2(lacking: str, sentence: str) -> None:
    environment = {name: value for name, value in NEEDED.items() if name != lacking}
    ended = _start(environment if lacking else {**environment, "PORT": "many"})
    assert ended.returncode == 2
    assert ended.stderr.startswith(sentence)
    assert ended.stderr.count("\n") == 1


@pytest.mark.promise("state.refuses_to_start")
@pytest.mark.parametrize("url", ["nowhere", "redis://:s3cret/pass@host:6379/0", "http://:s3cret@host"])
def test_an_address_of_redis_that_is_none_is_named_and_not_shown(url: str) -> None:
    ended = _start({**NEEDED, "REDIS_URL": url})
    assert ended.returncode == 2
    assert ended.stderr.startswith("REDIS_URL cannot be used: it must be like redis://")
    assert ended.stderr.count("\n") == 1
    assert "s3cret" not in ended.stderr
