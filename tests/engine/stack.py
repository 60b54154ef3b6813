"""The image of the whole stack and the compose file, started by an engine, used, and stopped."""

import http.client
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import run

from pydantic import BaseModel

from tests.deployment.compose import compose
from tests.deployment.dockerfile import ROOT
from tests.engine.docker import DockerFailed, docker

GATEWAY = 9010
QUESTION = "Which expense claims are pending? Answer with a JSON list of their ids."
OF_ONES_OWN = (
    *("--env", "ANTHROPIC_API_KEY=sk-ant-none", "--env", "GREEN_AGENT_MCP_URL=http://mcp-server:9009"),
    *("--env", "UNRULED_WRITES=approve"),
    *("--read-only", "--tmpfs", "/tmp"),
)
_PROJECT = "purple-agent-trial"
_FILE = str(ROOT / "docker-compose.yml")
_START_SECONDS = 180.0
_DEMO_SECONDS = 300.0
_STOP_SECONDS = 90.0
_LOOK_EVERY = 0.5


class Container(BaseModel):
    Name: str
    Service: str
    State: str
    ExitCode: int


@contextmanager
def whole_stack(*options: str) -> Iterator[str]:
    """The documented ``docker run`` with further options, ready; the container's id. It is gone afterwards."""
    published = ("--publish", f"127.0.0.1:{GATEWAY}:{GATEWAY}", "--env", "ALLOW_OPEN=yes")
    container = docker("run", "--detach", *published, *options, compose()["demo"].image)
    try:
        _await_ready(container.strip())
        yield container.strip()
    finally:
        docker("rm", "--force", "--volumes", container.strip())


def stopped(container: str) -> int:
    """Its exit code after SIGTERM."""
    docker("stop", "--time", "30", container, seconds=_STOP_SECONDS)
    return int(docker("inspect", "--format", "{{.State.ExitCode}}", container))


@contextmanager
def composed(*profiles: str) -> Iterator[None]:
    """``docker compose up``, each service healthy, without its demo. Everything of it is gone afterwards."""
    chosen = [word for profile in profiles for word in ("--profile", profile)]
    try:
        in_project(*chosen, "up", "--detach", "--no-build", "--wait", "--scale", "demo=0", seconds=_START_SECONDS)
        yield
    finally:
        in_project(*chosen, "down", "--volumes", "--timeout", "30", seconds=_STOP_SECONDS)


def carried_out_demo() -> str:
    """What the demo says, whose tasks all held. Raises ``DockerFailed`` if not."""
    return in_project("run", "--rm", "--no-TTY", "--no-deps", "demo", seconds=_DEMO_SECONDS)


def left_after_stop() -> list[Container]:
    """The containers after ``docker compose stop``."""
    in_project("stop", seconds=_STOP_SECONDS)
    return [Container.model_validate_json(line) for line in in_project("ps", "--all", "--format", "json").splitlines()]


def in_project(*arguments: str, seconds: float = 60.0) -> str:
    return docker("compose", "--file", _FILE, "--project-name", _PROJECT, *arguments, seconds=seconds)


def answered(text: str) -> str:
    """The answer that the gateway gives to a task, from outside the containers."""
    command = [sys.executable, "-m", "cli.main", "send", text, "--json", "--url", f"http://127.0.0.1:{GATEWAY}"]
    done = run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise DockerFailed(f"purple send: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return str(json.loads(done.stdout)["answer"])


def _await_ready(container: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while _status("/ready") != http.client.OK:
        if time.monotonic() > until or docker("inspect", "--format", "{{.State.Running}}", container).strip() != "true":
            raise DockerFailed(f"it did not become ready:\n{docker('logs', container, both=True)[-2000:]}")
        time.sleep(_LOOK_EVERY)  # a process in a container cannot tell us


def _status(path: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", GATEWAY, timeout=3)
    try:
        line.request("GET", path)
        return line.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        line.close()
