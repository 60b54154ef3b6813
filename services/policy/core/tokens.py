"""Cuts a condition's text into tokens. Spaces never matter; a position is a character offset in the text."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from services.policy.core.values import ConditionError

MAX_LENGTH = 20_000  # characters; a longer condition is refused before a single one is read


class Kind(Enum):
    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    SIGN = "sign"
    END = "end of the condition"


class Token(NamedTuple):
    kind: Kind
    text: str  # a number without its commas, a text without quotes and escapes, a path without spaces
    position: int

    def __str__(self) -> str:
        return self.kind.value if self.kind is Kind.END else repr(self.text)


# Every alternative is linear. The digit groups of `5,000` are read only outside brackets: in a list a comma separates.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*")
_SIGN = re.compile(r"===|!==|==|!=|>=|<=|>|<|&&|\|\||[!()\[\],-]")
_SPACE = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HINTS = {
    "=": "write == or ===",
    "&": "write &&",
    "|": "write ||",
    "$": 'write the bare number, or put the amount in quotes, such as "$5,000"',
    '"': "the text is not closed",
    "'": "the text is not closed",
}


def tokens(text: str) -> Iterator[Token]:
    """The tokens, the last one of kind ``END``. Raises ``ConditionError`` where the text is none of the language."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"the condition has {len(text)} characters; the limit is {MAX_LENGTH}", MAX_LENGTH)
    position, brackets = _skip(text, 0), 0
    while position < len(text):
        token, end = _next(text, position, brackets > 0)
        brackets += (token.text == "[") - (token.text == "]") if token.kind is Kind.SIGN else 0
        yield token
        position = _skip(text, end)
    yield Token(Kind.END, "", position)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _next(text: str, position: int, in_list: bool) -> tuple[Token, int]:
    if found := _SIGN.match(text, position):
        return Token(Kind.SIGN, found[0], position), found.end()
    if found := _NAME.match(text, position):
        return Token(Kind.NAME, "".join(found[0].split()), position), found.end()
    if found := _TEXT.match(text, position):
        return Token(Kind.TEXT, _unescaped(found[0][1:-1], position + 1), position), found.end()
    return _number(text, position, in_list)


def _number(text: str, position: int, in_list: bool) -> tuple[Token, int]:
    found = (None if in_list else _GROUPED.match(text, position)) or _NUMBER.match(text, position)
    if not found:
        character = text[position]
        raise ConditionError(f"unexpected {character!r}: {_HINTS.get(character, 'no such sign')}", position)
    end = found.end()
    if re.match(r"[\w.]", text[end : end + 1]):
        raise ConditionError(f"{found[0]!r} runs into {text[end]!r}", position)
    if re.match(r"0[0-9]", found[0]):
        raise ConditionError(f"the number {found[0]!r} starts with a zero; put a code in quotes", position)
    return Token(Kind.NUMBER, found[0].replace(",", ""), position), end


def _unescaped(body: str, start: int) -> str:
    for escape in _ESCAPE.finditer(body):
        if escape[1] not in "\\\"'":
            raise ConditionError(
                f"unknown escape {escape[0]!r}: only quotes and \\ are escaped", start + escape.start()
            )
    return _ESCAPE.sub(r"\1", body)
