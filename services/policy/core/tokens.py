"""Cuts a condition's text into tokens. Spaces never matter; a position is a character offset in the text."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from services.policy.core.values import ConditionError

MAX_LENGTH = 20_000  # characters; a longer condition is refused before a single one is read


class TokenKind(Enum):
    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    SIGN = "sign"
    END = "end of the condition"


class Token(NamedTuple):
    kind: TokenKind
    text: str  # a number without its commas, a text without quotes and escapes, a path without spaces
    position: int

    def __str__(self) -> str:
        return self.kind.value if self.kind is TokenKind.END else repr(self.text)


# Every alternative is linear. The digit groups of `5,000` are read only outside brackets: in a list a comma separates.
_PLAIN = r"[0-9]+(?:\.[0-9]+)?"
_GROUPED = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])"
_ONE = r"""\s*(?:(?P<SIGN>===|!==|==|!=|>=|<=|>|<|&&|\|\||[!()\[\],-])
    |(?P<NAME>[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)
    |"(?P<TEXT>(?:[^"\\]|\\.)*)"|'(?P<QUOTED>(?:[^'\\]|\\.)*)'
    |(?P<NUMBER>%s)|(?P<END>\Z))"""
_OUTSIDE = re.compile(_ONE % f"{_GROUPED}|{_PLAIN}", re.DOTALL | re.VERBOSE)
_IN_LIST = re.compile(_ONE % _PLAIN, re.DOTALL | re.VERBOSE)
_SPACE = re.compile(r"\s*")
_GLUED = re.compile(r"[\w.]")
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
    end, brackets = 0, 0
    while True:
        found = (_IN_LIST if brackets > 0 else _OUTSIDE).match(text, end)
        if found is None:
            raise _unknown_sign(text, end)
        end, token = found.end(), _token(found)
        yield token
        if token.kind is TokenKind.END:
            return
        brackets += (token.text == "[") - (token.text == "]") if token.kind is TokenKind.SIGN else 0


def _token(found: re.Match[str]) -> Token:
    name = found.lastgroup or ""
    body, start = found[name], found.start(name)
    match name:
        case "NAME":
            return Token(TokenKind.NAME, "".join(body.split()), start)
        case "TEXT" | "QUOTED":
            return Token(TokenKind.TEXT, _unescape(body, start), start - 1)
        case "NUMBER":
            _check_number(found.string, body, start)
            return Token(TokenKind.NUMBER, body.replace(",", ""), start)
        case _:
            return Token(TokenKind[name], body, start)


def _check_number(text: str, number: str, start: int) -> None:
    end = start + len(number)
    if _GLUED.match(text, end):
        raise ConditionError(f"{number!r} runs into {text[end]!r}", start)
    if number[0] == "0" and number[1:2].isdigit():
        raise ConditionError(f"the number {number!r} starts with a zero; put a code in quotes", start)


def _unescape(body: str, start: int) -> str:
    for escape in _ESCAPE.finditer(body):
        if escape[1] not in "\\\"'":
            raise ConditionError(
                f"unknown escape {escape[0]!r}: only quotes and \\ are escaped", start + escape.start()
            )
    return _ESCAPE.sub(r"\1", body)


def _unknown_sign(text: str, end: int) -> ConditionError:
    space = _SPACE.match(text, end)
    position = space.end() if space else end
    character = text[position]
    return ConditionError(f"unexpected {character!r}: {_HINTS.get(character, 'no such sign')}", position)
