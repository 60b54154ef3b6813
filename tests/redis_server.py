"""The Redis that tests run on: a container where Docker is at hand, else the embedded server."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.waiting_utils import wait_for_logs

from shared.infra.embedded_redis import EmbeddedRedis

IMAGE = "redis:7.4-alpine"
DURABLE = 'redis-server --save "" --appendonly yes --appendfsync always --maxmemory-policy noeviction'
PORT = 6379
ASK_SECONDS = 2
START_SECONDS = 30


@contextmanager
def durable_server() -> Iterator[str]:
    """The URL of a server that forgets nothing, for as long as the context is open."""
    container = _container() if docker_answers() else None
    if container is None:
        # A socket's name is limited to about 100 bytes, so its folder must have a short one.
        with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
            yield server.url
        return
    try:
        yield f"redis://{container.get_container_host_ip()}:{container.get_exposed_port(PORT)}/0"
    finally:
        container.stop()


def docker_answers() -> bool:
    """Whether there is an engine that answers at once."""
    try:
        client = docker.from_env(timeout=ASK_SECONDS)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except (DockerException, RequestException):
        return False


def _container() -> DockerContainer | None:
    """A started container; None where the image cannot be had, as on a machine without a network."""
    testcontainers_config.ryuk_disabled = True  # the context stops it; no second image is needed for that
    container = DockerContainer(IMAGE).with_command(DURABLE).with_exposed_ports(PORT)
    try:
        container.start()
        wait_for_logs(container, "Ready to accept connections", timeout=START_SECONDS)
    except (DockerException, RequestException):
        return None
    except TimeoutError:
        container.stop()
        return None
    return container
