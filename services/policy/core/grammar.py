"""The grammar of conditions: a text becomes tokens, and the tokens a tree; spaces never matter.

``||`` binds loosest, then ``&&``, then comparisons (which do not chain), then ``!``. A position is a character offset.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import NamedTuple, TypeAlias

from services.policy.core.values import ConditionError

MAX_LENGTH = 20_000  # characters; a longer condition is refused before a single one is read
MAX_DEPTH = 50
MAX_TERMS = 2_000  # operands outside lists; the text's length bounds the lists


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Every number is a ``Decimal``."""

    value: str | bool | Decimal | None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FieldReference:
    """A field of the context, by its path."""

    path: tuple[str, ...]
    position: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``&&`` over two terms or more."""

    terms: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """``||`` over two terms or more."""

    terms: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class ComparisonNode:
    operator: str
    left: "Node"
    right: "Node"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """``member in choices``, where the choices are literals or a field that holds a list."""

    member: "Node"
    choices: tuple[Constant, ...] | FieldReference
    position: int = field(default=0, compare=False)


Node: TypeAlias = Constant | FieldReference | Not | Conjunction | Disjunction | ComparisonNode | Membership


def parts(node: Node) -> Iterator[Node]:
    """The node and everything in it, in the order of the text."""
    yield node
    match node:
        case Not(operand):
            inner: tuple[Node, ...] = (operand,)
        case Conjunction(terms) | Disjunction(terms):
            inner = terms
        case ComparisonNode(left=left, right=right):
            inner = (left, right)
        case Membership(member, choices):
            inner = (member, choices) if isinstance(choices, FieldReference) else (member, *choices)
        case _:
            inner = ()
    for one in inner:
        yield from parts(one)


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
    |(?P<NUMBER>%s)|(?P<END>\Z)|(?P<OTHER>.))"""
_OUTSIDE = re.compile(_ONE % f"{_GROUPED}|{_PLAIN}", re.DOTALL | re.VERBOSE)
_IN_LIST = re.compile(_ONE % _PLAIN, re.DOTALL | re.VERBOSE)
_GLUED = re.compile(r"[\w.]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_JUNCTIONS = (("||", Disjunction), ("&&", Conjunction))  # the loosest first
_COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!=", "===", "!=="})
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Words of other languages: as field names they would be missing fields, and the mistake would stay unseen.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "none": "null", "nil": "null", "is": "==="} | {
    word: word for word in (*_WORDS, "in")
}
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
    while found := (_IN_LIST if brackets > 0 else _OUTSIDE).match(text, end):
        end, token = found.end(), _read_token(found)
        yield token
        if token.kind is TokenKind.END:
            return
        brackets += (token.text == "[") - (token.text == "]") if token.kind is TokenKind.SIGN else 0


def _read_token(found: re.Match[str]) -> Token:
    kind = found.lastgroup or ""
    body, start = found[kind], found.start(kind)
    match kind:
        case "OTHER":
            raise ConditionError(f"unexpected {body!r}: {_HINTS.get(body, 'no such sign')}", start)
        case "NAME":
            return Token(TokenKind.NAME, "".join(body.split()), start)
        case "TEXT" | "QUOTED":
            for escape in _ESCAPE.finditer(body):
                if escape[1] not in "\\\"'":
                    cause = f"unknown escape {escape[0]!r}: only quotes and \\ are escaped"
                    raise ConditionError(cause, start + escape.start())
            return Token(TokenKind.TEXT, _ESCAPE.sub(r"\1", body), start - 1)
        case "NUMBER" if glued := _GLUED.match(found.string, found.end()):
            raise ConditionError(f"{body!r} runs into {glued[0]!r}", start)
        case "NUMBER" if body[0] == "0" and body[1:2].isdigit():
            raise ConditionError(f"the number {body!r} starts with a zero; put a code in quotes", start)
        case _:
            return Token(TokenKind[kind], body.replace(",", "") if kind == "NUMBER" else body, start)


def parse(text: str) -> Node:
    """The condition's tree; raises ``ConditionError`` with the position and the cause."""
    return _Parser(text).parse()


