"""Finds the rules that may be triggered by a call's fields, so that a thousand rules take about as long as a few."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import DecideCondition, compile_condition
from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode
from services.policy.core.rules import PreparedRule
from services.policy.core.values import ConditionError, Context
from shared.contracts.policy import ContextValue

_Literal: TypeAlias = str | bool | Decimal
_LITERAL_TYPES: Mapping[type, type] = {str: str, bool: bool, int: Decimal, Decimal: Decimal}  # by the type of a value
# Terms at the bound are decided anyway.
_INDEXED_SIGNS = {"==": "==", "===": "==", ">": ">", ">=": ">", "<": "<", "<=": "<"}


class FirstComparison(NamedTuple):
    """The first comparison of a term, and its literals, all of one type.

    If the field's value has that type and matches none of the literals, the term is false.
    """

    field: str
    sign: str
    literals: tuple[_Literal, ...]


class ConditionTerm(NamedTuple):
    """One of the terms that a condition's outermost ``||`` joins, with the indices of all rules that have it."""

    decide: DecideCondition
    comparisons: tuple[FirstComparison, ...]  # none where it may be true of any call
    rule_indices: list[int]

    def may_be_true(self, contexts: Sequence[Context]) -> bool:
        """Whether the term is true, unknown or an error in any of the contexts."""
        try:
            return any(self.decide(context) is not False for context in contexts)
        except ConditionError:
            return True


class RuleIndex:
    """Finds the rules that may apply to a call, by the first comparisons in their conditions, without deciding all of
    them.

    A condition is true, unknown or an error only if one of the terms joined by its outermost ``


    `` is. A term shared by rules is decided once.
    """

    def __init__(self, rules: Sequence[PreparedRule]) -> None:
        self.all = tuple(rules)
        self._terms = _collect_distinct_terms(rules)
        self._without_comparisons = [number for number, term in enumerate(self._terms) if not term.comparisons]
        self._comparisons = defaultdict[tuple[str, type], _ComparisonIndex](_ComparisonIndex)
        for number, term in enumerate(self._terms):
            for comparison in term.comparisons:
                self._comparisons[comparison.field, type(comparison.literals[0])].add_comparison(comparison, number)

    def find_possible_rules(self, contexts: Sequence[Context]) -> Sequence[PreparedRule]:
        """The rules whose condition is not false in at least one of the contexts."""
        term_numbers = set(self._without_comparisons)
        for (field, kind), comparisons in self._comparisons.items():
            for context in contexts:
                value = context.get(field)
                has_kind = _LITERAL_TYPES.get(type(value)) is kind
                term_numbers.update(comparisons.find_possible_terms(value) if has_kind else comparisons.numbers)
        rule_indices = set[int]()
        for number in term_numbers:
            term = self._terms[number]
            if not rule_indices.issuperset(term.rule_indices) and term.may_be_true(contexts):
                rule_indices.update(term.rule_indices)
        return [self.all[index] for index in sorted(rule_indices)]


class _ComparisonIndex:
    """An index for one field and one type of literals. It finds, by the field's value, the numbers of the terms whose
    first comparison compares that field with such a literal.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._equal = defaultdict[_Literal | int, list[int]](list)
        self._over: list[tuple[Decimal, int]] = []  # in the order of the literals
        self._under: list[tuple[Decimal, int]] = []

    def add_comparison(self, comparison: FirstComparison, term_number: int) -> None:
        self.numbers.append(term_number)
        for literal in comparison.literals:
            if comparison.sign != "==" and isinstance(literal, Decimal):
                insort(self._over if comparison.sign == ">" else self._under, (literal, term_number))
            else:
                self._equal[literal].append(term_number)

    def find_possible_terms(self, value: ContextValue) -> Sequence[int]:
        """The numbers of the terms that may be true for a field of this value; all for a list or an object."""
        if not isinstance(value, str | int | Decimal):
            return self.numbers
        numbers = [*self._equal.get(value, ())]
        if not isinstance(value, str | bool):
            numbers += [number for _, number in self._over[: bisect_right(self._over, value, key=_get_literal_of_pair)]]
            numbers += [
                number for _, number in self._under[bisect_left(self._under, value, key=_get_literal_of_pair) :]
            ]
        return numbers


def _get_literal_of_pair(literal_and_term: tuple[Decimal, int]) -> Decimal:
    return literal_and_term[0]


def _collect_distinct_terms(rules: Sequence[PreparedRule]) -> Sequence[ConditionTerm]:
    terms_by_node: dict[Node, ConditionTerm] = {}
    for index, rule in enumerate(rules):
        tree = rule.condition.tree
        for node in tree.operands if isinstance(tree, OperatorNode) and tree.sign == "||" else (tree,):
            if node not in terms_by_node:
                terms_by_node[node] = ConditionTerm(compile_condition(node), _find_first_comparisons(node), [])
            terms_by_node[node].rule_indices.append(index)
    return [*terms_by_node.values()]


def _find_first_comparisons(node: Node) -> tuple[FirstComparison, ...]:
    """The first comparisons of a term: several for an ``||`` in brackets; none if any call may match."""
    match node:
        case FieldReference((name,)):
            return (FirstComparison(name, "==", (True,)),)
        case OperatorNode("!", (FieldReference((name,)),)):
            return (FirstComparison(name, "==", (False,)),)
        case OperatorNode(sign, (FieldReference((name,)), Constant(value))) if (
            sign in _INDEXED_SIGNS and value is not None
        ):
            is_usable = isinstance(value, Decimal) or _INDEXED_SIGNS[sign] == "=="
            return (FirstComparison(name, _INDEXED_SIGNS[sign], (value,)),) if is_usable else ()
        case OperatorNode("in", (FieldReference((name,)), OperatorNode("[]", choices))):
            values = [choice.value for choice in choices if isinstance(choice, Constant)]
            literals = tuple(value for value in values if value is not None)
            is_of_one_kind = len(literals) == len(values) and len(set(map(type, literals))) == 1
            return (FirstComparison(name, "==", literals),) if is_of_one_kind else ()
        case OperatorNode("&&", (first, *_)):
            return _find_first_comparisons(first)
        case OperatorNode("||", terms):
            comparisons_of_terms = [_find_first_comparisons(term) for term in terms]
            if () in comparisons_of_terms:
                return ()
            return tuple(comparison for comparisons in comparisons_of_terms for comparison in comparisons)
        case _:
            return ()
