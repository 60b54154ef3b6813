"""Sets up a process: garbage collection, logging, and ending together with its parent."""

import asyncio
import ctypes
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Literal

import structlog

from shared.domain.redaction import HIDDEN_VALUES, redact_credentials, redact_json, redact_text

_PR_SET_PDEATHSIG = 1


def freeze_startup_objects() -> None:
    """Excludes what start-up allocated from garbage collection, whose full passes cause the slowest responses."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 1000)


def make_stop_event() -> asyncio.Event:
    """An event that is set when this process gets SIGTERM or SIGINT."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def make_parent_death_hook(with_signal: int = signal.SIGTERM) -> Callable[[], None]:
    """A ``preexec_fn`` for a child process that must end when its parent ends, in whatever way.

    Works on Linux only. The kernel regards the spawning *thread* as the parent, so spawn from the main thread.
    """
    parent, request_death_signal = os.getpid(), make_parent_death_signal(with_signal)

    def request_death_with_parent() -> None:
        request_death_signal()
        if os.getppid() != parent:  # it died before the kernel was asked
            os._exit(1)

    return request_death_with_parent


def make_parent_death_signal(number: int) -> Callable[[], None]:
    """A function for a child process to call: from then on the kernel sends the child the signal ``number`` when its
    parent ends. It does nothing except on Linux.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def request_death_signal() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, int(number))

    return request_death_signal


def configure_logging(service: str, level: int | str = logging.INFO, form: Literal["json", "text"] = "json") -> None:
    """Logs each event as one line to stderr, with time, level and service; other libraries' records from WARNING up.

    Protected values and credentials are removed from every line.
    """
    least_level = logging.getLevelNamesMapping()[level.upper()] if isinstance(level, str) else level
    common: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    final: list[structlog.typing.Processor] = [
        _redact_event,
        partial(_add_service_name, service),
        _make_redacting_renderer(form),
    ]
    structlog.configure(
        processors=[*common, *final],
        wrapper_class=structlog.make_filtering_bound_logger(least_level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=common, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=max(least_level, logging.WARNING), force=True)


def _make_redacting_renderer(form: Literal["json", "text"]) -> structlog.typing.Processor:
    """A processor that renders an event and removes credentials. It must be the last one."""
    json = structlog.processors.JSONRenderer(default=_redact_unserialisable_value)
    text = structlog.dev.ConsoleRenderer(colors=False)

    def render(logger: structlog.typing.WrappedLogger, name: str, event: structlog.typing.EventDict) -> str:
        line = json(logger, name, event) if form == "json" else text(logger, name, event)
        return redact_credentials(line if isinstance(line, str) else line.decode())

    return render


def _redact_event(
    _: structlog.typing.WrappedLogger, __: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """The event without protected values, even in error messages."""
    return redact_json(event, HIDDEN_VALUES.get())


def _redact_unserialisable_value(value: object) -> str:
    """A value that is not JSON, as redacted text."""
    return redact_text(repr(value), HIDDEN_VALUES.get())


def _add_service_name(
    service: str, _: structlog.typing.WrappedLogger, __: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    event["service"] = service
    return event
