"""A condition's tree as text: ``parse(text_of(tree))`` is the tree again."""

from decimal import Decimal
from typing import assert_never

from services.policy.core.grammar import (
    ComparisonNode,
    Conjunction,
    Constant,
    Disjunction,
    FieldReference,
    Membership,
    Node,
    Not,
)


def text_of(node: Node) -> str:
    """The condition as text, with the fewest parentheses."""
    match node:
        case Constant(value):
            return _literal(value)
        case FieldReference():
            return node.name
        case Not(operand):
            return "!" + _tight(operand)
        case Conjunction(terms):
            return " && ".join(
                f"({text_of(term)})" if isinstance(term, Conjunction | Disjunction) else text_of(term) for term in terms
            )
        case Disjunction(terms):
            return " || ".join(
                f"({text_of(term)})" if isinstance(term, Disjunction) else text_of(term) for term in terms
            )
        case ComparisonNode(operator, left, right):
            return f"{_tight(left)} {operator} {_tight(right)}"
        case Membership(member, choices):
            return f"{_tight(member)} in {_choices(choices)}"
        case _:
            assert_never(node)


def _tight(node: Node) -> str:
    return text_of(node) if isinstance(node, Constant | FieldReference | Not) else f"({text_of(node)})"


def _choices(choices: tuple[Constant, ...] | FieldReference) -> str:
    return choices.name if isinstance(choices, FieldReference) else f"[{', '.join(map(text_of, choices))}]"


def _literal(value: str | bool | Decimal | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case _:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
