"""What the rules of one policy find in a request: a rule is decided once for each planned call, or once without."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from services.policy.core.rules import ReadyRule, problem
from services.policy.core.values import ConditionError, Context, Unknown
from shared.contracts.policy import ContextValue, EvaluateRequest, Policy, PolicyProblem, Scalar, TriggeredRule
from shared.domain.words import Level, RuleAction

_SHOWN_CHARACTERS = 200
_SHOWN_ITEMS = 8


class Undecided(NamedTuple):
    """A rule of a provisional request that waits for a field; it has no effect."""

    rule_id: str


class _Scene(NamedTuple):
    call_id: str | None
    context: Context
    binding: bool


Finding: TypeAlias = TriggeredRule | Undecided | PolicyProblem


def findings(rules: Iterable[ReadyRule], policy: Policy, request: EvaluateRequest) -> Iterator[Finding]:
    """Everything that is not a plain "does not apply", call by call in the order of the plan."""
    rules = tuple(rules)
    for scene in _scenes(policy, request):
        for ready in rules:
            if finding := _finding(ready, scene):
                yield finding


def _scenes(policy: Policy, request: EvaluateRequest) -> Iterator[_Scene]:
    """The request's facts win over the policy's own, a call's fields over both, and its true tool over its fields."""
    context: Context = {**policy.context, **request.context}
    if not request.calls:
        yield _Scene(None, context, request.binding)
    for call in request.calls:
        fields = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
        yield _Scene(call.call_id, fields, request.binding)


def _finding(ready: ReadyRule, scene: _Scene) -> Finding | None:
    try:
        decision = ready.condition.decide(scene.context)
    except ConditionError as error:
        return problem(ready.policy_id, ready.rule.id, error.cause, error.position)
    if decision is False:
        return None
    if not isinstance(decision, Unknown):
        return _triggered(ready, scene)
    return _in_doubt(ready, scene) if scene.binding else Undecided(ready.rule.id)


def _triggered(ready: ReadyRule, scene: _Scene) -> TriggeredRule:
    return TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=ready.action,
        level=ready.level.word if ready.level else None,
        reason=ready.rule.reason or ready.rule.condition,
        call_id=scene.call_id,
        values=_values(ready, scene),
    )


def _in_doubt(ready: ReadyRule, scene: _Scene) -> TriggeredRule:
    missing = ", ".join(ready.condition.missing(scene.context))
    return TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=RuleAction.ESCALATE,
        level=(ready.level or Level.MANAGER).word,
        reason=f"{ready.rule.reason or ready.rule.condition} (cannot be decided: {missing} missing or null)",
        call_id=scene.call_id,
        values=_values(ready, scene),
        indeterminate=True,
    )


def _values(ready: ReadyRule, scene: _Scene) -> dict[str, ContextValue]:
    return {name: _shown(value) for name, value in ready.condition.values(scene.context).items()}


def _shown(value: ContextValue) -> ContextValue:
    """A value short enough to be repeated in a verdict."""
    match value:
        case dict():
            return f"an object of {len(value)} fields"
        case list():
            return [_clipped(item) for item in value[:_SHOWN_ITEMS]]
        case _:
            return _clipped(value)


def _clipped(value: Scalar) -> Scalar:
    if isinstance(value, str) and len(value) > _SHOWN_CHARACTERS:
        return value[: _SHOWN_CHARACTERS - 1] + "…"
    return value
