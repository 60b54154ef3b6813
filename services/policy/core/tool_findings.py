"""What one rule about tools finds in one call: refused, to wait for another call, to be approved, or nothing."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.closures import value_at
from services.policy.core.confirmations import is_confirmed
from services.policy.core.findings import Undecided, is_proven
from services.policy.core.rules import problem
from services.policy.core.scenes import Scene
from services.policy.core.session_calls import Earlier, missing_of, preconditions, used_up
from services.policy.core.shown import RESTS_ON_THE_REQUEST, cannot_be_decided, shown, shown_values
from services.policy.core.tool_reasons import reason_of
from services.policy.core.tool_rules import ReadyToolRule
from services.policy.core.values import ConditionError, Unknown
from shared.contracts.policy import (
    CallNeed,
    CallOutcome,
    CallRefusal,
    Confirmation,
    ContextValue,
    PolicyProblem,
    ToolRuleKind,
    TriggeredRule,
)
from shared.domain.words import Level, RuleAction

ToolFinding: TypeAlias = CallRefusal | CallNeed | TriggeredRule | Undecided | PolicyProblem


class Before(NamedTuple):
    """What came before a call."""

    calls: Sequence[Earlier]
    confirmations: Sequence[Confirmation]


def tool_finding(ready: ReadyToolRule, scene: Scene, before: Before) -> ToolFinding | None:
    """What the rule says to the scene's call, whose tool it is about."""
    match ready.kind:
        case ToolRuleKind.NEVER:
            return _refused(ready, scene)
        case ToolRuleKind.AT_MOST:
            return _at_most(ready, scene, before)
        case ToolRuleKind.ONLY_AFTER:
            return _only_after(ready, scene, before)
        case ToolRuleKind.ONLY_WHEN:
            return _only_when(ready, scene)
        case ToolRuleKind.ONLY_AFTER_CONFIRMATION:
            return _only_after_confirmation(ready, scene, before)
        case ToolRuleKind.ALLOW:
            return None


def _at_most(ready: ReadyToolRule, scene: Scene, before: Before) -> ToolFinding | None:
    if missing := missing_of(ready.per, scene.context):
        return _undecided(ready, scene, missing)
    used = used_up(ready, before.calls, scene.context)
    return _refused(ready, scene, {**_told_apart(ready, scene), "calls": used}) if used >= ready.limit else None


def _only_after(ready: ReadyToolRule, scene: Scene, before: Before) -> ToolFinding | None:
    if missing := missing_of(ready.per, scene.context):
        return _undecided(ready, scene, missing)
    opening = tuple(preconditions(ready, before.calls, scene.context))
    if any(call.outcome is CallOutcome.SUCCEEDED for call in opening):
        return None
    planned = tuple(call.call_id for call in opening if call.call_id is not None)
    if not planned:
        return _refused(ready, scene, _told_apart(ready, scene))
    reason = reason_of(ready, scene.tool)
    return CallNeed(
        call_id=scene.call_id or "",
        any_of=planned,
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        reason=reason,
    )


def _only_when(ready: ReadyToolRule, scene: Scene) -> ToolFinding | None:
    if ready.condition is None:
        raise TypeError(f"rule {ready.rule.id!r} was prepared without its condition")
    try:
        decision = ready.condition.decide(scene.context)
    except ConditionError as error:
        return problem(ready.policy_id, ready.rule.id, error.cause, error.position)
    if isinstance(decision, Unknown):
        return _undecided(ready, scene, ready.condition.missing(scene.context))
    if not decision:
        return _refused(ready, scene, shown_values(ready.condition, scene.context))
    if scene.proven is not None and not is_proven(ready.condition, scene.proven, expected=True):
        refusal = _refused(ready, scene, shown_values(ready.condition, scene.context))
        return refusal.model_copy(
            update={"reason": f"{refusal.reason} ({RESTS_ON_THE_REQUEST})", "indeterminate": True}
        )
    return None


def _only_after_confirmation(ready: ReadyToolRule, scene: Scene, before: Before) -> ToolFinding | None:
    """A missing confirmation is asked for, as an approval: nobody but a person can give it."""
    if is_confirmed(scene.tool, scene.call_id or "", scene.context, ready.level, before.confirmations):
        return None
    return TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=RuleAction.REQUIRE_APPROVAL,
        level=(ready.level or Level.MANAGER).word,
        reason=reason_of(ready, scene.tool),
        call_id=scene.call_id,
    )


def _undecided(ready: ReadyToolRule, scene: Scene, missing: Sequence[str]) -> ToolFinding:
    if not scene.binding:
        return Undecided(ready.rule.id)
    refusal = _refused(ready, scene)
    reason = f"{refusal.reason} ({cannot_be_decided(missing)})"
    return refusal.model_copy(update={"reason": reason, "indeterminate": True})


def _refused(ready: ReadyToolRule, scene: Scene, values: dict[str, ContextValue] | None = None) -> CallRefusal:
    return CallRefusal(
        call_id=scene.call_id or "",
        tool=scene.tool,
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        kind=ready.kind.value,
        reason=reason_of(ready, scene.tool),
        values=values or {},
    )


def _told_apart(ready: ReadyToolRule, scene: Scene) -> dict[str, ContextValue]:
    found = {".".join(path): value_at(scene.context, path) for path in ready.per}
    return {name: shown(value) for name, value in found.items() if not isinstance(value, Unknown)}
