"""Conditions compiled to closures, so that evaluation needs neither ``eval`` nor parsing."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import not_
from typing import NamedTuple, TypeAlias, cast

from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode, parse_condition_tree, walk_nodes
from services.policy.core.values import (
    COMPARE_BY_OPERATOR,
    UNKNOWN,
    ConditionError,
    Context,
    Truth,
    TypeClash,
    UnknownTruth,
    Value,
    to_truth,
)
from shared.contracts.policy import ContextValue, Scalar
from shared.domain.lru_cache import WeightedCache

MOST_NODES_CACHED = 100_000  # nodes of all conditions that are held
DecideCondition: TypeAlias = Callable[[Context], Truth]
# A plain field against a literal has a short way, a bound method of the literal: `amount > 5` asks `5 < amount`.
_TEXT_METHODS = {"==": "__eq__", "===": "__eq__", "!=": "__ne__", "!==": "__ne__"}
_NUMBER_METHODS = {**_TEXT_METHODS, ">": "__lt__", "<": "__gt__", ">=": "__le__", "<=": "__ge__"}


class Condition(NamedTuple):
    """A parsed condition. ``decide`` gets the context (fields by name) and returns true, false or unknown; it raises
    ``ConditionError`` if the condition cannot be evaluated there.
    """

    tree: Node
    fields: tuple[FieldReference, ...]  # each once, in the order of the text
    cost: int  # of holding and of deciding it
    decide: DecideCondition

    def read_values(self, context: Context) -> dict[str, ContextValue]:
        """The values of the fields that the condition reads; absent ones are left out."""
        values = {field.name: get_value_at_path(context, field.path) for field in self.fields}
        return {name: value for name, value in values.items() if not isinstance(value, UnknownTruth)}

    def find_missing_fields(self, context: Context) -> tuple[str, ...]:
        """The names of the fields that the condition reads and that are absent or null."""
        values = self.read_values(context)
        return tuple(field.name for field in self.fields if values.get(field.name) is None)


_condition_cache = WeightedCache[str, Condition](MOST_NODES_CACHED)  # by their texts


def parse_condition(text: str) -> Condition:
    """Parses the text of a condition, or takes it from the cache if it was parsed before. Raises ``ConditionError``."""
    condition = _condition_cache.look_up(text)
    if condition is None:
        tree = parse_condition_tree(text)
        nodes = tuple(walk_nodes(tree))
        fields = tuple(dict.fromkeys(node for node in nodes if isinstance(node, FieldReference)))
        condition = Condition(tree, fields, len(nodes) + len(text) // 32, compile_condition(tree))
        _condition_cache.put(text, condition, condition.cost)
    return condition


def get_value_at_path(context: Context, path: Sequence[str]) -> Value:
    """The context's value at a path of field names; ``UNKNOWN`` if a step is missing or its value has no fields."""
    for step in path[:-1]:
        inner = context.get(step)
        if not isinstance(inner, dict):
            return UNKNOWN
        context = cast(Context, inner)  # a dict's value type is invariant; what lies inside is narrower
    return context.get(path[-1], UNKNOWN)


def compile_condition(node: Node) -> DecideCondition:
    """A closure that decides a condition for a context: true, false or unknown. It may raise ``ConditionError``."""
    match node:
        case OperatorNode("&&" | "||" as sign, terms):
            return _join_terms(tuple(map(compile_condition, terms)), settles=sign == "||")
        case OperatorNode("!", (FieldReference((name,)) as field,)):
            return _compile_fast_path(
                name, bool, not_, _negate_term(_add_position_to_errors(to_truth, (field,), field.position))
            )
        case OperatorNode("!", (operand,)):
            return _negate_term(compile_condition(operand))
        case OperatorNode(sign, operands):
            general = _add_position_to_errors(COMPARE_BY_OPERATOR[sign], operands, node.position)
            match operands:
                case (FieldReference((name,)), Constant(Decimal() as number)) if sign in _NUMBER_METHODS:
                    literal = int(number) if number == number.to_integral_value() else number  # whole ones are faster
                    return _compile_fast_path(name, type(literal), getattr(literal, _NUMBER_METHODS[sign]), general)
                case (FieldReference((name,)), Constant(str() as text)) if sign in _TEXT_METHODS:
                    return _compile_fast_path(name, str, getattr(text, _TEXT_METHODS[sign]), general)
            return general
        case FieldReference((name,)):
            return _compile_fast_path(name, bool, bool, _add_position_to_errors(to_truth, (node,), node.position))
        case _:
            return _add_position_to_errors(to_truth, (node,), node.position)


def _join_terms(terms: Sequence[DecideCondition], *, settles: bool) -> DecideCondition:
    """A closure for ``||`` or ``&&``. ``settles``: the value of a term that decides the whole."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2  # in halves, so that two thousand terms are eleven calls deep
    decide_first = _join_terms(terms[:half], settles=settles)
    decide_second = _join_terms(terms[half:], settles=settles)

    def decide_terms(context: Context) -> Truth:
        truth = decide_first(context)
        if truth is settles:
            return truth
        second_truth = decide_second(context)
        return UNKNOWN if truth is UNKNOWN and second_truth is not settles else second_truth

    return decide_terms


def _negate_term(decide: DecideCondition) -> DecideCondition:
    def decide_opposite(context: Context) -> Truth:
        truth = decide(context)
        return UNKNOWN if truth is UNKNOWN else not truth

    return decide_opposite


def _compile_fast_path(
    name: str, kind: type, holds: Callable[[object], bool], general: DecideCondition
) -> DecideCondition:
    """A closure that decides values of one type by ``holds``, and leaves all others to ``general``."""

    def decide_one_field(context: Context) -> Truth:
        value = context.get(name, UNKNOWN)
        if type(value) is kind:  # not isinstance: a boolean is no number
            return holds(value)
        return UNKNOWN if value is UNKNOWN else general(context)

    return decide_one_field


def _add_position_to_errors(compare: Callable[..., Truth], operands: Sequence[Node], position: int) -> DecideCondition:
    """A closure that compares operands; raises ``ConditionError`` with ``position`` for a ``TypeClash``."""
    readers = tuple(map(_make_value_reader, operands))

    def compare_or_locate(context: Context) -> Truth:
        try:
            return compare(*[read(context) for read in readers])
        except TypeClash as clash:
            raise ConditionError(str(clash), position) from clash

    return compare_or_locate


def _make_value_reader(node: Node) -> Callable[[Context], Value]:
    match node:
        case Constant(value):
            return lambda _: value
        case FieldReference(path):
            return lambda context: get_value_at_path(context, path)
        case OperatorNode("[]", choices):
            literals: list[Scalar] = [choice.value for choice in choices if isinstance(choice, Constant)]
            return lambda _: literals
        case _:
            return compile_condition(node)
