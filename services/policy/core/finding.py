"""What rules of every kind find, as one list of findings; a rule that plainly does not act finds nothing."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import Condition
from services.policy.core.values import ConditionError, Context
from shared.contracts.policy import (
    CallNeed,
    CallRefusal,
    ContextValue,
    PolicyProblem,
    Scalar,
    TextFinding,
    TriggeredRule,
)

RESTS_ON_THE_REQUEST = "it rests on values that only the request gives"
SAID_BY_THE_RECORD = "the record says so, and the call otherwise"
_CHARACTERS = 200
_ITEMS = 8


class WaitingRule(NamedTuple):
    """A rule that waits for a field without effect.

    The request is provisional, or the rule acts only if known, or it has nothing to do with the call.
    """

    rule_id: str


class ReportedFinding(NamedTuple):
    """What a report-only rule would have done."""

    found: TriggeredRule | CallRefusal


Finding: TypeAlias = (
    TriggeredRule | CallRefusal | CallNeed | ReportedFinding | WaitingRule | PolicyProblem | TextFinding
)


def problem(policy_id: str, rule_id: str, error: ConditionError | str) -> PolicyProblem:
    """A rule that makes the policy invalid, in one sentence that names rule, position and cause."""
    position, cause = (None, error) if isinstance(error, str) else (error.position, error.cause)
    where = "" if position is None else f" at character {position}"
    message = f"policy invalid: rule {rule_id!r}{where}: {cause}"
    return PolicyProblem(rule_id=rule_id, policy_id=policy_id, position=position, message=message)


def cannot_be_decided(missing: Sequence[str]) -> str:
    """Why a rule is undecided, for people."""
    return f"cannot be decided: {', '.join(missing)} missing or null"


def shown_values(condition: Condition, context: Context) -> dict[str, ContextValue]:
    """The fields that a condition read."""
    return {name: shorten_value(value) for name, value in condition.values(context).items()}


def shorten_value(value: ContextValue) -> ContextValue:
    """A value as a verdict repeats it: short, whatever the rule saw."""
    match value:
        case dict():
            return f"an object of {len(value)} fields"
        case list():
            return [_clip_text(item) for item in value[:_ITEMS]]
        case _:
            return _clip_text(value)


def _clip_text(value: Scalar) -> Scalar:
    is_long = isinstance(value, str) and len(value) > _CHARACTERS
    return f"{value[: _CHARACTERS - 1]}…" if isinstance(value, str) and is_long else value
