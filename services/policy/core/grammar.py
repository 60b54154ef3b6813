"""The grammar of conditions: splits a text into tokens and parses them to a tree; spaces have no meaning.

``||`` binds least, then ``&&``, then comparisons (which cannot be chained), then ``!``. Positions are character
offsets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from services.policy.core.values import ConditionError

MAX_CONDITION_CHARACTERS = 20_000  # characters; a longer condition is refused before a single one is read
MAX_CONDITION_DEPTH = 50
MAX_CONDITION_TERMS = 2_000  # operands outside lists; the text's length bounds the lists


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Numbers are ``Decimal``. Constants of different types differ, unlike ``True == 1`` in Python."""

    value: str | bool | Decimal | None
    position: int = field(default=0, compare=False)
    kind: type = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value))


@dataclass(frozen=True, slots=True)
class FieldReference:
    """A field of the context, named by its path."""

    path: tuple[str, ...]
    position: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """The path's steps joined by dots."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator with its operands: two for a comparison or ``in``, one for ``!``, two or more for ``&&`` and ``||``.

    The list of literals after ``in`` is a node with the sign ``[]``.
    """

    sign: str
    operands: tuple["Node", ...]
    position: int = field(default=0, compare=False)


Node: TypeAlias = Constant | FieldReference | OperatorNode


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yields the node and all nodes inside it, in the order of the text."""
    yield node
    if isinstance(node, OperatorNode):
        for operand in node.operands:
            yield from walk_nodes(operand)


class Token(NamedTuple):
    """A word or sign of a condition's text. ``position``: its character offset."""

    kind: str  # the name of a group of ``_LEXEME_REGEX``
    text: str  # a number without its commas, a text without quotes and escapes, a path without spaces
    position: int

    def __str__(self) -> str:
        return "end of the condition" if self.kind == "END" else repr(self.text)


# Every alternative is linear. The digit groups of `5,000` are read only outside brackets: in a list a comma separates.
_PLAIN_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_GROUPED_NUMBER = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9])"
_LEXEME_REGEX = r"""\s*(?:(?P<SIGN>===|!==|==|!=|>=|<=|>|<|&&|\|\||[!()\[\],-])
    |(?P<NAME>[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*)
    |"(?P<TEXT>(?:[^"\\]|\\.)*)"|'(?P<QUOTED>(?:[^'\\]|\\.)*)'
    |(?P<NUMBER>%s)|(?P<END>\Z)|(?P<OTHER>.))"""
_LEXEME_OUTSIDE_LIST_PATTERN = re.compile(_LEXEME_REGEX % f"{_GROUPED_NUMBER}|{_PLAIN_NUMBER}", re.DOTALL | re.VERBOSE)
_LEXEME_IN_LIST_PATTERN = re.compile(_LEXEME_REGEX % _PLAIN_NUMBER, re.DOTALL | re.VERBOSE)
_CHARACTER_OF_NAME_PATTERN = re.compile(r"[\w.]")
_ESCAPE_PATTERN = re.compile(r"\\(.)", re.DOTALL)
_COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!=", "===", "!==", "in"})
_VALUE_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Words of other languages: as field names they would be missing fields, and the mistake would stay unseen.
_SIGN_BY_FOREIGN_WORD = {"and": "&&", "or": "||", "not": "!", "none": "null", "nil": "null", "is": "==="} | {
    word: word for word in (*_VALUE_WORDS, "in")
}
_HINT_BY_WRONG_SIGN = {
    "=": "write == or ===",
    "&": "write &&",
    "|": "write ||",
    "$": 'write the bare number, or put the amount in quotes, such as "$5,000"',
    '"': "the text is not closed",
    "'": "the text is not closed",
}


def _tokenize(text: str) -> Iterator[Token]:
    """Yields the tokens of a text, ending with one of kind ``END``. Raises ``ConditionError``."""
    if len(text) > MAX_CONDITION_CHARACTERS:
        raise ConditionError(
            f"the condition has {len(text)} characters; the limit is {MAX_CONDITION_CHARACTERS}",
            MAX_CONDITION_CHARACTERS,
        )
    end, brackets = 0, 0
    while match := (_LEXEME_IN_LIST_PATTERN if brackets > 0 else _LEXEME_OUTSIDE_LIST_PATTERN).match(text, end):
        end, token = match.end(), _read_token(match)
        yield token
        if token.kind == "END":
            return
        brackets += (token.text == "[") - (token.text == "]") if token.kind == "SIGN" else 0


def _read_token(match: re.Match[str]) -> Token:
    kind = match.lastgroup or ""
    body, start = match[kind], match.start(kind)
    match kind:
        case "OTHER":
            raise ConditionError(f"unexpected {body!r}: {_HINT_BY_WRONG_SIGN.get(body, 'no such sign')}", start)
        case "NAME":
            return Token(kind, "".join(body.split()), start)
        case "TEXT" | "QUOTED":
            for escape in _ESCAPE_PATTERN.finditer(body):
                if escape[1] not in "\\\"'":
                    cause = f"unknown escape {escape[0]!r}: only quotes and \\ are escaped"
                    raise ConditionError(cause, start + escape.start())
            return Token("TEXT", _ESCAPE_PATTERN.sub(r"\1", body), start - 1)
        case "NUMBER" if next_character := _CHARACTER_OF_NAME_PATTERN.match(match.string, match.end()):
            raise ConditionError(f"{body!r} runs into {next_character[0]!r}", start)
        case "NUMBER" if body[0] == "0" and body[1:2].isdigit():
            raise ConditionError(f"the number {body!r} starts with a zero; put a code in quotes", start)
        case _:
            return Token(kind, body.replace(",", "") if kind == "NUMBER" else body, start)


