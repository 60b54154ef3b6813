"""One child process: started with its log file, asked to stop, made to stop."""

import asyncio
import os
from collections import deque
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from cli.stack.forked import start_process
from cli.stack.plan import ProcessSpec

TERM_SECONDS = 10.0
LOG_TAIL = 15


class Child:
    """A running process of the stack."""

    def __init__(self, spec: ProcessSpec, process: ForkServerProcess, log: Path) -> None:
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
        return int(self._process.pid or 0)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative number of a signal that ended it."""
        return self._process.exitcode

    def last_lines(self, count: int = LOG_TAIL) -> str:
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            return "".join(deque(lines, maxlen=count)).rstrip()

    async def wait(self) -> None:
        """Returns when it has ended."""
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        sentinel = os.dup(self._process.sentinel)  # several may wait for the same process
        loop.add_reader(sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(sentinel)
            os.close(sentinel)

    async def stop(self, patience: float = TERM_SECONDS) -> None:
        """SIGTERM, and SIGKILL for what is still there after ``patience`` seconds."""
        if self.exit_code is not None:
            return
        self._process.terminate()
        try:
            await asyncio.wait_for(self.wait(), patience)
        except TimeoutError:
            self._process.kill()
            await self.wait()


def _spawn(spec: ProcessSpec, log: Path) -> ForkServerProcess:
    log.touch(mode=0o600)
    return start_process(spec.arguments, spec.environ, log)
