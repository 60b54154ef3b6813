"""An image without an engine: a folder with what it copies, an environment with what it installs, its own command."""

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from cli.stack.plan import build_local_url
from shared.infra.process import make_parent_death_hook
from tests.deployment.compose import ComposeService
from tests.deployment.dockerfile import STACK, Image, copy_context
from tests.deployment.environments import python_with_only

LONGEST_START = 60.0
_LOOK_EVERY = 0.1
_ADDRESS = re.compile(r"\bhttp://([a-z]+):\d+")
_ENTRYPOINTS = {(): (), ("purple",): ("-c", "from cli.main import app; app()")}


@dataclass
class StandIn:
    """A started image. ``folder`` holds ``app`` (its file system), ``data`` (its volume) and ``log``."""

    image: Image
    folder: Path
    python: Path
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def answer(self, path: str) -> int:
        """The status of one request; 0 if nobody answers."""
        line = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", path)
            return line.getresponse().status
        except OSError:
            return 0
        finally:
            line.close()

    def await_answer(self, path: str) -> int:
        """The status as soon as it is 200, else the last one seen when time is over or the process has ended."""
        until = time.monotonic() + LONGEST_START
        status = self.answer(path)
        while status != 200 and time.monotonic() < until and self.process.poll() is None:
            time.sleep(_LOOK_EVERY)  # between two looks: a process in a container cannot tell us either
            status = self.answer(path)
        return status

    def check(self, command: tuple[str, ...]) -> int:
        """The exit code of a health check, run as the engine would run it inside the container."""
        environ = {**self.image.environ, "PORT": str(self.port)}
        return subprocess.run([self.python, *command[1:]], env=environ, timeout=60, check=False).returncode

    def stop(self, patience: float) -> int:
        """The exit code after SIGTERM. Raises ``TimeoutExpired`` if it does not end in time."""
        self.process.terminate()
        return self.process.wait(patience)


def prepare(image: Image, folder: Path) -> Path:
    """Fill the folder; the interpreter that has the image's packages."""
    copy_context(image, folder / "app")
    (folder / "data").mkdir()
    return python_with_only(image.lock)


@dataclass(frozen=True)
class Place:
    """Where an image is laid out: its folder and its interpreter; what it reaches: the Redis and others' ports."""

    folder: Path
    python: Path
    redis_url: str
    ports: Mapping[str, int]


def start(image: Image, service: ComposeService | None, place: Place) -> StandIn:
    """Run the image as the compose file does, with what cannot be reached from here replaced."""
    port = place.ports[image.name]
    command: list[str | Path] = [place.python, *_ENTRYPOINTS[image.entrypoint], *_command(image, place.folder, port)]
    with (place.folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=place.folder / "app",
            env=_environ(image, service, place) | {"HOST": "127.0.0.1", "PORT": str(port), "METRICS_PORT": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  a killed test run leaves nothing behind
        )
    return StandIn(image, place.folder, place.python, port, process)


def run_to_its_end(
    image: Image, service: ComposeService, place: Place, data: Path, seconds: float
) -> "subprocess.CompletedProcess[str]":
    """Run what the compose file has the image do once. ``data`` is the folder that is mounted as ``/data``."""
    words = [_within_reach(service.on_this_machine(word, data), place.ports) for word in service.command]
    return subprocess.run(
        [place.python, *_ENTRYPOINTS[image.entrypoint], *words],
        cwd=place.folder / "app",
        env=_environ(image, service, place),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def _command(image: Image, folder: Path, port: int) -> list[str]:
    if image.name != STACK:
        return list(image.command[1:])
    elsewhere = {"/data": str(folder / "data"), str(image.exposed): str(port)}
    return [elsewhere.get(word, word) for word in image.command]


def _environ(image: Image, service: ComposeService | None, place: Place) -> dict[str, str]:
    """The image's variables and the compose file's; files, volumes and addresses are where they are on this machine."""
    told = service.environment if service else {}
    reached = {name: _within_reach(value, place.ports) for name, value in told.items()}
    found = {name: service.on_this_machine(value, place.folder / "data") for name, value in reached.items() if service}
    redis = {"REDIS_URL": place.redis_url} if "REDIS_URL" in found else {}
    paths = {"PATH": f"{place.python.parent}:/usr/bin:/bin", "PYTHONPATH": str(place.folder / "app")}
    opened = {"ALLOW_OPEN": "yes"} if image.name == STACK else {}  # as its documented command says
    given = {**image.environ, **opened, **found, **redis, **paths}
    del given["PYTHONDONTWRITEBYTECODE"]  # a build compiles what it holds; here the first run does it for the others
    return given


def _within_reach(value: str, ports: Mapping[str, int]) -> str:
    return _ADDRESS.sub(lambda found: build_local_url(ports[found[1]]) if found[1] in ports else found[0], value)
