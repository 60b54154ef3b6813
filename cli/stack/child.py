"""The processes of a stack: forked with a log file each, awaited until ready, and stopped.

They come of a fork server that has imported their modules once: each new interpreter would spend one to three seconds
of CPU on imports. The fork server ends with this process.
"""

import asyncio
import multiprocessing
import os
import runpy
import signal
import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

import httpx
from setproctitle import setproctitle

from cli.console import CommandError
from cli.stack.plan import ProcessSpec
from shared.infra.process import make_parent_death_signal
from shared.infra.tls import load_client_tls_context

_FORK_CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED_MODULE = "cli.stack.preloaded"
# What an interpreter heeds at its start alone.
_INTERPRETER_VARIABLES = ("LD_PRELOAD", "PYTHONHASHSEED", "PYTHONPATH", "PYTHONWARNINGS")


def start_fork_server() -> None:
    """Start the fork server if it does not run yet; does not wait for its imports."""
    _FORK_CONTEXT.set_forkserver_preload([_PRELOADED_MODULE])
    forkserver.ensure_running()


def start_process(arguments: Sequence[str], environ: Mapping[str, str], log: Path) -> ForkServerProcess:
    """Run ``python -m`` with these arguments and environment in a new process and session, which Ctrl-C does not reach.

    Its output goes to ``log`` and its input is empty. It gets SIGTERM when this process ends for any reason.
    """
    start_fork_server()
    process = _FORK_CONTEXT.Process(target=_run_module, args=(tuple(arguments), dict(environ), str(log)), daemon=True)
    process.start()
    return process


def _run_module(arguments: tuple[str, ...], environ: Mapping[str, str], log: str) -> None:
    """Run the module in this forked process, or in a new interpreter if the fork server cannot serve it.

    That is so for modules that it has not imported, and for environments that change how Python starts.
    """
    _request_death_with_launcher()
    os.setsid()
    os.umask(0o077)  # books, logs and archived tasks are for their owner
    _redirect_output(log)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # one of them would keep the fork server, and so us, from ending
    package, *package_arguments = arguments
    preloaded = sys.modules.get(_PRELOADED_MODULE)
    imported_packages = cast("Collection[str]", preloaded.PACKAGES) if preloaded else ()
    starts_alike = all(os.environ.get(name) == environ.get(name) for name in _INTERPRETER_VARIABLES)
    if package not in imported_packages or not starts_alike:
        os.execve(sys.executable, [sys.executable, "-m", *arguments], environ)  # noqa: S606  our own modules
    setproctitle(f"python -m {' '.join(arguments)}")  # it finds the title's place by the environment as it was
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [package, *package_arguments]
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def _request_death_with_launcher() -> None:
    """Have the kernel end this process when the fork server ends, which it does when the launcher does."""
    make_parent_death_signal(signal.SIGTERM)()
    launcher = multiprocessing.parent_process()
    if launcher is None or not launcher.is_alive():  # it ended before the kernel was asked
        os._exit(1)


def _redirect_output(log: str) -> None:
    empty_input = os.open(os.devnull, os.O_RDONLY)
    log_output = os.open(log, os.O_WRONLY | os.O_APPEND)
    for source, target in ((empty_input, 0), (log_output, 1), (log_output, 2)):
        os.dup2(source, target)
    os.close(empty_input)
    os.close(log_output)


TERM_SECONDS = 10.0
LOG_TAIL_LINES = 15


class Child:
    """A running process of the stack."""

    def __init__(self, spec: ProcessSpec, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.restart()

    @classmethod
    def start(cls, spec: ProcessSpec, logs: Path) -> "Child":
        """Start the process of ``spec`` in its own session, so that Ctrl-C reaches the launcher alone.

        ``logs``: the folder of its log file.
        """
        return cls(spec, logs / f"{spec.name}.log")

    def restart(self) -> None:
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

    async def wait_for_one_child(child: Child) -> None:
        await _wait_for_child(client, child, seconds)
        awaited.pop(child.spec.name)
        tell(tuple(awaited))

    async with httpx.AsyncClient(timeout=PROBE_TIMEOUT, trust_env=False, verify=load_client_tls_context()) as client:
        try:
            async with asyncio.TaskGroup() as group:
                for child in children:
                    group.create_task(wait_for_one_child(child))
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
