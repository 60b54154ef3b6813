"""The findings of tool rules for a whole plan, call by call; a refused call does not count for later ones."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core import rules, session_calls
from services.policy.core.conditions import Condition
from services.policy.core.findings import CallFacts, has_proven_value
from services.policy.core.prepared import PreparedPolicy
from services.policy.core.tool_rules import PreparedToolRule, ToolDefault, is_tool_left_out, why_tool_left_out
from services.policy.core.values import UNKNOWN, ConditionError, Context
from shared.contracts import policy as contracts
from shared.domain.words import EscalationLevel, RuleAction


def find_tool_rule_findings(
    facts_by_policy: Sequence[tuple[PreparedPolicy, Sequence[CallFacts]]], request: contracts.EvaluateRequest
) -> list[rules.Finding]:
    """Judges the planned calls by the policies' rules about tools, call by call as planned. ``facts_by_policy``: each
    policy with the facts of all calls.
    """
    findings: list[rules.Finding] = []
    if not any(policy.tool_rules or policy.tool_default is not ToolDefault.ALLOW for policy, _ in facts_by_policy):
        return findings
    earlier = session_calls.list_earlier_calls(request.history)
    for number, call in enumerate(request.calls):
        call_findings: list[rules.Finding] = []
        for policy, facts in facts_by_policy:
            planned = _PlannedCall(call, facts[number], earlier, request.confirmations)
            call_findings += _judge_call_by_policy(policy, planned)
        findings += call_findings
        if not any(isinstance(finding, contracts.CallRefusal) for finding in call_findings):
            earlier.append(session_calls.EarlierCall(call.tool, call.fields, None, call.call_id))
    return findings


class _PlannedCall(NamedTuple):
    """A planned call, the calls before it, and what people have confirmed."""

    call: contracts.CallContext
    facts: CallFacts
    earlier: Sequence[session_calls.EarlierCall]
    confirmations: Sequence[contracts.Confirmation]


def _judge_call_by_policy(policy: PreparedPolicy, planned: _PlannedCall) -> Iterator[rules.Finding]:
    call = planned.call
    if is_tool_left_out(policy.tool_default, policy.tool_rules, call.tool, call.tool_class):
        yield contracts.CallRefusal(
            call_id=call.call_id,
            tool=call.tool,
            rule_id="toolDefault",
            policy_id=policy.policy.id,
            kind=policy.tool_default.value,
            reason=why_tool_left_out(call.tool, policy.policy),
        )
    for prepared in policy.tool_rules:
        finding = _judge_call_by_tool_rule(prepared, planned) if prepared.matches(call.tool) else None
        if (
            finding
            and prepared.rule.report_only
            and isinstance(finding, contracts.CallRefusal | contracts.TriggeredRule)
        ):
            yield rules.ReportOnlyFinding(finding)
        elif finding and not (prepared.rule.report_only and isinstance(finding, contracts.CallPrerequisite)):
            yield finding


def _judge_call_by_tool_rule(prepared: PreparedToolRule, planned: _PlannedCall) -> rules.Finding | None:
    call, facts, earlier, confirmations = planned
    values, missing_names = session_calls.split_single_values(prepared.per, facts.context)
    if missing_names:
        return _build_undecided_finding(prepared, planned, missing_names)
    shown_values = {name: rules.shorten_value_for_verdict(value) for name, value in values.items()}
    match prepared.kind:
        case contracts.ToolRuleKind.NEVER:
            return _build_refusal(prepared, call)
        case contracts.ToolRuleKind.AT_MOST:
            count = session_calls.count_calls_against_limit(prepared, earlier, facts.context)
            return _build_refusal(prepared, call, {**shown_values, "calls": count}) if count >= prepared.limit else None
        case contracts.ToolRuleKind.ONLY_AFTER:
            preconditions = session_calls.find_calls_meeting_precondition(prepared, earlier, facts.context)
            if any(earlier_call.outcome is contracts.CallOutcome.SUCCEEDED for earlier_call in preconditions):
                return None
            ids = tuple(earlier_call.call_id for earlier_call in preconditions if earlier_call.call_id is not None)
            if not ids:
                return _build_refusal(prepared, call, shown_values)
            return contracts.CallPrerequisite(**_build_common_fields(prepared, call), any_of=ids)
        case contracts.ToolRuleKind.ONLY_WHEN if prepared.condition:
            return _judge_call_by_condition(prepared, prepared.condition, planned)
        case contracts.ToolRuleKind.ONLY_AFTER_CONFIRMATION if not session_calls.is_confirmed(
            call, facts.context, prepared.level, confirmations
        ):
            # A missing confirmation is asked for, as an approval: nobody but a person can give it.
            level = (prepared.level or EscalationLevel.MANAGER).word
            action = RuleAction.REQUIRE_APPROVAL
            return contracts.TriggeredRule(**_build_common_fields(prepared, call), action=action, level=level)
        case _:
            return None


def _judge_call_by_condition(
    prepared: PreparedToolRule, condition: Condition, planned: _PlannedCall
) -> rules.Finding | None:
    facts = planned.facts
    try:
        decision = condition.decide(facts.context)
    except ConditionError as error:
        return rules.build_problem(prepared.policy_id, prepared.rule.id, error)
    if decision is UNKNOWN:
        return _build_undecided_finding(prepared, planned, condition.find_missing_fields(facts.context))
    values = rules.select_values_for_verdict(condition, facts.context)
    if not decision:
        return _build_refusal(prepared, planned.call, values)
    if facts.proven is not None and not has_proven_value(condition, facts.proven, expected=True):
        return _build_refusal(prepared, planned.call, values, rules.RESTS_ON_REQUEST_TEXT)
    return None


def _build_undecided_finding(
    prepared: PreparedToolRule, planned: _PlannedCall, missing_names: Sequence[str]
) -> contracts.CallRefusal | rules.RuleWithoutEffect:
    if not planned.facts.binding:
        return rules.RuleWithoutEffect(prepared.rule.id)
    return _build_refusal(prepared, planned.call, {}, rules.write_undecided_sentence(missing_names))


def _build_refusal(
    prepared: PreparedToolRule, call: contracts.CallContext, values: Context | None = None, in_doubt: str = ""
) -> contracts.CallRefusal:
    fields = _build_common_fields(prepared, call)
    reason = f"{fields['reason']} ({in_doubt})" if in_doubt else fields["reason"]
    return contracts.CallRefusal(
        **{**fields, "reason": reason},
        tool=call.tool,
        kind=prepared.kind.value,
        values=dict(values or {}),
        indeterminate=bool(in_doubt),
    )


def _build_common_fields(prepared: PreparedToolRule, call: contracts.CallContext) -> dict[str, str]:
    """The fields that every finding has: call, rule, policy and reason."""
    return {
        "call_id": call.call_id,
        "rule_id": prepared.rule.id,
        "policy_id": prepared.policy_id,
        "reason": prepared.reason(call.tool),
    }
