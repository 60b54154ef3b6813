"""Combines the findings of all rules into one verdict: pass, approval, escalation, refusal or block."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from services.policy.core.findings import (
    CallFacts,
    any_rule_applies_to_call,
    build_call_facts,
    build_facts_by_row,
    find_findings_for_call,
)
from services.policy.core.prepared import PreparedPolicies, PreparedPolicy, RequestTooLarge, prepare_policies
from services.policy.core.rules import Finding, ReportOnlyFinding, RuleWithoutEffect
from services.policy.core.text_rules import find_text_rule_findings
from services.policy.core.tool_rule_findings import find_tool_rule_findings
from shared.contracts import policy as contracts
from shared.contracts.archive import ArchivedTask
from shared.contracts.policy_hash import hash_context
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads_object, to_exact
from shared.domain.words import EscalationLevel, RuleAction

_Kind = TypeVar("_Kind")
# The service answers everybody in turn: what one request may cost is bounded before it is decided.
MAX_EVALUATION_STEPS = 300_000  # nodes decided or merged, over all calls
MAX_PATTERN_COST = 10_000_000  # instructions of one pattern, times bytes of the text: 70 ms at the very worst
MAX_PATTERNS_COST = 40_000_000  # the same over all patterns
MAX_KEYWORD_COST = 20_000_000  # keywords times characters of the text
_FOLDING_COST = 40  # keywords that a text is searched for while it is folded, unless it is ASCII


def evaluate(request: contracts.EvaluateRequest) -> contracts.Verdict:
    """Decides a request under the policies that it carries.

    A rule that cannot be parsed or evaluated becomes a problem in the verdict, which then does not pass. Raises
    ``RequestTooLarge``.
    """
    return decide(request, prepare_policies(request.policies))


def decide(request: contracts.EvaluateRequest, policies: PreparedPolicies) -> contracts.Verdict:
    """Decides a request under prepared policies; the policies in the request are ignored.

    Raises ``RequestTooLarge`` if that would take too long.
    """
    _refuse_too_much_work(request, policies)
    _refuse_too_much_searching(request.text, policies)
    facts_by_policy = [(prepared, build_call_facts(prepared.policy, request)) for prepared in policies.all]
    findings: list[Finding] = []
    for prepared in policies.all:
        for facts in build_facts_by_row(prepared.policy, request):
            findings += find_findings_for_call(prepared.rules, facts)
    if any(call.rows for call in request.calls):
        findings = [*_drop_repeated_rules(findings)]
    findings += find_tool_rule_findings(facts_by_policy, request)
    findings += find_text_rule_findings([prepared.texts for prepared in policies.all], policies.problems, request)
    ruled_calls = {
        call.call_id: tuple(
            prepared.policy.id for prepared, rows in facts_by_policy if _has_rule_for_call(prepared, call, rows[number])
        )
        for number, call in enumerate(request.calls)
    }
    return _build_verdict(request, policies, findings, ruled_calls)


def _has_rule_for_call(prepared: PreparedPolicy, call: contracts.CallContext, facts: CallFacts) -> bool:
    """Whether some tool rule or condition of the policy applies to the call."""
    matching_rules = (rule for rule in prepared.tool_rules if rule.matches(call.tool) and not rule.rule.report_only)
    return any(matching_rules) or any_rule_applies_to_call(prepared.rules_naming_calls, prepared.other_rules, facts)


def _build_verdict(
    request: contracts.EvaluateRequest,
    policies: PreparedPolicies,
    findings: Sequence[Finding],
    ruled_calls: dict[str, tuple[str, ...]],
) -> contracts.Verdict:
    triggered_rules = _select_findings_of_type(contracts.TriggeredRule, findings)
    all_problems = [*policies.problems, *_select_findings_of_type(contracts.PolicyProblem, findings)]
    # A rule may fail alike for every call.
    problems = {(problem.policy_id, problem.rule_id, problem.message): problem for problem in all_problems}
    undecided_ids = [finding.rule_id for finding in _select_findings_of_type(RuleWithoutEffect, findings)]
    reported_findings = [report.finding for report in _select_findings_of_type(ReportOnlyFinding, findings)]
    refusals = tuple(_select_findings_of_type(contracts.CallRefusal, findings))
    actions = {rule.action for rule in triggered_rules}
    is_blocked, is_escalated = RuleAction.BLOCK in actions, RuleAction.ESCALATE in actions
    return contracts.Verdict(
        passed=not (is_blocked or is_escalated or problems or refusals),
        requires_approval=RuleAction.REQUIRE_APPROVAL in actions,
        escalate=is_escalated,
        escalation_level=_find_highest_approval_level(triggered_rules),
        blocked=is_blocked,
        triggered_rules=tuple(triggered_rules),
        indeterminate=tuple(dict.fromkeys(undecided_ids)),
        problems=tuple(problems.values()),
        binding=request.binding,
        policy_hash=policies.hash,
        context_hash=hash_context(request),
        plan_hash=request.plan_hash,
        history_hash=_hash_history(request),
        refusals=refusals,
        needs=tuple(_select_findings_of_type(contracts.CallPrerequisite, findings)),
        text=next(iter(_select_findings_of_type(contracts.TextFinding, findings)), None),
        reported_rules=tuple(_select_findings_of_type(contracts.TriggeredRule, reported_findings)),
        reported_refusals=tuple(_select_findings_of_type(contracts.CallRefusal, reported_findings)),
        ruled_calls=ruled_calls,
    )


def _select_findings_of_type(kind: type[_Kind], all_findings: Iterable[object]) -> list[_Kind]:
    return [finding for finding in all_findings if isinstance(finding, kind)]


def _find_highest_approval_level(rules: Iterable[contracts.TriggeredRule]) -> str | None:
    levels = [EscalationLevel.parse(rule.level) for rule in rules if rule.level]
    return max(levels).word if levels else None


def _drop_repeated_rules(all_findings: Iterable[Finding]) -> Iterable[Finding]:
    """The findings with each rule once for each call, even if it found something for several rows.

    Two rules that share an id are told apart by what they ask for.
    """
    known_keys = set[tuple[object, ...]]()
    for finding in all_findings:
        if isinstance(finding, contracts.TriggeredRule):
            effect = (finding.action, finding.level, finding.approvers)
            key = (finding.policy_id, finding.rule_id, finding.call_id, *effect)
            if key in known_keys:
                continue
            known_keys.add(key)
        yield finding


def _hash_history(request: contracts.EvaluateRequest) -> str | None:
    """The hash of the session's earlier calls and confirmations, by which the executor sees whether they have changed
    since; None if there are none.
    """
    if not (request.history or request.confirmations):
        return None
    calls: list[Json] = [[call.tool, call.outcome.value, to_exact(call.fields)] for call in request.history]
    confirmations: list[Json] = [
        [yes.tool, yes.level, yes.call_id, to_exact(yes.fields)] for yes in request.confirmations
    ]
    return digest([calls, confirmations])


def _refuse_too_much_work(request: contracts.EvaluateRequest, policies: PreparedPolicies) -> None:
    """Raises ``RequestTooLarge`` if rules times calls would delay other callers."""
    if (work := _count_decision_steps(request, policies)) > MAX_EVALUATION_STEPS:
        calls = max(1, len(request.calls))
        sentence = (
            f"{policies.rule_count} rules over {calls} calls are too much: {work} steps, {MAX_EVALUATION_STEPS} allowed"
        )
        raise RequestTooLarge(sentence, "calls")


def _refuse_too_much_searching(text: str | None, policies: PreparedPolicies) -> None:
    """Raises ``RequestTooLarge`` if the text is too long to be searched by all patterns and keywords."""
    if not text or all(prepared.texts.first_id is None for prepared in policies.all):
        return
    text = unicodedata.normalize("NFKC", text)  # what is searched: one character may become eighteen
    size, pattern_sizes = 4 * len(text), policies.pattern_sizes
    if size * max(pattern_sizes, default=0) > MAX_PATTERN_COST or size * sum(pattern_sizes) > MAX_PATTERNS_COST:
        raise RequestTooLarge(f"a text of {len(text)} characters is too long for patterns of this size", "text")
    if (policies.keyword_count + (0 if text.isascii() else _FOLDING_COST)) * len(text) > MAX_KEYWORD_COST:
        raise RequestTooLarge(
            f"a text of {len(text)} characters is too long for {policies.keyword_count} keywords", "text"
        )


def _count_decision_steps(request: contracts.EvaluateRequest, policies: PreparedPolicies) -> int:
    calls = max(1, sum(len(call.rows) or 1 for call in request.calls))
    id_costs = sum(len(call.call_id) for call in request.calls) * policies.rule_count // 16
    fields = sum(len(call.fields) * (1 + len(call.recorded)) for call in request.calls)
    facts = len(policies.all) * (len(request.context) * calls + fields)
    facts += sum(len(prepared.policy.context) for prepared in policies.all) * calls
    earlier = len(request.history) + len(request.calls)
    confirming = sum(1 + len(yes.fields) for yes in request.confirmations) * policies.tool_rule_count
    comparisons = (policies.comparisons_per_earlier_call * earlier + confirming) * len(request.calls)
    for call in request.calls:  # each is also decided with summed figures, without unproven fields, and as recorded
        calls += bool(call.summed) + (1 + bool(call.unproven)) * (1 + len(call.recorded)) - 1
    return policies.cost * calls + id_costs + facts // 8 + comparisons // 2


_JOURNAL_PREFIX = "policy:"  # how the executor's journal names what it asked of this service


class DecidedPlan(NamedTuple):
    """One plan of an archived task: the request that was evaluated, and the last verdict on it."""

    task_id: str
    text: str
    request: contracts.EvaluateRequest
    verdict: contracts.Verdict


class BacktestedPlan(NamedTuple):
    """One plan's verdicts in words, under the policies of its time and under the changed ones.

    ``differing_rules``: ``- policy/rule`` for a finding that is gone, ``+ policy/rule`` for a new one.
    """

    task_id: str
    text: str
    verdict_before: str
    verdict_after: str
    differing_rules: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.verdict_before != self.verdict_after or bool(self.differing_rules)


def list_decided_plans(task: ArchivedTask) -> tuple[DecidedPlan, ...]:
    """The plans of an archived task, including refused ones, without those that a model only asked about.

    Empty for a task that planned no writes, or was archived before plans were recorded. Of each plan, the last verdict
    on all of its calls counts.
    """
    notes = [loads_object(step.data) for step in task.journal if step.key.startswith(_JOURNAL_PREFIX)]
    plans = [_read_plan(task, note) for note in notes if "request" in note and "verdict" in note]
    by_hash: dict[str, DecidedPlan] = {}
    for plan in plans:
        plan_hash = plan.request.plan_hash
        if any(call.call_id == contracts.HYPOTHETICAL_CALL_ID for call in plan.request.calls):
            continue
        if plan_hash and len(plan.request.calls) >= len(by_hash.get(plan_hash, plan).request.calls):
            by_hash[plan_hash] = plan
    return tuple(by_hash.values())


def _read_plan(task: ArchivedTask, note: JsonObject) -> DecidedPlan:
    request = contracts.EvaluateRequest.from_json(dumps(note["request"]))
    return DecidedPlan(
        task.record.task_id, task.record.request.text, request, contracts.Verdict.from_json(dumps(note["verdict"]))
    )


def backtest_plan(plan: DecidedPlan, changed_policies: Sequence[contracts.Policy]) -> BacktestedPlan:
    """Decides a plan again. Each changed policy replaces the one with its id, or is added."""
    ids = {policy.id for policy in changed_policies}
    policies = (*(policy for policy in plan.request.policies if policy.id not in ids), *changed_policies)
    verdict = evaluate(plan.request.model_copy(update={"policies": policies}))
    old_ids, new_ids = _list_ids_of_found_rules(plan.verdict), _list_ids_of_found_rules(verdict)
    changes = (
        *(f"- {rule}" for rule in sorted(old_ids - new_ids)),
        *(f"+ {rule}" for rule in sorted(new_ids - old_ids)),
    )
    return BacktestedPlan(plan.task_id, plan.text, describe_verdict(plan.verdict), describe_verdict(verdict), changes)


def describe_verdict(verdict: contracts.Verdict) -> str:
    """The verdict in a few words: its strictest effect, such as ``blocked`` or ``passes``."""
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


def _list_ids_of_found_rules(verdict: contracts.Verdict) -> set[str]:
    triggered_ids: Iterable[str] = (f"{rule.policy_id}/{rule.rule_id}" for rule in verdict.triggered_rules)
    refused_ids = (f"{refusal.policy_id}/{refusal.rule_id}" for refusal in verdict.refusals)
    return {*triggered_ids, *refused_ids, *(f"{problem.policy_id}/{problem.rule_id}" for problem in verdict.problems)}
