"""Escalating as a process's own end: the work is done first, and then a person is told to take the case further."""

from services.executor.core.authorize.policy_check import reasons
from services.executor.core.dossier.dossier import Progress
from services.executor.core.states.template import Template
from shared.contracts.policy import Verdict
from shared.domain.answer import is_exact_match
from shared.domain.words import FsmState, RuleAction


def ends_escalated(template: Template, verdict: Verdict) -> bool:
    """Whether the rules that escalate let the process walk on to its own end, instead of waiting for a person.

    Only where the template says so, and only by rules that are certain: a missing field waits everywhere (I2).
    """
    if not template.escalates or not verdict.escalate or verdict.blocked or verdict.problems:
        return False
    return not any(rule.indeterminate for rule in verdict.triggered_rules)


def answer_with_escalation(progress: Progress) -> str:
    """The answer; of a case that was escalated it says to whom and why, but a list stays a list to the byte (I9)."""
    answer, verdict = progress.dossier.answer or "", progress.dossier.verdict
    if progress.state is not FsmState.ESCALATE or verdict is None or is_exact_match(answer):
        return answer
    escalating = [rule for rule in verdict.triggered_rules if rule.action is RuleAction.ESCALATE]
    why = "; ".join(reasons(verdict.model_copy(update={"triggered_rules": tuple(escalating)})))
    return f"{answer.rstrip()}\n\nEscalated to {verdict.escalation_level or 'a person'}: {why}"
