"""A simulator in a process of its own, asked over HTTP, and what it uses."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import perf_counter, sleep
from typing import cast

from services.simulator.core.records import JsonObject

_PATIENCE = 60.0
_SECRET = "bench" * 8
_TICKS = os.sysconf("SC_CLK_TCK")


class BenchFailed(Exception):
    """The simulator did not come up, or did not answer as it should; the message says what happened."""


class BenchSimulator:
    """``start_seconds`` from the start of the process to its first answer."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self._process = process
        self._line = HTTPConnection("127.0.0.1", port, timeout=60)
        begun = perf_counter()
        while not self._is_answering():
            if process.poll() is not None or perf_counter() - begun > _PATIENCE:
                raise BenchFailed("the simulator did not come up")
            sleep(0.01)
        self.start_seconds = perf_counter() - begun

    def ask(self, method: str, path: str, body: object = None) -> JsonObject:
        """The simulator's answer, a JSON object; raises ``BenchFailed`` for anything but a success."""
        return cast(JsonObject, json.loads(self.ask_raw(method, path, body)))

    def ask_raw(self, method: str, path: str, body: object = None) -> bytes:
        """The bytes of the simulator's answer; raises ``BenchFailed`` for anything but a success."""
        headers = {"X-API-Key": _SECRET, "Content-Type": "application/json"}
        self._line.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self._line.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise BenchFailed(f"{method} {path}: {answer.status} {content[:200].decode(errors='replace')}")
        return content

    @property
    def cpu_seconds(self) -> float:
        """What the process has used up to now, in steps of the kernel's tick."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def memory_mb(self) -> float:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def _is_answering(self) -> bool:
        try:
            self.ask_raw("GET", "/health")
        except (OSError, HTTPException):
            self._line.close()
            return False
        return True


@contextmanager
def simulator() -> Iterator[BenchSimulator]:
    """One that runs to the end of the context. Raises ``BenchFailed``."""
    if not Path("/proc/self/stat").exists():
        raise BenchFailed("CPU time of another process is read from /proc, which is not there")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "services.simulator", "--host", "127.0.0.1", "--port", str(port)]
    given = {**os.environ, "UES_ADMIN_KEY": _SECRET, "AUTHENTICATION": "keys"}
    with subprocess.Popen(command, env=given, stdout=subprocess.DEVNULL) as process:  # noqa: S603  our own module
        try:
            yield BenchSimulator(process, port)
        finally:
            process.terminate()
