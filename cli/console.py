"""Output of the command line: answers and tables on stdout, progress and complaints on stderr."""

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.table import Column, Table
from rich.text import Text

from shared.domain.exact_json import Json, JsonObject, dumps

_COMMAND_NAME = "purple"
_LOG_WIDTH = 140  # a file has no width of its own

# What is printed may hold any id, path or words of a server, so neither markup nor emoji codes are read in it.
out = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else _LOG_WIDTH)
err = Console(
    stderr=True, highlight=False, markup=False, emoji=False, width=None if sys.stderr.isatty() else _LOG_WIDTH
)


def find_own_command_name() -> str:
    """How a user can call this program: ``purple`` if it is in the PATH, else the path by which it was called."""
    called = sys.argv[0]
    return called if Path(called).name == _COMMAND_NAME and shutil.which(_COMMAND_NAME) is None else _COMMAND_NAME


class CommandError(Exception):
    """An error that the user can fix. ``sentence``: the error and its remedy; ``code``: the command's exit code."""

    def __init__(self, sentence: str, detail: str = "", code: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.detail = detail
        self.code = code

    def print_to_stderr(self) -> None:
        """Print what is wrong to stderr."""
        err.print(self.sentence, style="bold red", soft_wrap=True)
        if self.detail:
            err.print(self.detail, style="dim", soft_wrap=True)


def build_text_table(columns: Iterable[str], rows: Iterable[Iterable[object]], title: str | None = None) -> Table:
    """A table that wraps long words instead of cutting them, since ids must stay whole.

    None is an empty cell.
    """
    table = Table(*(Column(header, overflow="fold") for header in columns), title=title)
    for row in rows:
        cells = ("" if cell is None else cell for cell in row)
        table.add_row(*(cell if isinstance(cell, Text) else str(cell) for cell in cells))
    return table


def print_json(text: str) -> None:
    """Print a JSON text to stdout, unwrapped and uncoloured."""
    out.print(text, soft_wrap=True)


def print_answer(answer: JsonObject, show: Callable[[JsonObject], object], *, as_json: bool) -> None:
    """Print a gateway's answer as JSON, or by calling ``show``, which prints it for people."""
    if as_json:
        print_json(dumps(answer))
    else:
        show(answer)


def format_plain_text(value: Json) -> str:
    """A value as plain text: strings as they are, null and empty containers as empty text, other values as JSON."""
    if isinstance(value, str):
        return value
    return "" if value in (None, [], {}) else dumps(value)


def join_values(value: Json) -> str:
    """The items of a list joined with commas; any other value as plain text."""
    return ", ".join(map(format_plain_text, value)) if isinstance(value, list) else format_plain_text(value)


def format_local_time(value: Json) -> str:
    """An ISO time in local time, to the minute; empty for None, other texts unchanged."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def indent_json(value: Json, margin: str = "") -> str:
    """Indented JSON with sorted names, in which fractions may be ``Decimal``."""
    inner_margin = f"{margin}  "
    match value:
        case dict() if value:
            brackets = "{}"
            parts = [f"{dumps(name)}: {indent_json(value[name], inner_margin)}" for name in sorted(value)]
        case list() if value:
            brackets, parts = "[]", [indent_json(part, inner_margin) for part in value]
        case _:
            return dumps(value)
    lines = ",\n".join(f"{inner_margin}{part}" for part in parts)
    return f"{brackets[0]}\n{lines}\n{margin}{brackets[1]}"


class StartupProgress:
    """Shows progress while a stack starts. Call it with the names of the processes that are not ready yet."""

    def __init__(self, console: Console, is_quiet: bool = False) -> None:
        self._console = console
        self._is_quiet = is_quiet
        self._status = Status("Starting ...", console=console)

    def __enter__(self) -> "StartupProgress":
        if self._is_quiet:
            return self
        if self._console.is_terminal:
            self._status.start()
        else:
            self._console.print("Starting ...", style="dim")
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, awaited: Sequence[str]) -> None:
        if awaited:
            self._status.update(f"Starting: {', '.join(awaited)} ...")
        else:
            self._status.stop()
