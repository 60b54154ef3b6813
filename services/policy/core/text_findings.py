"""What the text rules of a request's policies say of its text."""

from collections.abc import Sequence
from typing import NamedTuple

from services.policy.core.fold import folded
from services.policy.core.prepared import Prepared, ReadyPolicy
from services.policy.core.rules import problem
from services.policy.core.text_rules import TextDecision, Violation, decide_text, joined
from shared.contracts.policy import EvaluateRequest, PolicyProblem, TextFinding, TriggeredRule
from shared.domain.words import RuleAction


class TextFindings(NamedTuple):
    """``finding`` is None where no policy has a say, or where there is no text to speak of."""

    finding: TextFinding | None = None
    triggered: tuple[TriggeredRule, ...] = ()
    undecided: tuple[str, ...] = ()
    problems: tuple[PolicyProblem, ...] = ()


def text_findings(prepared: Prepared, request: EvaluateRequest) -> TextFindings:
    """Each violation blocks. Rules without a text are undecided, and in a binding request a problem.

    Nothing complies with policies that are invalid.
    """
    concerned = [ready for ready in prepared.ready if ready.policy.text_rules or ready.texts.default == "deny"]
    if not concerned:
        return TextFindings()
    if request.text is None:
        return _without_text(concerned, request.binding)
    text = folded(request.text)
    decision = joined([decide_text(ready.texts, text) for ready in concerned])
    return TextFindings(_finding(decision, prepared.problems), tuple(map(_blocks, decision.violations)))


def _finding(decision: TextDecision, problems: Sequence[PolicyProblem]) -> TextFinding:
    return TextFinding(
        compliant=not (decision.violations or problems),
        violations=(*map(str, decision.violations), *(problem.message for problem in problems)),
        applied_rules=decision.applied,
    )


def _blocks(violation: Violation) -> TriggeredRule:
    return TriggeredRule(
        rule_id=violation.rule_id,
        policy_id=violation.policy_id,
        action=RuleAction.BLOCK,
        reason=violation.reason,
    )


def _without_text(concerned: Sequence[ReadyPolicy], binding: bool) -> TextFindings:
    ids = [(policy.policy.id, _first_id(policy)) for policy in concerned]
    if not binding:
        return TextFindings(undecided=tuple(rule_id for _, rule_id in ids))
    cause = "it is about the task's text, and the request has none"
    return TextFindings(problems=tuple(problem(policy_id, rule_id, cause) for policy_id, rule_id in ids))


def _first_id(policy: ReadyPolicy) -> str:
    return policy.policy.text_rules[0].id if policy.policy.text_rules else "textDefault"
