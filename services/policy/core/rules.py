"""Rules made ready: action and level understood, condition parsed; or the problem that keeps them from it."""

from typing import NamedTuple

from services.policy.core.conditions import Condition, Conditions
from services.policy.core.tree import Reference
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, PolicyProblem, Rule
from shared.domain.words import Level, RuleAction

MOST_APPROVERS = 20
_CALLS = ("tool", "verb", "process_type")  # by these a rule says which calls it is about
_NO_CALL = dict.fromkeys(_CALLS, "")
EVERY_CALL_HAS = frozenset((*_CALLS, "tool_class", "call_id"))


class ReadyRule(NamedTuple):
    policy_id: str
    rule: Rule
    action: RuleAction
    level: Level | None  # set for all but a block that names none
    condition: Condition
    states_calls: bool = False  # it is about no call but those of the tools or the process that it names
    looks_at: tuple[Reference, ...] = ()  # the fields by which it decides, but for those that every call has

    @property
    def cost(self) -> int:
        """What deciding and reporting it once costs, in nodes."""
        return 1 + self.condition.cost + (len(self.policy_id) + len(self.rule.id) + len(self.rule.reason or "")) // 16


def ready_rule(policy: Policy, rule: Rule, conditions: Conditions) -> ReadyRule:
    """Raises ``ConditionError`` for its condition and ``ValueError`` for a word that nobody knows."""
    action = _action(rule.action)
    _check_approvers(rule, action)
    condition = conditions.get(rule.condition)
    looks_at = tuple(field for field in condition.fields if field.path[0] not in EVERY_CALL_HAS)
    return ReadyRule(policy.id, rule, action, _level(rule, action), condition, _states_calls(condition), looks_at)


def problem(policy_id: str, rule_id: str, cause: str, position: int | None = None) -> PolicyProblem:
    """A rule that makes the policy invalid, in one sentence that names rule, position and cause."""
    where = "" if position is None else f" at character {position}"
    message = f"policy invalid: rule {rule_id!r}{where}: {cause}"
    return PolicyProblem(rule_id=rule_id, policy_id=policy_id, position=position, message=message)


def _states_calls(condition: Condition) -> bool:
    """Whether a call of another tool, in another process, is none of its business, whatever the fields are."""
    if not any(field.name in _CALLS for field in condition.fields):
        return False
    try:
        return condition.decide(_NO_CALL) is False
    except ConditionError:
        return False


def _action(word: str) -> RuleAction:
    try:
        return RuleAction(word.strip().lower())
    except ValueError:
        raise ValueError(f"unknown action {word!r}; known actions: {', '.join(RuleAction)}") from None


def _check_approvers(rule: Rule, action: RuleAction) -> None:
    if rule.approvers is None:
        return
    if action is RuleAction.BLOCK:
        raise ValueError("approvers belong to rules that ask for an approval; this one blocks")
    if not 1 <= rule.approvers <= MOST_APPROVERS:
        raise ValueError(f"approvers is {rule.approvers}; it is from 1 to {MOST_APPROVERS}")


def _level(rule: Rule, action: RuleAction) -> Level | None:
    if rule.level is not None:
        return Level.parse(rule.level)
    return None if action is RuleAction.BLOCK else Level.MANAGER
