"""A service in a process of its own, forked as the launcher forks its children: its imports are paid for once a run."""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess

from cli.stack.child import start_fork_server
from shared.infra.process import make_parent_death_signal

_STOP_SECONDS = 30.0
_CONTEXT = multiprocessing.get_context("forkserver")


class ForkedService:
    """What ``python -m`` would have started."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return int(self._process.pid or 0)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the negative number of a signal that ended it."""
        return self._process.exitcode

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Returns when it has ended."""
        self._process.kill()
        self.wait(_STOP_SECONDS)

    def wait(self, seconds: float) -> int:
        """Its exit code, when it has ended; raises ``TimeoutError``."""
        self._process.join(seconds)
        if self.exit_code is None:
            raise TimeoutError(f"{self._process.name} did not end within {seconds} seconds")
        return self.exit_code


@contextmanager
def forked_service(module: str, *arguments: str, **settings: str) -> Iterator[ForkedService]:
    """With these settings beside the environment of the tests; killed in the end, if it still runs."""
    with forked_process(module, arguments, {**os.environ, **settings}) as service:
        yield service


@contextmanager
def forked_process(
    module: str, arguments: tuple[str, ...], environ: Mapping[str, str], errors: str = ""
) -> Iterator[ForkedService]:
    """In that environment alone; what it says on its standard error goes to the file ``errors``, if one is named."""
    start_fork_server()
    process = _CONTEXT.Process(target=_become, args=(module, arguments, environ, errors), name=module, daemon=True)
    process.start()
    service = ForkedService(process)
    try:
        yield service
    finally:
        service.kill()


def _become(module: str, arguments: tuple[str, ...], environ: Mapping[str, str], errors: str) -> None:
    make_parent_death_signal(signal.SIGKILL)()
    if errors:
        os.dup2(os.open(errors, os.O_WRONLY), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
