"""The rules of a policy found by the fields of a call, so that a thousand rules cost what the few cost that may act."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, Self, TypeAlias

from services.policy.core.conditions import Decide, decider
from services.policy.core.grammar import (
    ComparisonNode,
    Conjunction,
    Constant,
    Disjunction,
    FieldReference,
    Membership,
    Node,
    Not,
    parts,
)
from services.policy.core.rules import ReadyRule
from services.policy.core.values import ConditionError, Context
from shared.contracts.policy import ContextValue

_Literal: TypeAlias = str | bool | Decimal
_KINDS: Mapping[type, type] = {str: str, bool: bool, int: Decimal, Decimal: Decimal}  # of values, as literals have them
_SIGNS = {"==": "==", "===": "==", ">": ">", ">=": ">", "<": "<", "<=": "<"}  # terms at the bound are decided anyway


class FirstLook(NamedTuple):
    """How a term begins, with literals of one kind.

    Where the field has a value of that kind which fits none of them, the term is false and nothing else of it is read.
    """

    field: str
    sign: str
    literals: tuple[_Literal, ...]


class Term(NamedTuple):
    """One of the terms that the outermost ``||`` of a condition joins, and the places of all rules that have it."""

    decide: Decide
    looks: tuple[FirstLook, ...]  # none where it may be true of any call
    places: list[int]

    def may_be_true(self, contexts: Sequence[Context]) -> bool:
        """Whether it is true, unknown or an error in one of the contexts."""
        try:
            return any(self.decide(context) is not False for context in contexts)
        except ConditionError:
            return True


class RuleIndex:
    """The rules in their order. A condition is true, unknown or an error only where one of its terms is.

    A term that several rules have is decided once for all of them.
    """

    def __init__(self, rules: Sequence[ReadyRule]) -> None:
        self.all = tuple(rules)
        self._terms = _terms_of(rules)
        self._without_looks = [number for number, term in enumerate(self._terms) if not term.looks]
        looks = defaultdict[tuple[str, type], list[tuple[FirstLook, int]]](list)
        for number, term in enumerate(self._terms):
            for look in term.looks:
                looks[look.field, type(look.literals[0])].append((look, number))
        self._by_look = {key: _Looks.collect(found) for key, found in looks.items()}
        self._of_tool = defaultdict[str, list[ReadyRule]](list)
        self._of_field = defaultdict[str | None, list[ReadyRule]](list)
        for rule, tools in zip(rules, self._find_tools(), strict=True):
            for tool in tools or ():
                self._of_tool[tool].append(rule)
            for field in () if tools else (None,) if rule.reads is None else rule.reads:
                self._of_field[field].append(rule)

    def find_open(self, contexts: Sequence[Context]) -> Sequence[ReadyRule]:
        """The rules but those that are false in each of the contexts."""
        seen = set(self._without_looks)
        for (field, kind), looks in self._by_look.items():
            for context in contexts:
                value = context.get(field)
                seen.update(looks.fitting(value) if _KINDS.get(type(value)) is kind else looks.numbers)
        places = set[int]()
        for number in seen:
            term = self._terms[number]
            if not places.issuperset(term.places) and term.may_be_true(contexts):
                places.update(term.places)
        return [self.all[place] for place in sorted(places)]

    def find_applicable(self, tool: str, fields: Iterable[str]) -> Iterable[ReadyRule]:
        """The rules that may have to do with a call of the tool that has these fields, some of them twice."""
        yield from self._of_tool.get(tool, ())
        for field in (None, *fields):
            yield from self._of_field.get(field, ())

    def _find_tools(self) -> Sequence[frozenset[str] | None]:
        """Of each rule the tools that all of its terms begin with; None where one does not."""
        found: list[frozenset[str] | None] = [frozenset() for _ in self.all]
        for term in self._terms:
            tools = {str(one) for look in term.looks if look.field == "tool" for one in look.literals}
            is_led = bool(term.looks) and all((look.field, look.sign) == ("tool", "==") for look in term.looks)
            for place in term.places:
                known = found[place]
                found[place] = known | tools if is_led and known is not None and "" not in tools else None
        return found


class _Looks(NamedTuple):
    """The numbers of the terms that begin with one field and literals of one kind, by these."""

    numbers: tuple[int, ...]
    equal: Mapping[_Literal | int, Sequence[int]]
    over: Sequence[tuple[Decimal, int]]  # in the order of the literals
    under: Sequence[tuple[Decimal, int]]

    @classmethod
    def collect(cls, looks: Sequence[tuple[FirstLook, int]]) -> Self:
        equal = defaultdict[_Literal | int, list[int]](list)
        ordered = defaultdict[str, list[tuple[Decimal, int]]](list)
        for look, number in looks:
            for literal in look.literals:
                if look.sign != "==" and isinstance(literal, Decimal):
                    ordered[look.sign].append((literal, number))
                else:
                    equal[literal].append(number)
        return cls(tuple(number for _, number in looks), dict(equal), sorted(ordered[">"]), sorted(ordered["<"]))

    def fitting(self, value: ContextValue) -> Sequence[int]:
        """The terms that a value of their kind leaves open."""
        if not isinstance(value, str | int | Decimal):
            return self.numbers
        found = list(self.equal.get(value, ()))
        if not isinstance(value, str | bool):
            found += [number for _, number in self.over[: bisect_right(self.over, value, key=_literal)]]
            found += [number for _, number in self.under[bisect_left(self.under, value, key=_literal) :]]
        return found


def _literal(one: tuple[Decimal, int]) -> Decimal:
    return one[0]


def _terms_of(rules: Sequence[ReadyRule]) -> Sequence[Term]:
    found: dict[Hashable, Term] = {}
    for place, rule in enumerate(rules):
        tree = rule.condition.tree
        for node in tree.terms if isinstance(tree, Disjunction) else (tree,):
            identity = _identity(node)
            if identity not in found:
                found[identity] = Term(decider(node), _first_looks(node) or (), [])
            found[identity].places.append(place)
    return [*found.values()]


def _identity(tree: Node) -> Hashable:
    """Trees of one identity decide alike; ``True`` and 1 are equal in Python, and not here."""
    return tree, tuple(type(part.value) for part in parts(tree) if isinstance(part, Constant))


def _first_looks(node: Node) -> tuple[FirstLook, ...] | None:
    """How the term begins; several where that is an ``||`` in brackets; None where it may be true of any call."""
    match node:
        case FieldReference((name,)):
            return (FirstLook(name, "==", (True,)),)
        case Not(FieldReference((name,))):
            return (FirstLook(name, "==", (False,)),)
        case ComparisonNode(
            "==" | "===" as sign, FieldReference((name,)), Constant(str() | bool() | Decimal() as value)
        ):
            return (FirstLook(name, "==", (value,)),)
        case ComparisonNode(sign, FieldReference((name,)), Constant(Decimal() as value)) if sign in _SIGNS:
            return (FirstLook(name, _SIGNS[sign], (value,)),)
        case Membership(FieldReference((name,)), tuple(choices)):
            values = tuple(one.value for one in choices if one.value is not None)
            is_of_one_kind = len(values) == len(choices) and len(set(map(type, values))) == 1
            return (FirstLook(name, "==", values),) if is_of_one_kind else None
        case Conjunction(terms):
            return _first_looks(terms[0])
        case Disjunction(terms):
            found = [_first_looks(term) for term in terms]
            known = [looks for looks in found if looks is not None]
            return tuple(look for looks in known for look in looks) if len(known) == len(found) else None
        case _:
            return None
