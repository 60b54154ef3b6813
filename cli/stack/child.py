"""One child process of a stack: started with a log file, awaited until ready, and stopped."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from cli.console import CommandError
from cli.stack.fork_server import start_process
from cli.stack.plan import ProcessSpec
from shared.infra.tls import client_tls_context

TERM_SECONDS = 10.0
LOG_TAIL_LINES = 15


class Child:
    """A running process of the stack."""

    def __init__(self, spec: ProcessSpec, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.start_again()

    @classmethod
    def start(cls, spec: ProcessSpec, logs: Path) -> "Child":
        """Start the process of ``spec`` in its own session, so that Ctrl-C reaches the launcher alone.

        ``logs``: the folder of its log file.
        """
        return cls(spec, logs / f"{spec.name}.log")

    def start_again(self) -> None:
        """Start the process again after it has ended, with the same address, environment and log."""
        self.log.touch(mode=0o600)
        self._log_began = self.log.stat().st_size  # where the output of this process begins
        self._process = start_process(self.spec.arguments, self.spec.environ, self.log)

    @property
    def pid(self) -> int:
        return int(self._process.pid or 0)

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs, and negative for the signal that ended it."""
        return self._process.exitcode

    def read_last_lines(self) -> str:
        """The last lines that the present process, not an earlier one, has written to the log."""
        with self.log.open(encoding="utf-8", errors="replace") as lines:
            lines.seek(self._log_began)
            return "".join(deque(lines, maxlen=LOG_TAIL_LINES)).rstrip()

    async def wait(self) -> None:
        """Wait until the process has ended."""
        has_ended, loop = asyncio.Event(), asyncio.get_running_loop()
        sentinel = os.dup(self._process.sentinel)  # several may wait for the same process
        loop.add_reader(sentinel, has_ended.set)
        try:
            await has_ended.wait()
        finally:
            loop.remove_reader(sentinel)
            os.close(sentinel)

    async def stop(self, patience: float = TERM_SECONDS) -> None:
        """Send SIGTERM, and SIGKILL if the process still runs after ``patience`` seconds."""
        if self.exit_code is not None:
            return
        self._process.terminate()
        try:
            await asyncio.wait_for(self.wait(), patience)
        except TimeoutError:
            self._process.kill()
            await self.wait()


ReportProgress = Callable[[Sequence[str]], None]

PROBE_PAUSE_SECONDS = 0.05
PROBE_TIMEOUT = 2.0
_MOST_ANSWER_CHARACTERS = 1_000  # of what a child that is not ready says of itself


def ignore_progress(_: Sequence[str]) -> None:
    """A progress callback that does nothing."""


async def wait_until_ready(children: tuple[Child, ...], seconds: float, tell: ReportProgress = ignore_progress) -> None:
    """Wait until all children are ready; raises ``CommandError`` once one has ended or was not ready in ``seconds``.

    Whenever a child becomes ready, ``tell`` is called with the names of those that are not.
    """
    awaited = {child.spec.name: None for child in children}
    problem: BaseException | None = None

    async def wait(child: Child) -> None:
        await _wait_for_child(client, child, seconds)
        awaited.pop(child.spec.name)
        tell(tuple(awaited))

    async with httpx.AsyncClient(timeout=PROBE_TIMEOUT, trust_env=False, verify=client_tls_context()) as client:
        try:
            async with asyncio.TaskGroup() as group:
                for child in children:
                    group.create_task(wait(child))
        except* CommandError as problems:
            problem = problems.exceptions[0]
    if problem is not None:
        raise problem


async def _wait_for_child(client: httpx.AsyncClient, child: Child, seconds: float) -> None:
    last_answer = "it never answered"
    try:
        async with asyncio.timeout(seconds):
            while child.exit_code is None:
                ready, last_answer = await _probe_readiness(client, child)
                if ready:
                    return
                await asyncio.sleep(PROBE_PAUSE_SECONDS)
            sentence = f"{child.spec.name} ended with exit code {child.exit_code}."
    except TimeoutError:
        sentence = f"{child.spec.name} was not ready within {seconds:.0f} seconds: {last_answer}."
    raise CommandError(sentence, f"{child.log}:\n{child.read_last_lines()}")


async def _probe_readiness(client: httpx.AsyncClient, child: Child) -> tuple[bool, str]:
    try:
        answer = await client.get(f"{child.spec.url}{child.spec.ready_path}")
    except httpx.TransportError as error:
        return False, f"no connection ({type(error).__name__})"
    return answer.is_success, f"it answered {answer.status_code} {answer.text[:_MOST_ANSWER_CHARACTERS]}"
