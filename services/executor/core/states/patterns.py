"""How a process file names the operands of its figures: ``kind.field``, ``kind[].field``, ``kind[][status=missing]``.

``|`` separates names of which the first that is there counts. A pattern without a dot is the name of an earlier figure.
``[]`` means all rows of the list; conditions choose among them: ``[field=value]``, ``[field!=value]``, where ``@`` is
the subject's own value of the field, and ``[field~]`` means those rows whose value stands in the task, if any does.
"""

import re
from typing import NamedTuple

_SHAPE = re.compile(r"([a-z_|]+)((?:\[[^\[\]]*\])*)(?:\.([a-z_|]+))?")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_GOVERNED = re.compile(r"(?:([a-z_|]+)\.)?([a-z_]+)")
_CONDITION = re.compile(r"([a-z_|]+)\s*(!=|=|~)\s*(.*)")
OWN = "@"


class BadPattern(ValueError):
    """The text names no operand; the message says what it should look like."""


class Governed(NamedTuple):
    """An argument that a figure governs: of tools with one of the ``kinds`` in their name, or of all."""

    kinds: tuple[str, ...]
    argument: str


class Choice(NamedTuple):
    """A condition on rows: the names of its field, ``=``, ``!=`` or ``~``, and the values of which one is to match."""

    fields: tuple[str, ...]
    sign: str
    values: tuple[str, ...]


class Pattern(NamedTuple):
    """``kinds``: what the record may be called. ``rows``: all rows of a list, of which ``choices`` leave some."""

    kinds: tuple[str, ...]
    fields: tuple[str, ...]
    rows: bool = False
    choices: tuple[Choice, ...] = ()


def is_figure(text: str) -> bool:
    """Whether an operand is an earlier figure, by its name."""
    return text.isidentifier()


def pattern(text: str) -> Pattern:
    """Raises ``BadPattern`` for anything that names no operand."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no operand such as kind.field, kind[].field or kind[][field=value]")
    kinds, brackets, fields = match[1], _BRACKET.findall(match[2]), match[3]
    if brackets and brackets[0]:
        raise BadPattern(f"{text!r}: [] comes before what chooses among the rows")
    choices = tuple(_choice(inner, text) for inner in brackets[1:])
    if not _names(kinds) or not (fields or brackets):
        raise BadPattern(f"{text!r} names no kind of record, or nothing of it")
    return Pattern(_names(kinds), _names(fields or ""), bool(brackets), choices)


def parse_governed(text: str) -> Governed:
    """``argument``, or ``kind|kind.argument``; raises ``BadPattern`` for anything else."""
    match = _GOVERNED.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no argument such as amount or credit.amount")
    return Governed(_names(match[1] or ""), match[2])


def kinds(text: str) -> tuple[str, ...]:
    return _names(text)


def _choice(inner: str, text: str) -> Choice:
    match = _CONDITION.fullmatch(inner)
    if match is None:
        raise BadPattern(f"{text!r}: [{inner}] is no condition such as [status=open|held]")
    return Choice(_names(match[1]), match[2], _names(match[3]))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("|") if name)
