"""A launcher that starts a Redis, a sleeper in an interpreter of its own and a company that is forked.

It says their process ids once the company is ready, and then waits to be killed.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import ProcessSpec, build_local_url, find_free_ports
from shared.infra.embedded_redis import EmbeddedRedis

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    redis = EmbeddedRedis(folder / "redis")
    redis.start()
    sleeper = ProcessSpec("sleeper", ("tests.e2e.sleeper",), build_local_url(1), 1, environ=dict(os.environ))
    asleep = Child.start(sleeper, folder)
    (port,) = find_free_ports(1)
    environ = {**os.environ, "PORT": str(port), "DATABASE": str(folder / "books.sqlite3")}
    forked = Child.start(
        ProcessSpec("company", ("examples.company",), build_local_url(port), 1, "/health", environ), folder
    )
    asyncio.run(wait_until_ready((forked,), 60.0))
    sys.stdout.write(f"{redis.pid} {asleep.pid} {forked.pid}\n")
    sys.stdout.flush()
    signal.pause()
