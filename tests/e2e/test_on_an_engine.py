"""Images and compose file for real, on machines with a container engine; elsewhere it is said what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis

from tests.engine.docker import missing
from tests.redis_server import durable_server

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


@pytest.mark.engine
@pytest.mark.skipif(bool(ABSENT), reason="; ".join(ABSENT))
def test_the_redis_of_the_tests_is_a_container_where_there_is_an_engine() -> None:
    with durable_server() as url:
        if not url.startswith("redis://"):
            pytest.skip("the engine has no image of Redis and cannot fetch one: the embedded server stood in")
        with redis.Redis.from_url(url) as client:
            assert client.config_get("appendfsync") == {"appendfsync": "always"}


@pytest.mark.skipif(not ABSENT, reason="there is an engine here")
def test_the_redis_of_the_tests_is_the_embedded_server_where_there_is_no_engine() -> None:
    """By the same fixture, and with the same promise: nothing acknowledged is lost."""
    with durable_server() as url, redis.Redis.from_url(url) as client:
        assert url.startswith("unix://")
        assert client.config_get("appendfsync") == {"appendfsync": "always"}


@pytest.mark.promise("deploy.tried_on_an_engine")
def test_a_part_that_does_not_exist_is_refused() -> None:
    assert _tried("image").returncode == 2


def _tried(*parts: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.engine", *parts]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=_SECONDS, check=False)
