"""The policy service's answer, once a turn, on which tools may be called without a plan (reads)."""

from collections.abc import Sequence

from shared.contracts import policy
from shared.domain.words import ToolClass


class OfferedTool(policy.PolicyContract):
    """A tool that the turn may call, as the policy service needs it."""

    tool: str
    tool_class: ToolClass = ToolClass.READ


class AllowanceRequest(policy.PolicyRequest):
    """Asks which of ``tools`` may be called in this turn, after the session's earlier calls (``history``)."""

    context: dict[str, policy.ContextValue] = {}
    tools: tuple[OfferedTool, ...] = ()
    history: tuple[policy.PastCall, ...] = ()
    confirmations: tuple[policy.Confirmation, ...] = ()


class Prohibition(policy.PolicyContract):
    """A rule by which a tool must not be called; ``reason`` is for whoever wants to call it."""

    rule_id: str
    policy_id: str
    reason: str


class CallLimit(Prohibition):
    """How many more times the tool may be called in this turn. ``successes_only``: calls that failed for certain do not
    count.
    """

    remaining: int
    successes_only: bool = False


class Precondition(Prohibition):
    """The tool may be called only after one of ``any_of`` has succeeded, which none had before this turn."""

    any_of: tuple[str, ...]


class ToolAllowance(policy.PolicyContract):
    """What the rules say of one tool before a call of it is planned. ``ask``: a rule depends on the arguments, so the
    executor must ask for a verdict on each call.
    """

    tool: str
    bars: tuple[Prohibition, ...] = ()
    limits: tuple[CallLimit, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    ask: bool = False

    def find_prohibition(self, later_calls: Sequence[policy.PastCall]) -> Prohibition | None:
        """What forbids the next call, given the calls made since this answer (``later_calls``); None if nothing does.

        With ``ask`` the call's own verdict may still forbid it.
        """
        if self.bars:
            return self.bars[0]
        outcomes = [call.outcome for call in later_calls if call.tool == self.tool]
        for limit in self.limits:
            if sum(counts_against_limit(outcome, limit.successes_only) for outcome in outcomes) >= limit.remaining:
                return limit
        succeeded = {call.tool for call in later_calls if call.outcome is policy.CallOutcome.SUCCEEDED}
        return next((needed for needed in self.preconditions if succeeded.isdisjoint(needed.any_of)), None)


class Allowances(policy.PolicyContract):
    """The allowances of the tools that a rule is about; others may be called freely. Void if it has ``problems``."""

    tools: tuple[ToolAllowance, ...] = ()
    problems: tuple[policy.PolicyProblem, ...] = ()
    policy_hash: str


def counts_against_limit(outcome: policy.CallOutcome, successes_only: bool) -> bool:
    """Whether a call counts against a limit. A call with an unknown outcome does; one that was never sent does not."""
    if successes_only:
        return outcome in (policy.CallOutcome.SUCCEEDED, policy.CallOutcome.UNKNOWN)
    return outcome is not policy.CallOutcome.UNSENT
