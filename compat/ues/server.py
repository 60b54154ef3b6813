"""A server process of one's own."""

import os
import secrets
import socket
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

import httpx

_POLL_SECONDS = 0.2
_STOP_SECONDS = 10.0


class ServerFailed(Exception):
    """The server ended, or did not answer in time."""


class ServerManager:
    """``with ServerManager() as server: UESClient(server.base_url, api_key=server.admin_key)``.

    Without a port it takes a free one. The admin's key goes to the process by its environment.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, admin_key: str | None = None, startup_timeout: float = 30.0
    ) -> None:
        self.host = host
        self.port = port
        self.admin_key = admin_key or secrets.token_hex(32)
        self._startup_timeout = startup_timeout
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def is_healthy(self) -> bool:
        """Whether it lives and answers."""
        try:
            return self.is_running and httpx.get(f"{self.base_url}/health", timeout=2.0, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def start(self) -> None:
        """Returns when it answers. Raises ``ServerFailed``."""
        if self.is_running:
            return
        self.port = self.port or _free_port(self.host)
        command = (sys.executable, "-m", "ues.cli", "server", "--host", self.host, "--port", str(self.port))
        self._process = subprocess.Popen(  # noqa: S603  our own interpreter
            command,
            env={**os.environ, "UES_ADMIN_KEY": self.admin_key},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        until = time.monotonic() + self._startup_timeout
        while not self.is_healthy():
            if not self.is_running or time.monotonic() > until:
                self.stop()
                raise ServerFailed(f"the server at {self.base_url} did not answer")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Harmless if nothing runs."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
