"""The grammar. ``||`` binds loosest, then ``&&``, then comparisons (which do not chain), then ``!``."""

from collections.abc import Callable
from decimal import Decimal

from services.policy.core.tokens import Token, TokenKind, tokens
from services.policy.core.tree import (
    ComparisonNode,
    Conjunction,
    Constant,
    Disjunction,
    FieldReference,
    Membership,
    Node,
    Not,
)
from services.policy.core.values import ConditionError

MAX_DEPTH = 50
MAX_TERMS = 2_000  # operands outside lists; the text's length bounds the lists

_COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!=", "===", "!=="})
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Words of other languages: as field names they would be missing fields, and the mistake would stay unseen.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "none": "null", "nil": "null", "is": "==="} | {
    word: word for word in ("true", "false", "null", "in")
}


def parse(text: str) -> Node:
    """The condition's tree; raises ``ConditionError`` with the position and the cause."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._token = next(self._tokens)
        self._depth = 0
        self._terms = 0

    def parse(self) -> Node:
        if self._at_end():
            raise ConditionError("the condition is empty", 0)
        node = self._disjunction()
        if not self._at_end():
            raise self._unexpected_token("an operator or the end")
        return node

    def _disjunction(self) -> Node:
        return self._join("||", self._conjunction, Disjunction)

    def _conjunction(self) -> Node:
        return self._join("&&", self._comparison, Conjunction)

    def _join(self, sign: str, term: Callable[[], Node], kind: type[Conjunction | Disjunction]) -> Node:
        terms = [term()]
        while self._is_sign(sign):
            self._advance()
            terms.append(term())
        return kind(tuple(terms)) if len(terms) > 1 else terms[0]

    def _comparison(self) -> Node:
        left, token = self._operand(), self._token
        if not self._compares():
            return left
        self._advance()
        node: Node
        if token.kind is TokenKind.NAME:
            node = Membership(left, self._choices(), token.position)
        else:
            node = ComparisonNode(token.text, left, self._operand(), token.position)
        if self._compares():
            raise ConditionError(f"{self._token}: comparisons do not chain; join them with &&", self._token.position)
        return node

    def _compares(self) -> bool:
        token = self._token
        return token.text in _COMPARISONS if token.kind is TokenKind.SIGN else token[:2] == (TokenKind.NAME, "in")

    def _operand(self) -> Node:
        if self._is_sign("!") or self._is_sign("("):
            return self._parse_nested(self._token)
        self._count()
        return self._parse_name() if self._token.kind is TokenKind.NAME else self._literal()

    def _parse_nested(self, token: Token) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError(f"nested deeper than {MAX_DEPTH}", token.position)
        self._advance()
        if token.text == "!":
            node: Node = Not(self._operand())
        else:
            node = self._disjunction()
            self._expect(")")
        self._depth -= 1
        return node

    def _parse_name(self) -> Constant | FieldReference:
        token = self._token
        if token.text in _WORDS:
            self._advance()
            return Constant(_WORDS[token.text], token.position)
        return self._reference()

    def _reference(self) -> FieldReference:
        token = self._token
        if hint := _FOREIGN.get(token.text.lower()):
            raise ConditionError(f"{token} is no word of the language here; write {hint}", token.position)
        self._advance()
        return FieldReference(tuple(token.text.split(".")), token.position)

    def _literal(self) -> Constant:
        first = self._token
        negative = self._is_sign("-")
        if negative:
            self._advance()
        token = self._token
        if token.kind is TokenKind.NUMBER:
            self._advance()
            number = Decimal(token.text)
            return Constant(number.copy_negate() if negative else number, first.position)
        if token.kind is TokenKind.TEXT and not negative:
            self._advance()
            return Constant(token.text, first.position)
        raise self._unexpected_token("a number" if negative else "a field or a value")

    def _choices(self) -> tuple[Constant, ...] | FieldReference:
        if self._token.kind is TokenKind.NAME and self._token.text not in _WORDS:
            self._count()
            return self._reference()
        self._expect("[")
        choices: list[Constant] = []
        while not self._is_sign("]"):
            choices.append(self._choice())
            if not self._is_sign("]"):
                self._expect(",")
        self._advance()
        return tuple(choices)

    def _choice(self) -> Constant:
        token = self._token
        choice = self._parse_name() if token.kind is TokenKind.NAME else self._literal()
        if isinstance(choice, FieldReference):
            raise ConditionError(f"a list holds values; put {choice.name!r} in quotes", token.position)
        return choice

    def _count(self) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise ConditionError(f"more than {MAX_TERMS} terms", self._token.position)

    def _at_end(self) -> bool:
        return self._token.kind is TokenKind.END

    def _is_sign(self, text: str) -> bool:
        return self._token.kind is TokenKind.SIGN and self._token.text == text

    def _expect(self, sign: str) -> None:
        if not self._is_sign(sign):
            raise self._unexpected_token(repr(sign))
        self._advance()

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _unexpected_token(self, wanted: str) -> ConditionError:
        token = self._token
        hint = _FOREIGN.get(token.text.lower()) if token.kind is TokenKind.NAME else None
        return ConditionError(f"expected {wanted}, found {token}" + (f"; write {hint}" if hint else ""), token.position)
