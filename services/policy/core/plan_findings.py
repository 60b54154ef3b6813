"""What rules about tools find in a whole plan, in its order: a refused call opens no way and uses up no limit."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core.findings import Undecided
from services.policy.core.prepared import ReadyPolicy
from services.policy.core.scenes import Scene
from services.policy.core.session_calls import Earlier, past
from services.policy.core.tool_findings import Before, ToolFinding, tool_finding
from services.policy.core.tool_reasons import left_out
from services.policy.core.tool_rules import is_left_out
from shared.contracts.policy import CallContext, CallNeed, CallRefusal, EvaluateRequest, PolicyProblem, TriggeredRule


class PlanFindings(NamedTuple):
    refusals: list[CallRefusal]
    reported: list[CallRefusal]
    needs: list[CallNeed]
    triggered: list[TriggeredRule]
    reported_rules: list[TriggeredRule]
    undecided: list[str]
    problems: list[PolicyProblem]


def plan_findings(
    ready: Sequence[ReadyPolicy], scenes: Sequence[Sequence[Scene]], request: EvaluateRequest
) -> PlanFindings:
    """``scenes``: for each policy, the scenes of the calls."""
    found = PlanFindings([], [], [], [], [], [], [])
    if not any(policy.tool_rules or policy.tool_default != "allow" for policy in ready):
        return found
    earlier = past(request.history)
    for number, call in enumerate(request.calls):
        refused_before = len(found.refusals)
        for policy, seen in zip(ready, scenes, strict=True):
            _look(policy, call, seen[number], Before(earlier, request.confirmations), found)
        if len(found.refusals) == refused_before:
            earlier.append(Earlier(call.tool, call.fields, None, call.call_id))
    return found


def _look(policy: ReadyPolicy, call: CallContext, scene: Scene, before: Before, found: PlanFindings) -> None:
    if is_left_out(policy.tool_default, policy.tool_rules, call.tool, call.tool_class):
        found.refusals.append(_left_out(policy, call))
    for finding, report_only in _findings(policy, scene, before):
        _sort(finding, report_only, found)


def _findings(policy: ReadyPolicy, scene: Scene, before: Before) -> Iterator[tuple[ToolFinding, bool]]:
    for ready in policy.tool_rules:
        if ready.matches(scene.tool) and (finding := tool_finding(ready, scene, before)):
            yield finding, ready.rule.report_only


def _sort(finding: ToolFinding, report_only: bool, found: PlanFindings) -> None:
    match finding:
        case CallRefusal():
            (found.reported if report_only else found.refusals).append(finding)
        case TriggeredRule():
            (found.reported_rules if report_only else found.triggered).append(finding)
        case Undecided(rule_id):
            found.undecided.append(rule_id)
        case PolicyProblem():
            found.problems.append(finding)
        case CallNeed():
            found.needs.extend([finding] * (not report_only))


def _left_out(policy: ReadyPolicy, call: CallContext) -> CallRefusal:
    return CallRefusal(
        call_id=call.call_id,
        tool=call.tool,
        rule_id="toolDefault",
        policy_id=policy.policy.id,
        kind=policy.tool_default,
        reason=left_out(call.tool, policy.policy.id),
    )
