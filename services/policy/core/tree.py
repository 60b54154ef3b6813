"""The tree of a parsed condition."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias


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
    for inner in _inner(node):
        yield from parts(inner)


def _inner(node: Node) -> tuple[Node, ...]:
    match node:
        case Not(operand):
            return (operand,)
        case Conjunction(terms) | Disjunction(terms):
            return terms
        case ComparisonNode(left=left, right=right):
            return (left, right)
        case Membership(member, choices):
            return (member, choices) if isinstance(choices, FieldReference) else (member, *choices)
        case _:
            return ()


def tools_named(node: Node) -> frozenset[str] | None:
    """The tools of which the condition's beginning leaves it open; for any other it is false, and no field is read.

    None where it does not begin with a tool.
    """
    match node:
        case ComparisonNode("==" | "===", FieldReference(("tool",)), Constant(str(name))):
            return frozenset({name})
        case Membership(FieldReference(("tool",)), tuple(choices)) if all(
            isinstance(one.value, str) for one in choices
        ):
            return frozenset(str(one.value) for one in choices)
        case Conjunction(terms):
            return tools_named(terms[0])
        case Disjunction(terms):
            named = [tools_named(term) for term in terms]
            known = [tools for tools in named if tools is not None]
            return frozenset().union(*known) if len(known) == len(named) else None
        case _:
            return None