def parse_condition_tree(text: str) -> Node:
    """Parses a condition to its tree of nodes; raises ``ConditionError`` with position and cause."""
    return _Parser(text).parse_whole_text()


class _Parser:
    """A recursive-descent parser. ``_next``: the next token to be parsed."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokenize(text)
        self._next = next(self._tokens)
        self._depth = self._terms = 0

    def parse_whole_text(self) -> Node:
        if self._next.kind == "END":
            raise ConditionError("the condition is empty", 0)
        tree = self._parse_and_or_level("||", "&&")
        if self._next.kind != "END":
            raise self._build_unexpected_token_error("an operator or the end")
        return tree

    def _parse_and_or_level(self, sign: str, *tighter: str) -> Node:
        terms, position = list[Node](), self._next.position
        while not terms or self._take_sign_if_next(sign):
            terms.append(self._parse_and_or_level(*tighter) if tighter else self._parse_comparison())
        return OperatorNode(sign, tuple(terms), position) if len(terms) > 1 else terms[0]

    def _parse_comparison(self) -> Node:
        left, (_, sign, position) = self._parse_operand(), self._next
        if not self._is_comparison_next():
            return left
        self._advance()
        right = self._parse_right_of_in() if sign == "in" else self._parse_operand()
        if self._is_comparison_next():
            raise ConditionError(f"{self._next}: comparisons do not chain; join them with &&", self._next.position)
        return OperatorNode(sign, (left, right), position)

    def _is_comparison_next(self) -> bool:
        return self._next.kind in ("SIGN", "NAME") and self._next.text in _COMPARISONS

    def _parse_operand(self) -> Node:
        position = self._next.position
        if not (self._is_sign_next("!") or self._is_sign_next("(")):
            return self._parse_term()
        self._depth += 1
        if self._depth > MAX_CONDITION_DEPTH:
            raise ConditionError(f"nested deeper than {MAX_CONDITION_DEPTH}", position)
        if self._take_sign_if_next("!"):
            node: Node = OperatorNode("!", (self._parse_operand(),), position)
        else:
            self._advance()
            node = self._parse_and_or_level("||", "&&")
            self._require_sign(")")
        self._depth -= 1
        return node

    def _parse_term(self) -> Constant | FieldReference:
        self._terms += 1
        if self._terms > MAX_CONDITION_TERMS:
            raise ConditionError(f"more than {MAX_CONDITION_TERMS} terms", self._next.position)
        return self._parse_value()

    def _parse_value(self) -> Constant | FieldReference:
        position, is_negative = self._next.position, self._take_sign_if_next("-")
        value: str | bool | Decimal | None
        match self._next.kind, self._next.text:
            case "NUMBER", text:
                value = Decimal(text).copy_negate() if is_negative else Decimal(text)
            case "TEXT", text if not is_negative:
                value = text
            case "NAME", text if not is_negative and text in _VALUE_WORDS:
                value = _VALUE_WORDS[text]
            case "NAME", text if not is_negative:
                if hint := _SIGN_BY_FOREIGN_WORD.get(text.lower()):
                    raise ConditionError(f"{self._next} is no word of the language here; write {hint}", position)
                self._advance()
                return FieldReference(tuple(text.split(".")), position)
            case _:
                raise self._build_unexpected_token_error("a number" if is_negative else "a field or a value")
        self._advance()
        return Constant(value, position)

    def _parse_right_of_in(self) -> Node:
        """A list of values, or a field that holds such a list. Raises ``ConditionError``."""
        if self._next.kind == "NAME" and self._next.text not in _VALUE_WORDS:
            return self._parse_term()
        choices, position = list[Node](), self._next.position
        self._require_sign("[")
        while not self._take_sign_if_next("]"):
            choice = self._parse_value()
            if isinstance(choice, FieldReference):
                raise ConditionError(f"a list holds values; put {choice.name!r} in quotes", choice.position)
            choices.append(choice)
            if not self._is_sign_next("]"):
                self._require_sign(",")
        return OperatorNode("[]", tuple(choices), position)

    def _advance(self) -> None:
        self._next = next(self._tokens)

    def _is_sign_next(self, sign: str) -> bool:
        return self._next[:2] == ("SIGN", sign)

    def _take_sign_if_next(self, sign: str) -> bool:
        """Consumes the next token if it is ``sign``; returns whether it was."""
        if is_next := self._is_sign_next(sign):
            self._advance()
        return is_next

    def _require_sign(self, sign: str) -> None:
        if not self._take_sign_if_next(sign):
            raise self._build_unexpected_token_error(repr(sign))

    def _build_unexpected_token_error(self, expectation: str) -> ConditionError:
        token = self._next
        hint = _SIGN_BY_FOREIGN_WORD.get(token.text.lower()) if token.kind == "NAME" else None
        advice = f"; write {hint}" if hint else ""
        return ConditionError(f"expected {expectation}, found {token}{advice}", token.position)
