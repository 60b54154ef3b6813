"""Forks the services' processes from a fork server that has imported their modules once.

Each new interpreter would spend one to three seconds of CPU on imports. The fork server ends with this process.
"""

import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Collection, Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import cast

from setproctitle import setproctitle

from shared.infra.process import make_parent_death_signal

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
    _die_with_launcher()
    os.setsid()
    os.umask(0o077)  # books, logs and archived tasks are for their owner
    _redirect_output(log)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # one of them would keep the fork server, and so us, from ending
    package, *package_arguments = arguments
    if package not in _imported_packages() or not _has_same_interpreter_settings(environ):
        os.execve(sys.executable, [sys.executable, "-m", *arguments], environ)  # noqa: S606  our own modules
    setproctitle(f"python -m {' '.join(arguments)}")  # it finds the title's place by the environment as it was
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = [package, *package_arguments]
    runpy.run_module(package, run_name="__main__", alter_sys=True)


def _has_same_interpreter_settings(environ: Mapping[str, str]) -> bool:
    """Whether the variables that Python reads at its start have the same values in ``environ`` and in this process."""
    return all(os.environ.get(name) == environ.get(name) for name in _INTERPRETER_VARIABLES)


def _imported_packages() -> Collection[str]:
    module = sys.modules.get(_PRELOADED_MODULE)
    return cast("Collection[str]", module.PACKAGES) if module else ()


def _die_with_launcher() -> None:
    """Have the kernel end this process when the fork server ends, which it does when the launcher does."""
    make_parent_death_signal(signal.SIGTERM)()
    launcher = multiprocessing.parent_process()
    if launcher is None or not launcher.is_alive():  # it ended before the kernel was asked
        os._exit(1)


def _redirect_output(log: str) -> None:
    empty_input, log_output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)
    for source, target in ((empty_input, 0), (log_output, 1), (log_output, 2)):
        os.dup2(source, target)
    os.close(empty_input)
    os.close(log_output)
