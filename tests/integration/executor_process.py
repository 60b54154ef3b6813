"""A separate executor process for tests: real queue and runner, turns of the bench's kind."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from shared.infra.process import dies_with_parent

STOP_SECONDS = 10.0


@contextmanager
def executor_process(redis_url: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.bench.executor.no_work"],
        env={**os.environ, "REDIS_URL": redis_url, "PORT": "0", "GRACE_SECONDS": "0", **settings},
        preexec_fn=dies_with_parent(),  # noqa: PLW1509  # no other thread runs in the tests
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(STOP_SECONDS)
