"""The grammar: a Pratt parser. ``||`` binds loosest, then ``&&``, then comparisons (which do not chain), then ``!``."""

from decimal import Decimal

from services.policy.core.tokens import Kind, Token, tokens
from services.policy.core.tree import Comparison, Conjunction, Constant, Disjunction, Membership, Node, Not, Reference
from services.policy.core.values import ConditionError

MAX_DEPTH = 50
MAX_TERMS = 2_000  # operands outside lists; the text's length bounds the lists

_COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!=", "===", "!=="})
_POWERS = {"||": 1, "&&": 2, "in": 3} | dict.fromkeys(_COMPARISONS, 3)
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
# Words of other languages: as field names they would be missing fields, and the mistake would stay unseen.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "none": "null", "nil": "null", "is": "==="} | {
    word: word for word in ("true", "false", "null", "in")
}


def parse(text: str) -> Node:
    """The condition's tree; raises ``ConditionError`` with the position and the cause."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._token = next(self._tokens)
        self._depth = 0
        self._terms = 0

    def whole(self) -> Node:
        if self._at_end():
            raise ConditionError("the condition is empty", 0)
        node = self._expression(0)
        if not self._at_end():
            raise self._unexpected("an operator or the end")
        return node

    def _expression(self, power: int) -> Node:
        left = self._operand()
        while self._power() > power:
            left = self._infix(left)
        return left

    def _infix(self, left: Node) -> Node:
        token = self._token
        if token.text in ("&&", "||"):
            terms = self._terms_of(left, token.text)
            return Conjunction(terms, token.position) if token.text == "&&" else Disjunction(terms, token.position)
        self._advance()
        node: Node
        if token.text == "in":
            node = Membership(left, self._choices(), token.position)
        else:
            node = Comparison(token.text, left, self._expression(_POWERS[token.text]), token.position)
        if self._power() == _POWERS["in"]:
            raise ConditionError(f"{self._token}: comparisons do not chain; join them with &&", self._token.position)
        return node

    def _terms_of(self, first: Node, operator: str) -> tuple[Node, ...]:
        terms = [first]
        while self._is_sign(operator):
            self._advance()
            terms.append(self._expression(_POWERS[operator]))
        return tuple(terms)

    def _operand(self) -> Node:
        token = self._token
        if token.kind is Kind.SIGN and token.text in ("!", "("):
            return self._nested(token)
        self._count()
        if token.kind is Kind.NAME:
            return self._named()
        return self._literal()

    def _nested(self, token: Token) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConditionError(f"nested deeper than {MAX_DEPTH}", token.position)
        self._advance()
        if token.text == "!":
            node: Node = Not(self._operand(), token.position)
        else:
            node = self._expression(0)
            self._expect(")")
        self._depth -= 1
        return node

    def _named(self) -> Constant | Reference:
        token = self._token
        if token.text in _WORDS:
            self._advance()
            return Constant(_WORDS[token.text], token.position)
        return self._reference()

    def _reference(self) -> Reference:
        token = self._token
        if hint := _FOREIGN.get(token.text.lower()):
            raise ConditionError(f"{token} is no word of the language here; write {hint}", token.position)
        self._advance()
        return Reference(tuple(token.text.split(".")), token.position)

    def _literal(self) -> Constant:
        token = self._token
        negative = self._is_sign("-")
        if negative:
            self._advance()
        if self._token.kind is Kind.NUMBER:
            number = Decimal(self._token.text)
            self._advance()
            return Constant(number.copy_negate() if negative else number, token.position)
        if self._token.kind is Kind.TEXT and not negative:
            self._advance()
            return Constant(token.text, token.position)
        raise self._unexpected("a number" if negative else "a field or a value")

    def _choices(self) -> tuple[Constant, ...] | Reference:
        if self._token.kind is Kind.NAME and self._token.text not in _WORDS:
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
        if token.kind is not Kind.NAME:
            return self._literal()
        choice = self._named()
        if isinstance(choice, Reference):
            raise ConditionError(f"a list holds values; put {choice.name!r} in quotes", token.position)
        return choice

    def _count(self) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise ConditionError(f"more than {MAX_TERMS} terms", self._token.position)

    def _power(self) -> int:
        is_infix = self._token.kind is Kind.SIGN or self._token.text == "in"
        return _POWERS.get(self._token.text, 0) if is_infix and self._token.kind is not Kind.TEXT else 0

    def _at_end(self) -> bool:
        return self._token.kind is Kind.END

    def _is_sign(self, text: str) -> bool:
        return self._token.kind is Kind.SIGN and self._token.text == text

    def _expect(self, sign: str) -> None:
        if not self._is_sign(sign):
            raise self._unexpected(repr(sign))
        self._advance()

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _unexpected(self, wanted: str) -> ConditionError:
        token = self._token
        hint = _FOREIGN.get(token.text.lower()) if token.kind is Kind.NAME else None
        return ConditionError(f"expected {wanted}, found {token}" + (f"; write {hint}" if hint else ""), token.position)