class _Parser:
    """``_next``: the token that is read next."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._next = next(self._tokens)
        self._depth = self._terms = 0

    def parse(self) -> Node:
        if self._is_at_end():
            raise ConditionError("the condition is empty", 0)
        tree = self._parse_junction()
        if not self._is_at_end():
            raise self._unexpected_token("an operator or the end")
        return tree

    def _parse_junction(self, level: int = 0) -> Node:
        if level == len(_JUNCTIONS):
            return self._parse_comparison()
        sign, kind = _JUNCTIONS[level]
        terms = [self._parse_junction(level + 1)]
        while self._take(sign):
            terms.append(self._parse_junction(level + 1))
        return kind(tuple(terms)) if len(terms) > 1 else terms[0]

    def _parse_comparison(self) -> Node:
        left, operator = self._parse_operand(), self._next
        if not self._compares():
            return left
        self._advance()
        node: Node
        if operator.kind is TokenKind.NAME:
            node = Membership(left, self._parse_choices(), operator.position)
        else:
            node = ComparisonNode(operator.text, left, self._parse_operand(), operator.position)
        if self._compares():
            raise ConditionError(f"{self._next}: comparisons do not chain; join them with &&", self._next.position)
        return node

    def _compares(self) -> bool:
        kind, text, _ = self._next
        return text in _COMPARISONS if kind is TokenKind.SIGN else (kind, text) == (TokenKind.NAME, "in")

    def _parse_operand(self) -> Node:
        if not (self._is_sign("!") or self._is_sign("(")):
            self._count_term()
            return self._parse_value()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError(f"nested deeper than {MAX_DEPTH}", self._next.position)
        if self._take("!"):
            node: Node = Not(self._parse_operand())
        else:
            self._advance()
            node = self._parse_junction()
            self._expect(")")
        self._depth -= 1
        return node

    def _count_term(self) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise ConditionError(f"more than {MAX_TERMS} terms", self._next.position)

    def _parse_value(self) -> Constant | FieldReference:
        first, negative = self._next, self._take("-")
        kind, text, _ = self._next
        value: str | bool | Decimal | None
        match kind:
            case TokenKind.NUMBER:
                value = Decimal(text).copy_negate() if negative else Decimal(text)
            case TokenKind.TEXT if not negative:
                value = text
            case TokenKind.NAME if not negative and text in _WORDS:
                value = _WORDS[text]
            case TokenKind.NAME if not negative:
                return self._parse_reference()
            case _:
                raise self._unexpected_token("a number" if negative else "a field or a value")
        self._advance()
        return Constant(value, first.position)

    def _parse_reference(self) -> FieldReference:
        token = self._next
        if hint := _FOREIGN.get(token.text.lower()):
            raise ConditionError(f"{token} is no word of the language here; write {hint}", token.position)
        self._advance()
        return FieldReference(tuple(token.text.split(".")), token.position)

    def _parse_choices(self) -> tuple[Constant, ...] | FieldReference:
        if self._next.kind is TokenKind.NAME and self._next.text not in _WORDS:
            self._count_term()
            return self._parse_reference()
        self._expect("[")
        choices: list[Constant] = []
        while not self._take("]"):
            choice = self._parse_value()
            if isinstance(choice, FieldReference):
                raise ConditionError(f"a list holds values; put {choice.name!r} in quotes", choice.position)
            choices.append(choice)
            if not self._is_sign("]"):
                self._expect(",")
        return tuple(choices)

    def _is_at_end(self) -> bool:
        return self._next.kind is TokenKind.END

    def _advance(self) -> None:
        self._next = next(self._tokens)

    def _is_sign(self, sign: str) -> bool:
        return self._next[:2] == (TokenKind.SIGN, sign)

    def _take(self, sign: str) -> bool:
        """Whether the sign stands here; then it is read."""
        if not self._is_sign(sign):
            return False
        self._advance()
        return True

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected_token(repr(sign))

    def _unexpected_token(self, wanted: str) -> ConditionError:
        token = self._next
        hint = _FOREIGN.get(token.text.lower()) if token.kind is TokenKind.NAME else None
        return ConditionError(f"expected {wanted}, found {token}" + (f"; write {hint}" if hint else ""), token.position)
