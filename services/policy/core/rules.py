"""Prepares conditional rules (checks words, parses conditions), and defines the findings of all kinds of rules."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias, TypeVar

from services.policy.core.conditions import Condition, parse_condition
from services.policy.core.grammar import FieldReference
from services.policy.core.values import ConditionError, Context
from shared.contracts import policy as contracts
from shared.domain.words import EscalationLevel, RuleAction

RESTS_ON_REQUEST_TEXT = "it rests on values that only the request gives"
SAID_BY_RECORD_TEXT = "the record says so, and the call otherwise"
SUMMED_FIGURES_TEXT = (
    "by all that the call says, together with other calls of the task that may concern the same record"
)
_MOST_CHARACTERS_SHOWN = 200
_MOST_ITEMS_SHOWN = 8


class RuleWithoutEffect(NamedTuple):
    """A rule that had no effect on the verdict because a field that it reads is missing.

    It had none since the request is provisional, the rule is ``if_known``, or it does not concern the call.
    """

    rule_id: str


class ReportOnlyFinding(NamedTuple):
    """A finding of a report-only rule: what the rule would have done."""

    finding: contracts.TriggeredRule | contracts.CallRefusal


Finding: TypeAlias = (
    contracts.TriggeredRule
    | contracts.CallRefusal
    | contracts.CallPrerequisite
    | ReportOnlyFinding
    | RuleWithoutEffect
    | contracts.PolicyProblem
    | contracts.TextFinding
)


def build_problem(policy_id: str, rule_id: str, error: ConditionError | str) -> contracts.PolicyProblem:
    """The problem of an invalid rule, with a sentence that names rule, position and cause."""
    position, cause = (None, error) if isinstance(error, str) else (error.position, error.cause)
    where = "" if position is None else f" at character {position}"
    message = f"policy invalid: rule {rule_id!r}{where}: {cause}"
    return contracts.PolicyProblem(rule_id=rule_id, policy_id=policy_id, position=position, message=message)


def write_undecided_sentence(missing_names: Sequence[str]) -> str:
    """A sentence for people on which missing fields leave a rule undecided."""
    return f"cannot be decided: {', '.join(missing_names)} missing or null"


def select_values_for_verdict(condition: Condition, context: Context) -> dict[str, contracts.ContextValue]:
    """The values of the fields that a condition used, shortened for the verdict."""
    return {name: shorten_value_for_verdict(value) for name, value in condition.read_values(context).items()}


def shorten_value_for_verdict(value: contracts.ContextValue) -> contracts.ContextValue:
    """A value for the verdict, with long texts and lists cut."""
    match value:
        case dict():
            return f"an object of {len(value)} fields"
        case list():
            return [_clip_text(item) for item in value[:_MOST_ITEMS_SHOWN]]
        case _:
            return _clip_text(value)


def _clip_text(value: contracts.Scalar) -> contracts.Scalar:
    is_long = isinstance(value, str) and len(value) > _MOST_CHARACTERS_SHOWN
    return f"{value[: _MOST_CHARACTERS_SHOWN - 1]}…" if isinstance(value, str) and is_long else value


MOST_APPROVERS = 20
FIELDS_NAMING_CALLS = ("tool", "verb", "process_type")  # by these a rule says which calls it is about
_EMPTY_CALL_NAMES = dict.fromkeys(FIELDS_NAMING_CALLS, "")
_Word = TypeVar("_Word", bound=StrEnum)
FIELDS_OF_EVERY_CALL = frozenset((*FIELDS_NAMING_CALLS, "tool_class", "call_id"))


class PreparedRule(NamedTuple):
    """A rule with its parsed condition."""

    policy_id: str
    rule: contracts.Rule
    action: RuleAction
    level: EscalationLevel | None  # set for all but a block that names none
    condition: Condition
    names_its_calls: bool  # it is about no call but those of the tools or the process that it names
    deciding_fields: tuple[FieldReference, ...]  # the fields by which it decides, but for those that every call has

    @property
    def reason(self) -> str:
        return self.rule.reason or self.rule.condition

    @property
    def cost(self) -> int:
        """What deciding and reporting the rule once costs, counted in nodes of its condition."""
        return 1 + self.condition.cost + (len(self.policy_id) + len(self.rule.id) + len(self.rule.reason or "")) // 16


def prepare_rule(policy_id: str, rule: contracts.Rule) -> PreparedRule:
    """Parses the rule. Raises ``ConditionError`` for its condition, ``ValueError`` for an unknown action or level."""
    action = parse_enum_word(RuleAction, "action", rule.action, "known actions")
    _check_approver_count(rule, action)
    condition = parse_condition(rule.condition)
    deciding_fields = tuple(field for field in condition.fields if field.path[0] not in FIELDS_OF_EVERY_CALL)
    return PreparedRule(
        policy_id,
        rule,
        action,
        _choose_approval_level(rule, action),
        condition,
        _concerns_named_calls_only(condition),
        deciding_fields,
    )


def _concerns_named_calls_only(condition: Condition) -> bool:
    """Whether the condition is false for every call of another tool or process, whatever its fields are."""
    if not any(field.name in FIELDS_NAMING_CALLS for field in condition.fields):
        return False
    try:
        return condition.decide(_EMPTY_CALL_NAMES) is False
    except ConditionError:
        return False


def parse_enum_word(words: type[_Word], name: str, text: str, label: str = "known") -> _Word:
    """The enum member for a word in any case. Raises ``ValueError`` for an unknown word, with a message of ``name``
    (what the word is, such as "action"), ``label`` and all known words.
    """
    try:
        return words(text.strip().lower())
    except ValueError:
        raise ValueError(f"unknown {name} {text!r}; {label}: {', '.join(words)}") from None


def _check_approver_count(rule: contracts.Rule, action: RuleAction) -> None:
    if rule.approvers is None:
        return
    if action is RuleAction.BLOCK:
        raise ValueError("approvers belong to rules that ask for an approval; this one blocks")
    if not 1 <= rule.approvers <= MOST_APPROVERS:
        raise ValueError(f"approvers is {rule.approvers}; it is from 1 to {MOST_APPROVERS}")


def _choose_approval_level(rule: contracts.Rule, action: RuleAction) -> EscalationLevel | None:
    if rule.level is not None:
        return EscalationLevel.parse(rule.level)
    return None if action is RuleAction.BLOCK else EscalationLevel.MANAGER
