"""A simulator of one's own: a process that is started, watched and never left behind."""

import asyncio
import os
import secrets
import socket
import sys
from collections import deque

import httpx

from shared.infra.process import make_parent_death_hook
from shared.infra.tls import load_client_tls_context
from shared.ports.simulator import SimulatorFailed

_POLL_SECONDS = 0.1
_STOP_SECONDS = 5.0
_OUTPUT_LINES_KEPT = 20
_ATTEMPTS = 2
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "SYSTEMROOT")


class _ProcessEnded(SimulatorFailed):
    """The process was over before it answered."""


class UESServerManager:
    """A simulator process. ``port`` 0 takes a free one, and so does a port that somebody else has.

    ``health_timeout``: in seconds. ``public_host``: under which others reach it, if not ``host``. The admin's key is
    made here and goes to the process by its environment alone.
    """

    def __init__(
        self, port: int = 0, host: str = "127.0.0.1", health_timeout: float = 30.0, public_host: str = ""
    ) -> None:
        self.admin_key = secrets.token_hex(32)
        self._wanted_port = port
        self._host = host
        self._public_host = public_host
        self._health_timeout = health_timeout
        self._process: asyncio.subprocess.Process | None = None
        self._output_reader: asyncio.Task[None] | None = None
        self._output_lines: deque[str] = deque(maxlen=_OUTPUT_LINES_KEPT)
        self.port = port

    @property
    def base_url(self) -> str:
        return f"http://{_reachable_host(self._host)}:{self.port}"

    @property
    def public_url(self) -> str:
        return f"http://{self._public_host}:{self.port}" if self._public_host else self.base_url

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Returns when it answers; raises ``SimulatorFailed`` with what it said if it does not in time."""
        if self.running:
            return
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                await self._start_process(free_port(self._host, self._wanted_port))
                return
            except _ProcessEnded:
                if not attempts_left:  # else somebody else may have taken the port just then
                    raise

    async def _start_process(self, port: int) -> None:
        self.port = port
        command = (sys.executable, "-m", "services.simulator", "--host", self._host, "--port", str(port))
        passed_variables = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        self._process = await asyncio.create_subprocess_exec(
            *command,
            env={**passed_variables, "UES_ADMIN_KEY": self.admin_key},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            preexec_fn=make_parent_death_hook(),
        )
        self._output_reader = asyncio.create_task(
            self._drain_output(self._process)
        )  # ends with the process, awaited in stop
        try:
            await self._wait_until_healthy(self._process)
        except BaseException:
            await self.stop()
            raise

    async def has_ended_within(self, seconds: float) -> bool:
        """Whether the process is over by then."""
        if self._process is None:
            return True
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def check_health(self) -> bool:
        """Whether the process lives and answers."""
        if not self.running:
            return False
        async with _open_client() as http:
            return await _is_answering(http, f"{_reachable_host(self._host)}:{self.port}")

    async def stop(self) -> None:
        """Stops the process, if one runs: by a signal, and by force if it does not end in time."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._output_reader is not None:
            await self._output_reader
            self._output_reader = None

    async def _wait_until_healthy(self, process: asyncio.subprocess.Process) -> None:
        try:
            async with asyncio.timeout(self._health_timeout), _open_client() as http:
                while not await _accepts_key(http, f"{_reachable_host(self._host)}:{self.port}", self.admin_key):
                    if process.returncode is not None:
                        raise _ProcessEnded(f"the simulator ended with {process.returncode}: {self._last_output()}")
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            within = f"{self._health_timeout:g} seconds"
            raise SimulatorFailed(f"the simulator did not answer within {within}: {self._last_output()}") from error

    async def _drain_output(self, process: asyncio.subprocess.Process) -> None:
        """Reads the process's output, so that a full pipe never stops it; keeps only the last lines."""
        if process.stdout is None:
            return
        while chunk := await process.stdout.read(65_536):
            self._output_lines.extend(chunk.decode(errors="replace").splitlines())

    def _last_output(self) -> str:
        return " | ".join(self._output_lines)[-1000:] or "it said nothing"


def free_port(host: str, wanted_port: int = 0) -> int:
    """``wanted_port`` if it is free on the host, else any free port; raises ``SimulatorFailed`` if there is none."""
    for port in (wanted_port, 0):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise SimulatorFailed(f"no port is free on {host}")


def _open_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=2.0, trust_env=False, verify=load_client_tls_context())


async def _is_answering(http: httpx.AsyncClient, address: str) -> bool:
    try:
        return (await http.get(f"http://{address}/health")).is_success
    except httpx.HTTPError:
        return False


def _reachable_host(host: str) -> str:
    """The host as this machine reaches it: loopback for a process that listens on all addresses."""
    return "127.0.0.1" if host == "0.0.0.0" else _format_host(host)  # noqa: S104  compared, not bound


async def _accepts_key(http: httpx.AsyncClient, address: str, key: str) -> bool:
    """Whether it answers to our key: another's simulator may have taken the port while ours was starting."""
    try:
        return (await http.get(f"http://{address}/simulator/time", headers={"X-API-Key": key})).is_success
    except httpx.HTTPError:
        return False


def _format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
