"""What follows from a verdict on a plan: what it stops, whom it asks, and what an approval is bound to."""

from services.executor.core.session.dossier import Progress
from services.executor.core.session.endings import Rejected
from services.executor.core.states.template import POLICY_MARK, Template
from shared.contracts.plan import WritePlan
from shared.contracts.policy import CallRefusal, Verdict
from shared.domain.answer import is_exact_match
from shared.domain.exact_json import digest, dumps
from shared.domain.words import FsmState, RuleAction, ToolClass

_NAMED = 3  # calls that a refusal names


def binding_hash(verdict: Verdict) -> str:
    """The hash that an approval is bound to: of the policy, the context and the plan of the verdict."""
    return digest([verdict.policy_hash, verdict.context_hash, verdict.plan_hash])


def refuse_if_blocked(verdict: Verdict, plan: WritePlan | None = None) -> None:
    """Raises ``Rejected`` naming the rules, if the verdict says no outright or the policy itself is broken.

    ``plan``: what it was made on; where that has several calls, those that the rules block are named too.
    """
    if verdict.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in verdict.problems)
        raise Rejected(f"policy invalid, so nothing was written: {problems}")
    if verdict.blocked:
        raise Rejected(
            "blocked by policy: " + "; ".join(reasons(verdict, blocking=True)) + _describe_blocked_calls(verdict, plan)
        )


def _describe_blocked_calls(verdict: Verdict, plan: WritePlan | None) -> str:
    """The calls that the rules block, in words, if these are some of several; else empty."""
    ids = {rule.call_id for rule in verdict.triggered_rules if rule.action == "block"}
    calls = [call for call in plan.every_call if call.call_id in ids] if plan else []
    if plan is None or not calls or len(calls) == len(tuple(plan.every_call)):
        return ""
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return f" ({', '.join(f'{call.tool} {dumps(call.arguments)}' for call in calls[:_NAMED])}{more})"


def refuse_if_refused(verdict: Verdict) -> None:
    """Raises ``Rejected`` naming the rules about tools that a call breaks."""
    if verdict.refusals:
        raise Rejected("refused by policy, so nothing was written: " + "; ".join(map(format_refusal, verdict.refusals)))


def format_refusal(refusal: CallRefusal) -> str:
    return f"{refusal.call_id} {refusal.tool}: {refusal.rule_id}: {refusal.reason}"


def reasons(verdict: Verdict, blocking: bool = False) -> tuple[str, ...]:
    """One sentence for each triggered rule, each once."""
    rules = [rule for rule in verdict.triggered_rules if not blocking or rule.action == "block"]
    return tuple(dict.fromkeys(f"{rule.rule_id}: {rule.reason}" for rule in rules))


def ends_escalated(template: Template, verdict: Verdict) -> bool:
    """Whether the rules that escalate let the process go on to its own end ESCALATE, instead of waiting for a person.

    Only where the template says so, and only by rules that are certain: a missing field waits everywhere (I2).
    """
    if not template.escalates or not verdict.escalate or verdict.blocked or verdict.problems:
        return False
    return not any(rule.indeterminate for rule in verdict.triggered_rules)


def answer_with_escalation(progress: Progress) -> str:
    """The answer; for an escalated case it says to whom and why, but a list stays a list to the byte (I9)."""
    answer, verdict = progress.dossier.answer or "", progress.dossier.verdict
    if progress.state is not FsmState.ESCALATE or verdict is None or is_exact_match(answer):
        return answer
    escalating = [rule for rule in verdict.triggered_rules if rule.action is RuleAction.ESCALATE]
    why = "; ".join(reasons(verdict.model_copy(update={"triggered_rules": tuple(escalating)})))
    return f"{answer.rstrip()}\n\nEscalated to {verdict.escalation_level or 'a person'}: {why}"


def find_unruled(verdict: Verdict, plan: WritePlan | None) -> tuple[str, ...]:
    """The tools of a plan's calls to which no rule of the tenant or the request applies; the process's own rules do not
    count.

    Its changes count, or if there are none its notices.
    """
    calls = plan.every_call if plan else ()
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE] or calls
    acting = {rule.call_id for rule in verdict.triggered_rules if not rule.policy_id.startswith(POLICY_MARK)}
    if verdict.ruled_calls is None or None in acting:  # of an older policy service, or about the task's text
        return () if acting else tuple(call.tool for call in changes) or ("",)
    ruled = {
        call_id for call_id, ids in verdict.ruled_calls.items() if any(not one.startswith(POLICY_MARK) for one in ids)
    }
    return tuple(call.tool for call in changes if call.call_id not in ruled | acting)
