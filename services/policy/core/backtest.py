"""A changed policy tried on plans that were decided before: what would have been different."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.archive import ArchivedTask
from shared.contracts.policy import EvaluateRequest, Policy, Verdict
from shared.domain.exact_json import JsonObject, dumps, loads_object

_NOTED = "policy:"  # how the executor's journal names what it asked of this service


class DecidedPlan(NamedTuple):
    """One plan of a task, as it was decided at last."""

    task_id: str
    text: str
    request: EvaluateRequest
    verdict: Verdict


class BacktestedPlan(NamedTuple):
    """One plan under both policies, in a few words each; ``why`` names the rules that make the difference."""

    task_id: str
    text: str
    before: str
    after: str
    why: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.before != self.after or bool(self.why)


def decided_plans(task: ArchivedTask) -> tuple[DecidedPlan, ...]:
    """Each plan of the task, those that were refused and planned again too.

    Empty for a task that planned no writes, or that was archived before plans were noted. A read that was decided by
    itself is no plan: it was judged by the rules about tools alone.
    """
    noted = [loads_object(step.data) for step in task.journal if step.key.startswith(_NOTED)]
    found = [_read_plan(task, note) for note in noted if "request" in note and "verdict" in note]
    return tuple({plan.request.plan_hash: plan for plan in found if plan.request.plan_hash is not None}.values())


def _read_plan(task: ArchivedTask, note: JsonObject) -> DecidedPlan:
    request = EvaluateRequest.from_json(dumps(note["request"]))
    return DecidedPlan(
        task.record.task_id, task.record.request.text, request, Verdict.from_json(dumps(note["verdict"]))
    )


def backtest_plan(known: DecidedPlan, changed: Sequence[Policy], conditions: ConditionCache) -> BacktestedPlan:
    """The plan decided again, the changed policies in the place of those of the same id, new ones beside them."""
    ids = {policy.id for policy in changed}
    policies = (*(policy for policy in known.request.policies if policy.id not in ids), *changed)
    verdict = evaluate(known.request.model_copy(update={"policies": policies}), conditions)
    old, new = _findings(known.verdict), _findings(verdict)
    why = (*(f"- {rule}" for rule in sorted(old - new)), *(f"+ {rule}" for rule in sorted(new - old)))
    return BacktestedPlan(known.task_id, known.text, in_words(known.verdict), in_words(verdict), why)


def in_words(verdict: Verdict) -> str:
    """What a verdict comes to: the strictest of its findings."""
    if verdict.problems:
        return "policy invalid"
    if verdict.blocked:
        return "blocked"
    if verdict.refusals:
        return "calls refused"
    if verdict.escalate:
        return f"escalates to {verdict.escalation_level}"
    if verdict.requires_approval:
        return f"needs approval by {verdict.escalation_level}"
    return "passes"


def _findings(verdict: Verdict) -> set[str]:
    rules: Iterable[str] = (f"{rule.policy_id}/{rule.rule_id}" for rule in verdict.triggered_rules)
    refused = (f"{refusal.policy_id}/{refusal.rule_id}" for refusal in verdict.refusals)
    return {*rules, *refused, *(f"{problem.policy_id}/{problem.rule_id}" for problem in verdict.problems)}
