"""The tree of a parsed condition, and its canonical text: ``parse(text_of(tree))`` is the tree again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Every number is a ``Decimal``."""

    value: str | bool | Decimal | None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """A field of the context, by its path."""

    path: tuple[str, ...]
    position: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Node"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``&&`` over two terms or more."""

    terms: tuple["Node", ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """``||`` over two terms or more."""

    terms: tuple["Node", ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    left: "Node"
    right: "Node"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """``member in choices``, where the choices are literals or a field that holds a list."""

    member: "Node"
    choices: tuple[Constant, ...] | Reference
    position: int = field(default=0, compare=False)


Node: TypeAlias = Constant | Reference | Not | Conjunction | Disjunction | Comparison | Membership


def text_of(node: Node) -> str:
    """The condition as text, with the fewest parentheses."""
    match node:
        case Constant(value):
            return _literal(value)
        case Reference():
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
        case Comparison(operator, left, right):
            return f"{_tight(left)} {operator} {_tight(right)}"
        case Membership(member, choices):
            return f"{_tight(member)} in {_choices(choices)}"
        case _:
            assert_never(node)


def _tight(node: Node) -> str:
    return text_of(node) if isinstance(node, Constant | Reference | Not) else f"({text_of(node)})"


def _choices(choices: tuple[Constant, ...] | Reference) -> str:
    return choices.name if isinstance(choices, Reference) else f"[{', '.join(map(text_of, choices))}]"


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


def references(node: Node) -> tuple[Reference, ...]:
    """Every field that the condition reads, each once, in the order of the text."""
    return tuple(dict.fromkeys(part for part in parts(node) if isinstance(part, Reference)))


def parts(node: Node) -> Iterator[Node]:
    """The node and everything in it, in the order of the text."""
    yield node
    match node:
        case Constant() | Reference():
            return
        case Not(operand):
            yield from parts(operand)
        case Conjunction(terms) | Disjunction(terms):
            for term in terms:
                yield from parts(term)
        case Comparison(left=left, right=right):
            yield from parts(left)
            yield from parts(right)
        case Membership(member, choices):
            yield from parts(member)
            yield from choices if isinstance(choices, tuple) else (choices,)
        case _:
            assert_never(node)


def size(node: Node) -> int:
    """How many nodes a tree has, each literal of a list included: what holding and deciding it costs."""
    match node:
        case Constant() | Reference():
            return 1
        case Not(operand):
            return 1 + size(operand)
        case Conjunction(terms) | Disjunction(terms):
            return 1 + sum(map(size, terms))
        case Comparison(left=left, right=right):
            return 1 + size(left) + size(right)
        case Membership(member, choices):
            return 1 + size(member) + (1 if isinstance(choices, Reference) else len(choices))
        case _:
            assert_never(node)
