"""An image without an engine: a folder with what it copies, an environment with what it installs, its own command."""

import subprocess
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from cli.stack.free_ports import free_ports
from shared.infra.process import dies_with_parent
from tests.deployment.compose import ComposeService
from tests.deployment.dockerfile import STACK, Image, copy_context
from tests.deployment.environments import python_with_only

LONGEST_START = 60.0
_LOOK_EVERY = 0.1
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
        return subprocess.run([self.python, *command[1:]], env=environ, timeout=10, check=False).returncode

    def stop(self, patience: float) -> int:
        """The exit code after SIGTERM. Raises ``TimeoutExpired`` if it does not end in time."""
        self.process.terminate()
        return self.process.wait(patience)


def prepare(image: Image, folder: Path) -> Path:
    """Fill the folder; the interpreter that has the image's packages."""
    copy_context(image, folder / "app")
    (folder / "data").mkdir()
    return python_with_only(image.lock)


def start(image: Image, service: ComposeService | None, folder: Path, python: Path, redis_url: str) -> StandIn:
    """Run the image as the compose file does, with what cannot be reached from here replaced."""
    (port,) = free_ports(1)
    environ = {**image.environ, **_environ(service, folder, redis_url)}
    environ |= {"PATH": f"{python.parent}:/usr/bin:/bin", "PYTHONPATH": str(folder / "app")}
    environ |= {"HOST": "127.0.0.1", "PORT": str(port)}
    del environ[
        "PYTHONDONTWRITEBYTECODE"
    ]  # a build compiles what it installs; here the first run does it for the others
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [python, *_ENTRYPOINTS[image.entrypoint], *_command(image, folder, port)],
            cwd=folder / "app",
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=dies_with_parent(),  # noqa: PLW1509  a killed test run leaves nothing behind
        )
    return StandIn(image, folder, python, port, process)


def _command(image: Image, folder: Path, port: int) -> list[str]:
    if image.name != STACK:
        return list(image.command[1:])
    elsewhere = {"/data": str(folder / "data"), str(image.exposed): str(port)}
    return [elsewhere.get(word, word) for word in image.command]


def _environ(service: ComposeService | None, folder: Path, redis_url: str) -> dict[str, str]:
    """The compose file's variables; mounted files and the volume are where they are on this machine."""
    if service is None:
        return {}
    found = {name: service.on_this_machine(value, folder / "data") for name, value in service.environment.items()}
    return found | ({"REDIS_URL": redis_url} if "REDIS_URL" in found else {})
