"""What the policy service says, once a turn, about tools that are called without a plan (reads)."""

from collections.abc import Sequence

from shared.contracts import policy
from shared.domain.words import ToolClass


class OfferedTool(policy.PolicyContract):
    tool: str
    tool_class: ToolClass = ToolClass.READ


class AllowanceRequest(policy.PolicyRequest):
    """Tools that may be called in this turn, and what the session called before it."""

    context: dict[str, policy.ContextValue] = {}
    tools: tuple[OfferedTool, ...] = ()
    history: tuple[policy.PastCall, ...] = ()
    confirmations: tuple[policy.Confirmation, ...] = ()


class Prohibition(policy.PolicyContract):
    """Why a tool may not be called: the rule, and its reason for whoever wanted to call it."""

    rule_id: str
    policy_id: str
    reason: str


class CallLimit(Prohibition):
    """So many further calls in this turn; ``successes_only``: calls that certainly failed do not count."""

    remaining: int
    successes_only: bool = False


class Precondition(Prohibition):
    """The tool may be called once one of ``any_of`` has succeeded; the session has not done so before this turn."""

    any_of: tuple[str, ...]


class ToolAllowance(policy.PolicyContract):
    """What holds for one tool. ``ask``: a rule depends on the arguments, so each call needs a verdict of its own."""

    tool: str
    bars: tuple[Prohibition, ...] = ()
    limits: tuple[CallLimit, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    ask: bool = False

    def find_prohibition(self, since: Sequence[policy.PastCall]) -> Prohibition | None:
        """What forbids the next call, after the calls made ``since`` this was asked; None if nothing does.

        With ``ask`` that is only half of the answer.
        """
        if self.bars:
            return self.bars[0]
        own = [call.outcome for call in since if call.tool == self.tool]
        for limit in self.limits:
            if sum(counts_against_limit(outcome, limit.successes_only) for outcome in own) >= limit.remaining:
                return limit
        succeeded = {call.tool for call in since if call.outcome is policy.CallOutcome.SUCCEEDED}
        return next((needed for needed in self.preconditions if succeeded.isdisjoint(needed.any_of)), None)


class Allowances(policy.PolicyContract):
    """Tools that are absent are under no rule. With ``problems`` the policy is invalid, and nothing here counts."""

    tools: tuple[ToolAllowance, ...] = ()
    problems: tuple[policy.PolicyProblem, ...] = ()
    policy_hash: str


def counts_against_limit(outcome: policy.CallOutcome, successes_only: bool) -> bool:
    """Whether a call uses up a limit: one whose end is unknown does; one that was never sent does not."""
    if successes_only:
        return outcome in (policy.CallOutcome.SUCCEEDED, policy.CallOutcome.UNKNOWN)
    return outcome is not policy.CallOutcome.UNSENT
