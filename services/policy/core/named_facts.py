"""What rules name: the tools they are about, and the fields they read."""

from collections.abc import Iterable, Iterator, Sequence

from services.policy.core.conditions import Condition, parse_condition
from services.policy.core.grammar import Constant, FieldReference, Node, OperatorNode, walk_nodes
from services.policy.core.rules import FIELDS_OF_EVERY_CALL
from services.policy.core.tool_rules import make_name_matcher
from services.policy.core.values import COMPARE_BY_OPERATOR, ConditionError
from shared.contracts.policy import EvaluateRequest, Policy


def list_unlisted_tools(policies: Sequence[Policy], tools: Iterable[str]) -> tuple[str, ...]:
    """The tool names and patterns (with ``*``) of the rules that match none of ``tools``."""
    listed = frozenset(tools)
    names = dict.fromkeys(name for policy in policies for name in _find_tools_in_rules(policy))
    return tuple(name for name in names if not any(map(make_name_matcher(name), listed)))


def list_absent_fields(policies: Sequence[Policy], request: EvaluateRequest) -> tuple[str, ...]:
    """The fields that the rules read but that neither a policy's context nor any part of the request contains."""
    given = {*request.context, *(name for policy in policies for name in policy.context)}
    for call in request.calls:
        given.update(call.fields, call.summed, call.unknown_fields or (), *call.recorded, *call.rows)
    for fields in (*(call.fields for call in request.history), *(yes.fields for yes in request.confirmations)):
        given.update(fields)
    names = dict.fromkeys(name for policy in policies for name in _find_fields_in_conditions(policy))
    return tuple(name for name in names if name.partition(".")[0] not in given | FIELDS_OF_EVERY_CALL)


def list_tools_in_condition(condition: Condition) -> tuple[str, ...]:
    """The texts that the condition compares the field ``tool`` with."""
    return tuple(dict.fromkeys(_find_tools_in_tree(condition.tree)))


def _find_tools_in_tree(tree: Node) -> Iterator[str]:
    for node in walk_nodes(tree):
        if (
            isinstance(node, OperatorNode)
            and FieldReference(("tool",)) in node.operands
            and node.sign in COMPARE_BY_OPERATOR
        ):
            for operand in node.operands:
                choices = operand.operands if isinstance(operand, OperatorNode) and operand.sign == "[]" else (operand,)
                literals = (choice.value for choice in choices if isinstance(choice, Constant))
                yield from (literal for literal in literals if isinstance(literal, str))


def _find_tools_in_rules(policy: Policy) -> Iterator[str]:
    for condition in _find_conditions(policy):
        yield from list_tools_in_condition(condition)
    for rule in policy.tool_rules:
        yield from (rule.tool, *rule.after)


def _find_fields_in_conditions(policy: Policy) -> Iterator[str]:
    for condition in _find_conditions(policy):
        yield from (field.name for field in condition.fields)
    for rule in policy.tool_rules:
        yield from rule.per


def _find_conditions(policy: Policy) -> Iterator[Condition]:
    """Yields the conditions of all rules, but for those that cannot be parsed."""
    texts = (*(rule.condition for rule in policy.rules), *(rule.condition for rule in policy.tool_rules))
    for text in filter(None, texts):
        try:
            yield parse_condition(text)
        except ConditionError:
            continue
