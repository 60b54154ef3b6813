"""The verdict: what all rules of all policies find, brought down to pass, approval, escalation, refusal or block."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from services.policy.core.applying import ruled_calls
from services.policy.core.conditions import Conditions
from services.policy.core.findings import Finding, Reported, Undecided, findings
from services.policy.core.hashes import context_hash, history_hash
from services.policy.core.plan_findings import PlanFindings, plan_findings
from services.policy.core.prepared import Prepared, prepare
from services.policy.core.scenes import scenes
from services.policy.core.text_findings import TextFindings, text_findings
from services.policy.core.work import refuse_too_much_searching, refuse_too_much_work
from shared.contracts.policy import EvaluateRequest, PolicyProblem, TriggeredRule, Verdict
from shared.domain.words import Level, RuleAction


def evaluate(request: EvaluateRequest, conditions: Conditions) -> Verdict:
    """Decide a request.

    A rule that cannot be parsed or evaluated is a problem in the verdict, which then does not pass. Raises
    ``TooMuch`` for a request over the service's bounds.
    """
    return decide(request, prepare(request.policies, conditions))


def decide(request: EvaluateRequest, prepared: Prepared) -> Verdict:
    """As ``evaluate``, where the request's policies were prepared before."""
    refuse_too_much_work(request, prepared)
    refuse_too_much_searching(request.text, prepared)
    seen = [scenes(ready.policy, request) for ready in prepared.ready]
    pairs = zip(prepared.ready, seen, strict=True)
    found = [finding for ready, looked in pairs for scene in looked for finding in findings(ready.rules, scene)]
    plan = plan_findings(prepared.ready, seen, request)
    verdict = _verdict(request, prepared, _Found(found, plan, text_findings(prepared, request)))
    return verdict.model_copy(update={"ruled_calls": ruled_calls(prepared.ready, seen, request)})


class _Found(NamedTuple):
    rules: Sequence[Finding]
    plan: PlanFindings
    text: TextFindings

    def triggered(self) -> list[TriggeredRule]:
        own = [found for found in self.rules if isinstance(found, TriggeredRule)]
        return [*own, *self.plan.triggered, *self.text.triggered]

    def reported(self) -> list[TriggeredRule]:
        return [*(found.rule for found in self.rules if isinstance(found, Reported)), *self.plan.reported_rules]

    def undecided(self) -> list[str]:
        own = [found.rule_id for found in self.rules if isinstance(found, Undecided)]
        return [*own, *self.plan.undecided, *self.text.undecided]

    def problems(self) -> list[PolicyProblem]:
        own = [found for found in self.rules if isinstance(found, PolicyProblem)]
        return [*own, *self.plan.problems, *self.text.problems]


def _verdict(request: EvaluateRequest, prepared: Prepared, found: _Found) -> Verdict:
    triggered = found.triggered()
    problems = tuple(_once([*prepared.problems, *found.problems()]))
    actions = {rule.action for rule in triggered}
    blocked, escalate = RuleAction.BLOCK in actions, RuleAction.ESCALATE in actions
    return Verdict(
        passed=not (blocked or escalate or problems or found.plan.refusals),
        requires_approval=RuleAction.REQUIRE_APPROVAL in actions,
        escalate=escalate,
        escalation_level=_highest(triggered),
        blocked=blocked,
        triggered_rules=tuple(triggered),
        indeterminate=tuple(dict.fromkeys(found.undecided())),
        problems=problems,
        binding=request.binding,
        policy_hash=prepared.hash,
        context_hash=context_hash(request),
        plan_hash=request.plan_hash,
        history_hash=history_hash(request),
        refusals=tuple(found.plan.refusals),
        needs=tuple(found.plan.needs),
        text=found.text.finding,
        reported_rules=tuple(found.reported()),
        reported_refusals=tuple(found.plan.reported),
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
