"""A Redis container for as long as somebody holds this process' stdin open: ``python -m tests.redis_container``.

It says the server's URL in its first line, or nothing if there is no engine or no image. It is a process of its own so
that the container goes even when the tests are killed, and so that the engine's client leaves nothing behind in them.
"""

import os
import sys

from docker.errors import DockerException
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

IMAGE = os.environ.get("REDIS_IMAGE") or "redis:7.4-alpine"
DURABLE = (
    'redis-server --save "" --appendonly yes --appendfsync always --maxmemory-policy noeviction'
    " --protected-mode no"  # not every image of Redis answers other machines by itself
)
PORT = 6379
START_SECONDS = 30


def main() -> int:
    testcontainers_config.ryuk_disabled = True  # this process stops it; no second image is needed for that
    try:
        return _hold(DockerContainer(IMAGE).with_command(DURABLE).with_exposed_ports(PORT))
    except (DockerException, RequestException, TimeoutError):
        return 1


def _hold(container: DockerContainer) -> int:
    ready = LogMessageWaitStrategy("Ready to accept connections").with_startup_timeout(START_SECONDS)
    try:
        container.waiting_for(ready).start()
        sys.stdout.write(f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(PORT)}/0\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        container.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
