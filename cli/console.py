"""Output of the command line: answers and tables on stdout, progress and complaints on stderr."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.table import Column, Table
from rich.text import Text

from shared.domain.exact_json import Json, JsonObject, dumps

_NAME = "purple"
_LOG_WIDTH = 140  # a file has no width of its own

out = Console(highlight=False, width=None if sys.stdout.isatty() else _LOG_WIDTH)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _LOG_WIDTH)


def own_name() -> str:
    """The name to call this command line by: ``purple`` if the shell finds it, else the path it was called by."""
    called = sys.argv[0]
    return called if Path(called).name == _NAME and shutil.which(_NAME) is None else _NAME


class Complaint(Exception):
    """A problem that a person can fix; ``sentence`` says what it is and how. It ends a command with ``code``."""

    def __init__(self, sentence: str, detail: str = "", code: int = 1) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.detail = detail
        self.code = code

    def show(self) -> None:
        """Print what is wrong to stderr."""
        err.print(self.sentence, markup=False, style="bold red", soft_wrap=True)
        if self.detail:
            err.print(self.detail, markup=False, style="dim", soft_wrap=True)


def text_table(columns: Iterable[str], rows: Iterable[Iterable[object]], title: str | None = None) -> Table:
    """A table that wraps long words instead of cutting them, since ids must stay whole.

    Its cells are plain text: words of others are never read as markup. None is an empty cell.
    """
    table = Table(*(Column(header, overflow="fold") for header in columns), title=title)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row))
    return table


def say_json(text: str) -> None:
    """Print a JSON text to stdout, unwrapped and uncoloured."""
    out.print(text, markup=False, soft_wrap=True)


def say_found(found: JsonObject, show: Callable[[JsonObject], object], *, as_json: bool) -> None:
    """Print an answer: as JSON, or as ``show`` prints it for people."""
    if as_json:
        say_json(dumps(found))
    else:
        show(found)


def plain_text(value: Json) -> str:
    """A value as plain text: a text as it is, other values as JSON; empty for null and what holds nothing."""
    return value if isinstance(value, str) else "" if value in (None, [], {}) else dumps(value)


def join_values(value: Json) -> str:
    """The parts of a list, with commas; another value as plain text."""
    return ", ".join(map(plain_text, value)) if isinstance(value, list) else plain_text(value)


def moment(value: Json) -> str:
    """An ISO time in local time, to the minute; empty for None, other texts unchanged."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return value
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


_STEP = "  "


def indent_json(value: Json, margin: str = "") -> str:
    """Indented JSON with sorted names, in which fractions may be ``Decimal``."""
    match value:
        case dict() if value:
            return _block(
                "{",
                (f"{dumps(name)}: {indent_json(value[name], margin + _STEP)}" for name in sorted(value)),
                "}",
                margin,
            )
        case list() if value:
            return _block("[", (indent_json(part, margin + _STEP) for part in value), "]", margin)
        case _:
            return dumps(value)


def _block(opening: str, parts: Iterator[str], closing: str, margin: str) -> str:
    return f"{opening}\n" + ",\n".join(f"{margin}{_STEP}{part}" for part in parts) + f"\n{margin}{closing}"


class Starting:
    """Shows progress while a stack starts. Call it with the names still awaited, at last with none."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._status = Status("Starting ...", console=console)

    def __enter__(self) -> "Starting":
        if self._quiet:
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
