"""How a service refuses to start: in a process of its own, or quicker in this one."""

import io
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from tempfile import NamedTemporaryFile
from typing import NamedTuple
from unittest.mock import patch

from tests.forked_service import forked_process

_KEPT = ("PATH", "HOME")


class Refusal(NamedTuple):
    code: int
    said: str


def refusal_of_process(module: str, environ: Mapping[str, str]) -> Refusal:
    """What ``python -m module`` says and ends with, in that environment alone."""
    with NamedTemporaryFile("r") as errors, forked_process(module, (), _bare(environ), errors.name) as process:
        return Refusal(process.wait(60), errors.read())


def refusal_of(main: Callable[[], int], environ: Mapping[str, str]) -> Refusal:
    """The same of a ``main`` that is called here: for settings, which are read before anything is begun."""
    with (
        patch.dict(os.environ, _bare(environ), clear=True),
        patch.object(sys, "argv", ["service"]),
        redirect_stderr(io.StringIO()) as said,
    ):
        code = main()
    return Refusal(code, said.getvalue())


def _bare(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | dict(environ)
