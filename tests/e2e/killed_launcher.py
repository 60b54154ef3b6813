"""A launcher that starts a Redis and a sleeper, says their process ids, and then waits to be killed."""

import os
import signal
import sys
from pathlib import Path

from cli.stack.child import Child
from cli.stack.plan import ProcessSpec, url_of
from shared.infra.embedded_redis import EmbeddedRedis

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    redis = EmbeddedRedis(folder / "redis")
    redis.start()
    sleeper = ProcessSpec("sleeper", ("tests.e2e.sleeper",), url_of(1), 1, environ=dict(os.environ))
    child = Child.start(sleeper, folder)
    sys.stdout.write(f"{redis.pid} {child.pid}\n")
    sys.stdout.flush()
    signal.pause()
