"""Decides once a turn which tools may be called without a plan, so that no call of them needs a verdict."""

from collections.abc import Iterator, Sequence

from services.policy.core.evaluate import MAX_EVALUATION_STEPS
from services.policy.core.prepared import ReadyPolicies, ReadyPolicy, RequestTooLarge
from services.policy.core.session_calls import (
    EarlierCall,
    count_used_calls,
    earlier_calls,
    find_met_preconditions,
    has_level,
)
from services.policy.core.tool_rules import ReadyToolRule, is_tool_left_out, why_tool_left_out
from shared.contracts import allowance as contracts
from shared.contracts.policy import Confirmation, ToolRuleKind


def decide_allowances(request: contracts.AllowanceRequest, policies: ReadyPolicies) -> contracts.Allowances:
    """The allowance of each tool that a rule covers. Raises ``RequestTooLarge``."""
    _refuse_too_much(request, policies)
    earlier = earlier_calls(request.history)
    allowances = (_judge_allowance(tool, policies.ready, earlier, request.confirmations) for tool in request.tools)
    return contracts.Allowances(
        tools=tuple(allowance for allowance in allowances if allowance),
        problems=policies.problems,
        policy_hash=policies.hash,
    )


def _judge_allowance(
    tool: contracts.OfferedTool,
    ready: Sequence[ReadyPolicy],
    earlier: Sequence[EarlierCall],
    confirmations: Sequence[Confirmation],
) -> contracts.ToolAllowance | None:
    bars: list[contracts.Prohibition | None] = []
    for policy in ready:
        bars += _prohibitions_of_policy(policy, tool, earlier, confirmations)
    if not bars:
        return None
    return contracts.ToolAllowance(
        tool=tool.tool,
        bars=tuple(bar for bar in bars if type(bar) is contracts.Prohibition),
        limits=tuple(bar for bar in bars if isinstance(bar, contracts.CallLimit)),
        preconditions=tuple(bar for bar in bars if isinstance(bar, contracts.Precondition)),
        ask=None in bars,
    )


def _prohibitions_of_policy(
    policy: ReadyPolicy, tool: contracts.OfferedTool, earlier: Sequence[EarlierCall], yeses: Sequence[Confirmation]
) -> Iterator[contracts.Prohibition | None]:
    """Yields why the policy forbids the tool, and None for each rule that depends on the arguments."""
    if is_tool_left_out(policy.tool_default, policy.tool_rules, tool.tool, tool.tool_class):
        yield contracts.Prohibition(
            rule_id="toolDefault", policy_id=policy.policy.id, reason=why_tool_left_out(tool.tool, policy.policy)
        )
    for ready in policy.tool_rules:
        if ready.matches(tool.tool) and not ready.rule.report_only:
            yield from _prohibitions_of_rule(ready, tool.tool, earlier, yeses)


def _prohibitions_of_rule(
    ready: ReadyToolRule, tool: str, earlier: Sequence[EarlierCall], yeses: Sequence[Confirmation]
) -> Iterator[contracts.Prohibition | None]:
    prohibition = contracts.Prohibition(rule_id=ready.rule.id, policy_id=ready.policy_id, reason=ready.reason(tool))
    match ready.kind:
        case ToolRuleKind.NEVER:
            yield prohibition
        case ToolRuleKind.AT_MOST | ToolRuleKind.ONLY_AFTER if ready.per:
            yield None
        case ToolRuleKind.AT_MOST if "*" in ready.rule.tool:  # several tools share the limit
            yield None
        case ToolRuleKind.AT_MOST:
            remaining = max(0, ready.limit - count_used_calls(ready, earlier, {}))
            yield contracts.CallLimit(**dict(prohibition), remaining=remaining, successes_only=ready.successes_only)
        case ToolRuleKind.ONLY_AFTER if not find_met_preconditions(ready, earlier, {}):
            yield contracts.Precondition(**dict(prohibition), any_of=ready.rule.after)
        case ToolRuleKind.ONLY_WHEN:
            yield None
        case ToolRuleKind.ONLY_AFTER_CONFIRMATION:  # a call without a plan waits for nobody
            of_tool = (yes for yes in yeses if yes.tool == tool and yes.call_id is None)
            covering = [yes for yes in of_tool if has_level(yes, ready.level)]
            if not covering:
                yield prohibition
            elif all(confirmation.fields for confirmation in covering):
                yield None


def _refuse_too_much(request: contracts.AllowanceRequest, policies: ReadyPolicies) -> None:
    comparisons = policies.looks_back * len(request.history) + len(request.confirmations) * policies.rules_about_tools
    work = (policies.rules_about_tools + comparisons // 2) * len(request.tools)
    if work > MAX_EVALUATION_STEPS:
        raise RequestTooLarge(
            f"{len(request.tools)} tools are too much: {work} steps, {MAX_EVALUATION_STEPS} allowed", "tools"
        )
