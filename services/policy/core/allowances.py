"""Decides once a turn which tools may be called without a plan, so that no call of them needs a verdict."""

from collections.abc import Iterator, Sequence

from services.policy.core.evaluate import MAX_EVALUATION_STEPS
from services.policy.core.prepared import PreparedPolicies, PreparedPolicy, RequestTooLarge
from services.policy.core.session_calls import (
    EarlierCall,
    comes_from_level_or_above,
    count_calls_against_limit,
    find_calls_meeting_precondition,
    list_earlier_calls,
)
from services.policy.core.tool_rules import PreparedToolRule, is_tool_left_out, why_tool_left_out
from shared.contracts import allowance as contracts
from shared.contracts.policy import Confirmation, ToolRuleKind


def decide_allowances(request: contracts.AllowanceRequest, policies: PreparedPolicies) -> contracts.Allowances:
    """Decides for each offered tool that a rule covers whether a turn may call it without a plan. Tools that no rule
    covers are left out. Raises ``RequestTooLarge`` for too many rules and tools.
    """
    _refuse_too_many_steps(request, policies)
    earlier = list_earlier_calls(request.history)
    allowances = (_judge_allowance(tool, policies.all, earlier, request.confirmations) for tool in request.tools)
    return contracts.Allowances(
        tools=tuple(allowance for allowance in allowances if allowance),
        problems=policies.problems,
        policy_hash=policies.hash,
    )


def _judge_allowance(
    tool: contracts.OfferedTool,
    prepared: Sequence[PreparedPolicy],
    earlier: Sequence[EarlierCall],
    confirmations: Sequence[Confirmation],
) -> contracts.ToolAllowance | None:
    bars: list[contracts.Prohibition | None] = []
    for policy in prepared:
        bars += _find_prohibitions_by_policy(policy, tool, earlier, confirmations)
    if not bars:
        return None
    return contracts.ToolAllowance(
        tool=tool.tool,
        bars=tuple(bar for bar in bars if type(bar) is contracts.Prohibition),
        limits=tuple(bar for bar in bars if isinstance(bar, contracts.CallLimit)),
        preconditions=tuple(bar for bar in bars if isinstance(bar, contracts.Precondition)),
        ask=None in bars,
    )


def _find_prohibitions_by_policy(
    policy: PreparedPolicy,
    tool: contracts.OfferedTool,
    earlier: Sequence[EarlierCall],
    confirmations: Sequence[Confirmation],
) -> Iterator[contracts.Prohibition | None]:
    """Yields a prohibition for each rule of the policy that forbids the tool, and None for each rule that cannot be
    decided before the call's arguments are known.
    """
    if is_tool_left_out(policy.tool_default, policy.tool_rules, tool.tool, tool.tool_class):
        yield contracts.Prohibition(
            rule_id="toolDefault", policy_id=policy.policy.id, reason=why_tool_left_out(tool.tool, policy.policy)
        )
    for prepared in policy.tool_rules:
        if prepared.matches(tool.tool) and not prepared.rule.report_only:
            yield from _find_prohibitions_by_rule(prepared, tool.tool, earlier, confirmations)


def _find_prohibitions_by_rule(
    prepared: PreparedToolRule, tool: str, earlier: Sequence[EarlierCall], confirmations: Sequence[Confirmation]
) -> Iterator[contracts.Prohibition | None]:
    prohibition = contracts.Prohibition(
        rule_id=prepared.rule.id, policy_id=prepared.policy_id, reason=prepared.reason(tool)
    )
    match prepared.kind:
        case ToolRuleKind.NEVER:
            yield prohibition
        case ToolRuleKind.AT_MOST | ToolRuleKind.ONLY_AFTER if prepared.per:
            yield None
        case ToolRuleKind.AT_MOST if "*" in prepared.rule.tool:  # several tools share the limit
            yield None
        case ToolRuleKind.AT_MOST:
            remaining = max(0, prepared.limit - count_calls_against_limit(prepared, earlier, {}))
            yield contracts.CallLimit(**dict(prohibition), remaining=remaining, successes_only=prepared.successes_only)
        case ToolRuleKind.ONLY_AFTER if not find_calls_meeting_precondition(prepared, earlier, {}):
            yield contracts.Precondition(**dict(prohibition), any_of=prepared.rule.after)
        case ToolRuleKind.ONLY_WHEN:
            yield None
        case ToolRuleKind.ONLY_AFTER_CONFIRMATION:  # a call without a plan waits for nobody
            of_tool = (each for each in confirmations if each.tool == tool and each.call_id is None)
            covering = [
                confirmation for confirmation in of_tool if comes_from_level_or_above(confirmation, prepared.level)
            ]
            if not covering:
                yield prohibition
            elif all(confirmation.fields for confirmation in covering):
                yield None


def _refuse_too_many_steps(request: contracts.AllowanceRequest, policies: PreparedPolicies) -> None:
    comparisons = (
        policies.comparisons_per_earlier_call * len(request.history)
        + len(request.confirmations) * policies.tool_rule_count
    )
    work = (policies.tool_rule_count + comparisons // 2) * len(request.tools)
    if work > MAX_EVALUATION_STEPS:
        raise RequestTooLarge(
            f"{len(request.tools)} tools are too much: {work} steps, {MAX_EVALUATION_STEPS} allowed", "tools"
        )
