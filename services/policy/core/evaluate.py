"""The verdict: what all rules of all policies find, brought down to pass, approval, escalation or block."""

from collections.abc import Iterable, Iterator, Sequence

from services.policy.core.conditions import Conditions
from services.policy.core.findings import Undecided, findings
from services.policy.core.hashes import context_hash, policy_hash
from services.policy.core.limits import refuse_too_much_text, refuse_too_much_work
from services.policy.core.rules import prepared
from shared.contracts.policy import EvaluateRequest, PolicyProblem, TriggeredRule, Verdict
from shared.domain.words import Level, RuleAction


def evaluate(request: EvaluateRequest, conditions: Conditions) -> Verdict:
    """Decide a request.

    A rule that cannot be parsed or evaluated is a problem in the verdict, which then does not pass. Raises
    ``TooMuch`` for a request over the service's bounds.
    """
    refuse_too_much_text(request.policies)
    ready = [(policy, *prepared(policy, conditions)) for policy in request.policies]
    refuse_too_much_work(request, [rule.cost for _, rules, _ in ready for rule in rules])
    found = [finding for policy, rules, _ in ready for finding in findings(rules, policy, request)]
    triggered = [finding for finding in found if isinstance(finding, TriggeredRule)]
    undecided = [finding.rule_id for finding in found if isinstance(finding, Undecided)]
    problems = [problem for _, _, unready in ready for problem in unready]
    problems += [finding for finding in found if isinstance(finding, PolicyProblem)]
    return _verdict(request, triggered, undecided, problems)


def _verdict(
    request: EvaluateRequest,
    triggered: Sequence[TriggeredRule],
    undecided: Sequence[str],
    problems: list[PolicyProblem],
) -> Verdict:
    actions = {rule.action for rule in triggered}
    blocked, escalate = RuleAction.BLOCK in actions, RuleAction.ESCALATE in actions
    return Verdict(
        passed=not (blocked or escalate or problems),
        requires_approval=RuleAction.REQUIRE_APPROVAL in actions,
        escalate=escalate,
        escalation_level=_highest(triggered),
        blocked=blocked,
        triggered_rules=tuple(triggered),
        indeterminate=tuple(dict.fromkeys(undecided)),
        problems=tuple(_once(problems)),
        binding=request.binding,
        policy_hash=policy_hash(request.policies),
        context_hash=context_hash(request),
        plan_hash=request.plan_hash,
    )


def _highest(triggered: Iterable[TriggeredRule]) -> str | None:
    levels = [Level.parse(rule.level) for rule in triggered if rule.level]
    return max(levels).word if levels else None


def _once(problems: Iterable[PolicyProblem]) -> Iterator[PolicyProblem]:
    """A rule that fails alike for every call is one problem."""
    seen: set[tuple[str, str, str]] = set()
    for problem in problems:
        key = (problem.policy_id, problem.rule_id, problem.message)
        if key not in seen:
            seen.add(key)
            yield problem
