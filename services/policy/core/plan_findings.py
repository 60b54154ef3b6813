"""What rules about tools find in a whole plan, in its order: a refused call opens no way and uses up no limit."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import value_at
from services.policy.core.findings import Finding, ReportedFinding, Undecided, is_proven
from services.policy.core.prepared import ReadyPolicy
from services.policy.core.rules import problem
from services.policy.core.scenes import RESTS_ON_THE_REQUEST, CallScene, cannot_be_decided, shorten_value, shown_values
from services.policy.core.session_calls import (
    Before,
    Earlier,
    count_used,
    is_confirmed,
    missing_of,
    past,
    preconditions,
)
from services.policy.core.tool_rules import ReadyToolRule, ToolDefault, is_left_out, why_left_out
from services.policy.core.values import ConditionError, UnknownTruth
from shared.contracts.policy import (
    CallContext,
    CallNeed,
    CallOutcome,
    CallRefusal,
    ContextValue,
    EvaluateRequest,
    PolicyProblem,
    ToolRuleKind,
    TriggeredRule,
)
from shared.domain.words import Level, RuleAction

_OfRule: TypeAlias = CallRefusal | CallNeed | TriggeredRule | Undecided | PolicyProblem


def plan_findings(
    ready: Sequence[ReadyPolicy], scenes: Sequence[Sequence[CallScene]], request: EvaluateRequest
) -> list[Finding]:
    """``scenes``: for each policy, the scenes of the calls."""
    found: list[Finding] = []
    if not any(policy.tool_rules or policy.tool_default is not ToolDefault.ALLOW for policy in ready):
        return found
    earlier = past(request.history)
    for number, call in enumerate(request.calls):
        before = Before(earlier, request.confirmations)
        pairs = zip(ready, scenes, strict=True)
        own = [one for policy, seen in pairs for one in _of_call(policy, call, seen[number], before)]
        found += own
        if not any(isinstance(one, CallRefusal) for one in own):
            earlier.append(Earlier(call.tool, call.fields, None, call.call_id))
    return found


def _of_call(policy: ReadyPolicy, call: CallContext, scene: CallScene, before: Before) -> Iterator[Finding]:
    if is_left_out(policy.tool_default, policy.tool_rules, call.tool, call.tool_class):
        yield CallRefusal(
            call_id=call.call_id,
            tool=call.tool,
            rule_id="toolDefault",
            policy_id=policy.policy.id,
            kind=policy.tool_default.value,
            reason=why_left_out(call.tool, policy.policy),
        )
    for ready in policy.tool_rules:
        found = _ToolRuleCheck(ready, scene, before).finding() if ready.matches(scene.tool) else None
        if not ready.rule.report_only or isinstance(found, Undecided | PolicyProblem):
            yield from [found] if found else []
        elif isinstance(found, CallRefusal | TriggeredRule):
            yield ReportedFinding(found)


class _ToolRuleCheck(NamedTuple):
    """One rule, and the call that it is about."""

    ready: ReadyToolRule
    scene: CallScene
    before: Before

    def finding(self) -> _OfRule | None:
        match self.ready.kind:
            case ToolRuleKind.NEVER:
                return self._refusal()
            case ToolRuleKind.AT_MOST | ToolRuleKind.ONLY_AFTER if missing := missing_of(
                self.ready.per, self.scene.context
            ):
                return self._doubt(missing)
            case ToolRuleKind.AT_MOST:
                return self._check_limit()
            case ToolRuleKind.ONLY_AFTER:
                return self._check_order()
            case ToolRuleKind.ONLY_WHEN:
                return self._check_condition()
            case ToolRuleKind.ONLY_AFTER_CONFIRMATION:
                return self._check_confirmation()
            case ToolRuleKind.ALLOW:
                return None

    def _check_limit(self) -> CallRefusal | None:
        used = count_used(self.ready, self.before.calls, self.scene.context)
        return self._refusal({**self._distinguishing_values(), "calls": used}) if used >= self.ready.limit else None

    def _check_order(self) -> CallRefusal | CallNeed | None:
        opening = tuple(preconditions(self.ready, self.before.calls, self.scene.context))
        if any(call.outcome is CallOutcome.SUCCEEDED for call in opening):
            return None
        planned = tuple(call.call_id for call in opening if call.call_id is not None)
        if not planned:
            return self._refusal(self._distinguishing_values())
        return CallNeed(
            call_id=self.scene.call_id or "",
            any_of=planned,
            rule_id=self.ready.rule.id,
            policy_id=self.ready.policy_id,
            reason=self.ready.reason(self.scene.tool),
        )

    def _check_condition(self) -> _OfRule | None:
        ready, scene = self.ready, self.scene
        if ready.condition is None:
            raise TypeError(f"rule {ready.rule.id!r} was prepared without its condition")
        try:
            decision = ready.condition.decide(scene.context)
        except ConditionError as error:
            return problem(ready.policy_id, ready.rule.id, error.cause, error.position)
        if isinstance(decision, UnknownTruth):
            return self._doubt(ready.condition.missing(scene.context))
        values = shown_values(ready.condition, scene.context)
        if not decision:
            return self._refusal(values)
        if scene.proven is not None and not is_proven(ready.condition, scene.proven, expected=True):
            return self._refusal(values, RESTS_ON_THE_REQUEST)
        return None

    def _check_confirmation(self) -> TriggeredRule | None:
        """A missing confirmation is asked for, as an approval: nobody but a person can give it."""
        ready, scene = self.ready, self.scene
        if is_confirmed(scene.tool, scene.call_id or "", scene.context, ready.level, self.before.confirmations):
            return None
        return TriggeredRule(
            rule_id=ready.rule.id,
            policy_id=ready.policy_id,
            action=RuleAction.REQUIRE_APPROVAL,
            level=(ready.level or Level.MANAGER).word,
            reason=ready.reason(scene.tool),
            call_id=scene.call_id,
        )

    def _doubt(self, missing: Sequence[str]) -> CallRefusal | Undecided:
        return self._refusal({}, cannot_be_decided(missing)) if self.scene.binding else Undecided(self.ready.rule.id)

    def _refusal(self, values: dict[str, ContextValue] | None = None, in_doubt: str = "") -> CallRefusal:
        reason = self.ready.reason(self.scene.tool)
        return CallRefusal(
            call_id=self.scene.call_id or "",
            tool=self.scene.tool,
            rule_id=self.ready.rule.id,
            policy_id=self.ready.policy_id,
            kind=self.ready.kind.value,
            reason=f"{reason} ({in_doubt})" if in_doubt else reason,
            values=values or {},
            indeterminate=bool(in_doubt),
        )

    def _distinguishing_values(self) -> dict[str, ContextValue]:
        found = {".".join(path): value_at(self.scene.context, path) for path in self.ready.per}
        return {name: shorten_value(value) for name, value in found.items() if not isinstance(value, UnknownTruth)}
