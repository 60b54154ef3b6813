"""Why a call is refused, in sentences for whoever planned it, where the rule itself gives no reason."""

from services.policy.core.tool_rules import ReadyToolRule
from shared.contracts.policy import ToolRuleKind


def reason_of(ready: ReadyToolRule, tool: str) -> str:
    """The rule's own reason, or what it says in words."""
    return ready.rule.reason or f"{tool} {_says(ready)}"


def left_out(tool: str, policy_id: str) -> str:
    return f"{tool} is not among the tools that policy {policy_id} admits"


def _says(ready: ReadyToolRule) -> str:
    rule = ready.rule
    each = f" for the same {' and '.join(rule.per)}" if rule.per else ""
    match ready.kind:
        case ToolRuleKind.AT_MOST:
            times = "once" if ready.limit == 1 else f"{ready.limit} times"
            return f"may be called at most {times}{each}"
        case ToolRuleKind.ONLY_AFTER:
            return f"may only be called after {' or '.join(rule.after)} has succeeded{each}"
        case ToolRuleKind.ONLY_WHEN:
            return f"may only be called when {rule.condition}"
        case ToolRuleKind.ONLY_AFTER_CONFIRMATION:
            return f"may only be called after {ready.level.word if ready.level else 'a person'} has confirmed it"
        case _:
            return "must not be called"
