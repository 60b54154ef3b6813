"""Rules with conditions made ready: words understood and condition parsed."""

from enum import StrEnum
from typing import NamedTuple, TypeVar

from services.policy.core.conditions import Condition, ConditionCache
from services.policy.core.grammar import FieldReference
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, Rule
from shared.domain.words import Level, RuleAction

MOST_APPROVERS = 20
NAMES_CALLS = ("tool", "verb", "process_type")  # by these a rule says which calls it is about
_NO_CALL = dict.fromkeys(NAMES_CALLS, "")
_Word = TypeVar("_Word", bound=StrEnum)
_EVERY_CALL_HAS = frozenset((*NAMES_CALLS, "tool_class", "call_id"))


class ReadyRule(NamedTuple):
    policy_id: str
    rule: Rule
    action: RuleAction
    level: Level | None  # set for all but a block that names none
    condition: Condition
    states_calls: bool  # it is about no call but those of the tools or the process that it names
    looks_at: tuple[FieldReference, ...]  # the fields by which it decides, but for those that every call has

    @property
    def reason(self) -> str:
        return self.rule.reason or self.rule.condition

    @property
    def cost(self) -> int:
        """What deciding and reporting it once costs, in nodes."""
        return 1 + self.condition.cost + (len(self.policy_id) + len(self.rule.id) + len(self.rule.reason or "")) // 16


def ready_rule(policy: Policy, rule: Rule, conditions: ConditionCache) -> ReadyRule:
    """Raises ``ConditionError`` for its condition and ``ValueError`` for a word that nobody knows."""
    action = word_of(RuleAction, "action", rule.action, "known actions")
    _check_approvers(rule, action)
    condition = conditions.get(rule.condition)
    looks_at = tuple(field for field in condition.fields if field.path[0] not in _EVERY_CALL_HAS)
    return ReadyRule(policy.id, rule, action, _level(rule, action), condition, _states_calls(condition), looks_at)


def _states_calls(condition: Condition) -> bool:
    """Whether a call of another tool, in another process, is none of its business, whatever the fields are."""
    if not any(field.name in NAMES_CALLS for field in condition.fields):
        return False
    try:
        return condition.decide(_NO_CALL) is False
    except ConditionError:
        return False


def word_of(words: type[_Word], what: str, given: str, known: str = "known") -> _Word:
    """The word that is meant, in any case; ``ValueError`` names those that are ``known``."""
    try:
        return words(given.strip().lower())
    except ValueError:
        raise ValueError(f"unknown {what} {given!r}; {known}: {', '.join(words)}") from None


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
