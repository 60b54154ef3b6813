"""One child process: started with its log file, asked to stop, made to stop."""

import asyncio
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

from cli.stack.plan import ProcessSpec
from shared.infra.process import dies_with_parent

TERM_SECONDS = 10.0
LOG_TAIL = 15


class Child:
    """A running process of the stack. Start it in the main thread: it dies with the thread that started it."""

    def __init__(self, spec: ProcessSpec, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.spec = spec
        self.log = log
        self._process = process

    @classmethod
    def start(cls, spec: ProcessSpec, logs: Path) -> "Child":
        """In a session of its own, so that Ctrl-C in the terminal reaches the launcher alone, which stops in order."""
        log = logs / f"{spec.name}.log"
        return cls(spec, _spawn(spec, log), log)

    def start_again(self) -> None:
        """Another process in the place of one that ended: the same address, environment and log."""
        self._process = _spawn(self.spec, self.log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def last_lines(self, count: int = LOG_TAIL) -> str:
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return "".join(deque(lines, maxlen=count)).rstrip()

    async def stop(self, patience: float = TERM_SECONDS) -> None:
        """SIGTERM, and SIGKILL for what is still there after ``patience`` seconds."""
        if self.exit_code is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            await asyncio.to_thread(self._process.wait, patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


def _spawn(spec: ProcessSpec, log: Path) -> "subprocess.Popen[bytes]":
    log.touch(mode=0o600)
    with log.open("ab") as sink:
        return subprocess.Popen(  # noqa: S603  our own modules, run by our own interpreter
            [sys.executable, "-m", *spec.arguments],
            env=dict(spec.environ),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,  # books, logs and archived tasks are for their owner
            preexec_fn=dies_with_parent(),  # noqa: PLW1509  the only way to be told of a parent's kill -9
        )
