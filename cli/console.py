"""Where the command line speaks: answers and tables on stdout, progress and complaints on stderr."""

import shutil
import sys
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.table import Column, Table

_NAME = "purple"
_LOG_WIDTH = 140  # a file has no width of its own

out = Console(highlight=False, width=None if sys.stdout.isatty() else _LOG_WIDTH)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _LOG_WIDTH)


def own_name() -> str:
    """How this command line is called: by its name where the shell finds it, else as it was called just now."""
    called = sys.argv[0]
    return called if Path(called).name == _NAME and shutil.which(_NAME) is None else _NAME


class Complaint(Exception):
    """Something a person can mend; ``sentence`` says what and how."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.detail = detail


def give_up(complaint: Complaint, code: int = 1) -> NoReturn:
    """Say what is wrong on stderr and end with that exit code."""
    err.print(complaint.sentence, markup=False, style="bold red", soft_wrap=True)
    if complaint.detail:
        err.print(complaint.detail, markup=False, style="dim", soft_wrap=True)
    raise typer.Exit(code)


def make_table(*headers: str, title: str | None = None) -> Table:
    """A table that breaks long words over lines: an id that was cut is no id."""
    return Table(*(Column(header, overflow="fold") for header in headers), title=title)


def say_json(text: str) -> None:
    """One JSON text on stdout, unwrapped and uncoloured."""
    out.print(text, markup=False, soft_wrap=True)
