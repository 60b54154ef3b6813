"""Policies made ready to decide: every rule understood, or named as a problem; and the memory of those seen before."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from services.policy.core.conditions import Conditions
from services.policy.core.hashes import policy_hash
from services.policy.core.limits import refuse_too_much_text
from services.policy.core.rules import ReadyRule, problem, ready_rule
from services.policy.core.text_rules import ReadyTexts, ready_text_rule, text_default
from services.policy.core.tool_rules import ReadyToolRule, ToolDefault, ready_tool_rule, tool_default
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, PolicyProblem

REMEMBERED = 1024 * 1024  # bytes of the keys; what a rule stands for takes fifty times its own
_T = TypeVar("_T")


class ReadyPolicy(NamedTuple):
    policy: Policy
    rules: tuple[ReadyRule, ...]
    tool_rules: tuple[ReadyToolRule, ...]
    tool_default: ToolDefault
    texts: ReadyTexts


class Prepared(NamedTuple):
    """What a request's policies mean, whatever else the request asks."""

    policies: tuple[Policy, ...]
    ready: tuple[ReadyPolicy, ...]
    problems: tuple[PolicyProblem, ...]
    hash: str
    rules: int
    cost: int  # of deciding all rules for one call
    rules_about_tools: int
    looks_back: int  # how often one call is compared with each earlier one
    pattern_sizes: tuple[int, ...]
    keywords: int


class PreparedPolicies:
    """Prepares the same policies once. What was not used for longest is forgotten when ``limit`` is exceeded."""

    def __init__(self, conditions: Conditions, limit: int = REMEMBERED) -> None:
        self._conditions = conditions
        self._limit = limit
        self._held: OrderedDict[bytes, Prepared] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: bytes, read: Callable[[], Sequence[Policy]]) -> Prepared:
        """What was prepared under that key; ``read`` gives the policies where they are new, and may raise."""
        prepared = self._held.get(key)
        if prepared is not None:
            self._held.move_to_end(key)
            return prepared
        return self._remember(key, prepare(read(), self._conditions))

    def _remember(self, key: bytes, prepared: Prepared) -> Prepared:
        self._held[key] = prepared
        self._size += len(key)
        while self._size > self._limit:
            forgotten, _ = self._held.popitem(last=False)
            self._size -= len(forgotten)
        return prepared


def prepare(policies: Sequence[Policy], conditions: Conditions) -> Prepared:
    """Raises ``TooMuch`` for more text than the service takes."""
    refuse_too_much_text(policies)
    problems: list[PolicyProblem] = []
    ready = tuple(_ready(policy, conditions, problems) for policy in policies)
    conditional = [rule for policy in ready for rule in policy.rules]
    about_tools = [rule for policy in ready for rule in policy.tool_rules]
    about_text = [rule for policy in ready for rule in policy.texts.rules]
    return Prepared(
        policies=tuple(policies),
        ready=ready,
        problems=tuple(problems),
        hash=policy_hash(policies),
        rules=len(conditional) + len(about_tools),
        cost=sum(rule.cost for rule in conditional) + sum(rule.cost for rule in about_tools),
        rules_about_tools=len(about_tools),
        looks_back=sum(1 + 4 * len(rule.per) + len(rule.rule.after) // 4 for rule in about_tools if rule.looks_back),
        pattern_sizes=tuple(rule.pattern.size for rule in about_text if rule.pattern),
        keywords=sum(len(rule.words) for rule in about_text),
    )


def _ready(policy: Policy, conditions: Conditions, problems: list[PolicyProblem]) -> ReadyPolicy:
    def understood(rule_id: str, make: Callable[[], _T]) -> Iterable[_T]:
        """What ``make`` makes, or nothing and a problem."""
        try:
            yield make()
        except ConditionError as error:
            problems.append(problem(policy.id, rule_id, error.cause, error.position))
        except ValueError as error:
            problems.append(problem(policy.id, rule_id, str(error)))

    rules = [understood(rule.id, partial(ready_rule, policy, rule, conditions)) for rule in policy.rules]
    tool_rules = [understood(rule.id, partial(ready_tool_rule, policy, rule, conditions)) for rule in policy.tool_rules]
    texts = [understood(rule.id, partial(ready_text_rule, rule)) for rule in policy.text_rules]
    default_for_tools = understood("toolDefault", partial(tool_default, policy))
    default_for_texts = understood("textDefault", partial(text_default, policy))
    return ReadyPolicy(
        policy,
        _all(rules),
        _all(tool_rules),
        next(iter(default_for_tools), "deny"),
        ReadyTexts(policy.id, _all(texts), next(iter(default_for_texts), "deny")),
    )


def _all(found: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    return tuple(made for each in found for made in each)
