"""Regular expressions that cannot run away: RE2 reads a text once, whatever the pattern."""

from functools import lru_cache
from typing import NamedTuple, Protocol, cast

import re2

MAX_PATTERN = 500  # characters
MAX_CLASSES = 8  # classes by Unicode property in one pattern: each of them is hundreds of ranges to compile
_MEMORY = 1 << 19  # bytes of a compiled pattern and of what it remembers while it searches
_REMEMBERED = 4_096


class _Compiled(Protocol):
    programsize: int

    def search(self, text: str) -> object | None: ...


class TextPattern(NamedTuple):
    """``size`` times the bytes of a text bounds the work of a search."""

    compiled: _Compiled
    size: int

    def is_in(self, text: str) -> bool:
        return self.compiled.search(text) is not None


def pattern(text: str) -> TextPattern:
    """The compiled pattern, blind to case; ``ValueError`` for one that cannot be used."""
    made = _compile_pattern(text)
    if isinstance(made, str):
        raise ValueError(f"the pattern cannot be used: {made}")
    return made


@lru_cache(_REMEMBERED)
def _compile_pattern(text: str) -> TextPattern | str:
    if len(text) > MAX_PATTERN:
        return f"it has {len(text)} characters; the limit is {MAX_PATTERN}"
    if text.lower().count("\\p") > MAX_CLASSES:
        return f"it has more than {MAX_CLASSES} classes by Unicode property"
    try:
        compiled = cast(_Compiled, re2.compile(text, _options()))
    except re2.error as error:
        return f"{_cause(error)} (look-around and back references do not exist here)"
    return TextPattern(compiled, compiled.programsize)


def _options() -> object:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _cause(error: Exception) -> str:
    cause: object = error.args[0] if error.args else "not readable"
    return cause.decode(errors="replace") if isinstance(cause, bytes) else str(cause)
