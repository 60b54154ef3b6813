"""Combines the findings of all rules into one verdict: pass, approval, escalation, refusal or block."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from services.policy.core.conditions import ConditionCache
from services.policy.core.findings import CallFacts, applies_to_call, facts_of_calls, facts_of_rows, findings_for_call
from services.policy.core.plan_findings import findings_for_plan
from services.policy.core.prepared import ReadyPolicies, ReadyPolicy, RequestTooLarge, prepare_policies
from services.policy.core.rules import Finding, ReportOnlyFinding, WaitingRule
from services.policy.core.text_rules import text_findings
from shared.contracts import policy as contracts
from shared.contracts.archive import ArchivedTask
from shared.contracts.policy_hash import context_hash
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads_object, to_exact
from shared.domain.words import Level, RuleAction

_Kind = TypeVar("_Kind")
# The service answers everybody in turn: what one request may cost is bounded before it is decided.
MAX_WORK = 300_000  # nodes decided or merged, over all calls
MAX_SEARCH = 10_000_000  # instructions of one pattern, times bytes of the text: 70 ms at the very worst
MAX_SEARCHES = 40_000_000  # the same over all patterns
MAX_WORDS = 20_000_000  # keywords times characters of the text


def evaluate(request: contracts.EvaluateRequest, conditions: ConditionCache) -> contracts.Verdict:
    """Decides a request.

    A rule that cannot be parsed or evaluated becomes a problem in the verdict, which then does not pass. Raises
    ``RequestTooLarge``.
    """
    return decide(request, prepare_policies(request.policies, conditions))


def decide(request: contracts.EvaluateRequest, prepared: ReadyPolicies) -> contracts.Verdict:
    """Decides a request under prepared policies; the request's own are ignored."""
    _refuse_too_much_work(request, prepared)
    _refuse_too_much_searching(request.text, prepared)
    seen = [(ready, facts_of_calls(ready.policy, request)) for ready in prepared.ready]
    by_row = ((ready, facts_of_rows(ready.policy, request)) for ready in prepared.ready)
    every = (
        finding for ready, looked in by_row for facts in looked for finding in findings_for_call(ready.rules, facts)
    )
    found = [*(_drop_repeated_rules(every) if any(call.rows for call in request.calls) else every)]
    found += findings_for_plan(seen, request)
    found += text_findings([ready.texts for ready in prepared.ready], prepared.problems, request)
    ruled = {
        call.call_id: tuple(ready.policy.id for ready, looked in seen if _governs_call(ready, call, looked[number]))
        for number, call in enumerate(request.calls)
    }
    return _build_verdict(request, prepared, found, ruled)


def _governs_call(ready: ReadyPolicy, call: contracts.CallContext, facts: CallFacts) -> bool:
    """Whether some tool rule or condition of the policy applies to the call."""
    about_tools = (rule for rule in ready.tool_rules if rule.matches(call.tool) and not rule.rule.report_only)
    return any(about_tools) or applies_to_call(ready.rules_of_calls, facts)


def _build_verdict(
    request: contracts.EvaluateRequest,
    prepared: ReadyPolicies,
    found: Sequence[Finding],
    ruled: dict[str, tuple[str, ...]],
) -> contracts.Verdict:
    triggered = _select_kind(contracts.TriggeredRule, found)
    problems = tuple(_drop_repeated_problems([*prepared.problems, *_select_kind(contracts.PolicyProblem, found)]))
    undecided = [one.rule_id for one in _select_kind(WaitingRule, found)]
    reported = [one.finding for one in _select_kind(ReportOnlyFinding, found)]
    refusals = tuple(_select_kind(contracts.CallRefusal, found))
    actions = {rule.action for rule in triggered}
    blocked, escalate = RuleAction.BLOCK in actions, RuleAction.ESCALATE in actions
    return contracts.Verdict(
        passed=not (blocked or escalate or problems or refusals),
        requires_approval=RuleAction.REQUIRE_APPROVAL in actions,
        escalate=escalate,
        escalation_level=_find_highest_level(triggered),
        blocked=blocked,
        triggered_rules=tuple(triggered),
        indeterminate=tuple(dict.fromkeys(undecided)),
        problems=problems,
        binding=request.binding,
        policy_hash=prepared.hash,
        context_hash=context_hash(request),
        plan_hash=request.plan_hash,
        history_hash=_history_hash(request),
        refusals=refusals,
        needs=tuple(_select_kind(contracts.CallPrerequisite, found)),
        text=next(iter(_select_kind(contracts.TextFinding, found)), None),
        reported_rules=tuple(_select_kind(contracts.TriggeredRule, reported)),
        reported_refusals=tuple(_select_kind(contracts.CallRefusal, reported)),
        ruled_calls=ruled,
    )


def _select_kind(kind: type[_Kind], found: Iterable[object]) -> list[_Kind]:
    return [one for one in found if isinstance(one, kind)]


def _find_highest_level(triggered: Iterable[contracts.TriggeredRule]) -> str | None:
    levels = [Level.parse(rule.level) for rule in triggered if rule.level]
    return max(levels).word if levels else None


def _drop_repeated_rules(found: Iterable[Finding]) -> Iterable[Finding]:
    """The findings with each rule once for each call, even if it found something for several rows."""
    seen = set[tuple[str, ...]]()
    for one in found:
        if isinstance(one, contracts.TriggeredRule):
            key = (one.policy_id, one.rule_id, one.call_id or "", one.action)
            if key in seen:
                continue
            seen.add(key)
        yield one


def _drop_repeated_problems(problems: Iterable[contracts.PolicyProblem]) -> Iterable[contracts.PolicyProblem]:
    """The problems without repeats, since a rule may fail alike for every call."""
    return {(problem.policy_id, problem.rule_id, problem.message): problem for problem in problems}.values()


def _history_hash(request: contracts.EvaluateRequest) -> str | None:
    """The hash of earlier calls and confirmations; None if there are none."""
    if not (request.history or request.confirmations):
        return None
    calls: list[Json] = [[call.tool, call.outcome.value, to_exact(call.fields)] for call in request.history]
    yeses: list[Json] = [[yes.tool, yes.level, yes.call_id, to_exact(yes.fields)] for yes in request.confirmations]
    return digest([calls, yeses])


def _refuse_too_much_work(request: contracts.EvaluateRequest, prepared: ReadyPolicies) -> None:
    """Raises ``RequestTooLarge`` if rules times calls would delay other callers."""
    if (work := _count_work(request, prepared)) > MAX_WORK:
        calls = max(1, len(request.calls))
        sentence = f"{prepared.rules} rules over {calls} calls are too much: {work} steps, {MAX_WORK} allowed"
        raise RequestTooLarge(sentence, "calls")


def _refuse_too_much_searching(text: str | None, prepared: ReadyPolicies) -> None:
    """Raises ``RequestTooLarge`` if the text is too long for the patterns and keywords that would search it."""
    if not text or not (prepared.pattern_sizes or prepared.keywords):
        return
    size = 4 * len(text)
    if size * max(prepared.pattern_sizes, default=0) > MAX_SEARCH or size * sum(prepared.pattern_sizes) > MAX_SEARCHES:
        raise RequestTooLarge(f"a text of {len(text)} characters is too long for patterns of this size", "text")
    if prepared.keywords * len(text) > MAX_WORDS:
        raise RequestTooLarge(f"a text of {len(text)} characters is too long for {prepared.keywords} keywords", "text")


def _count_work(request: contracts.EvaluateRequest, prepared: ReadyPolicies) -> int:
    calls = max(1, sum(len(call.rows) or 1 for call in request.calls))
    names = sum(len(call.call_id) for call in request.calls) * prepared.rules // 16
    fields = sum(len(call.fields) * (1 + len(call.recorded)) for call in request.calls)
    facts = len(prepared.ready) * (len(request.context) * calls + fields)
    facts += sum(len(ready.policy.context) for ready in prepared.ready) * calls
    earlier = len(request.history) + len(request.calls)
    confirming = sum(1 + len(yes.fields) for yes in request.confirmations) * prepared.rules_about_tools
    looks = (prepared.looks_back * earlier + confirming) * len(request.calls)
    twice = sum(bool(call.summed) + (1 + bool(call.unproven)) * (1 + len(call.recorded)) - 1 for call in request.calls)
    return prepared.cost * (calls + twice) + names + facts // 8 + looks // 2


_JOURNAL_PREFIX = "policy:"  # how the executor's journal names what it asked of this service


class DecidedPlan(NamedTuple):
    """One plan of a task, with its final verdict."""

    task_id: str
    text: str
    request: contracts.EvaluateRequest
    verdict: contracts.Verdict


class BacktestedPlan(NamedTuple):
    """One plan's verdicts under the old and the changed policy, in words. ``why``: the rules that differ."""

    task_id: str
    text: str
    before: str
    after: str
    why: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.before != self.after or bool(self.why)


def decided_plans(task: ArchivedTask) -> tuple[DecidedPlan, ...]:
    """The plans of an archived task, including refused ones, without those that a model only asked about.

    Empty for a task that planned no writes, or was archived before plans were recorded. Of each plan, the last verdict
    on all of its calls counts.
    """
    noted = [loads_object(step.data) for step in task.journal if step.key.startswith(_JOURNAL_PREFIX)]
    found = [_read_plan(task, note) for note in noted if "request" in note and "verdict" in note]
    planned = [plan for plan in found if not any(call.call_id == contracts.HYPOTHETICAL for call in plan.request.calls)]
    by_hash: dict[str, DecidedPlan] = {}
    for plan in planned:
        known = by_hash.get(plan.request.plan_hash or "")
        if plan.request.plan_hash and (known is None or len(plan.request.calls) >= len(known.request.calls)):
            by_hash[plan.request.plan_hash] = plan
    return tuple(by_hash.values())


def _read_plan(task: ArchivedTask, note: JsonObject) -> DecidedPlan:
    request = contracts.EvaluateRequest.from_json(dumps(note["request"]))
    return DecidedPlan(
        task.record.task_id, task.record.request.text, request, contracts.Verdict.from_json(dumps(note["verdict"]))
    )


def backtest_plan(
    known: DecidedPlan, changed: Sequence[contracts.Policy], conditions: ConditionCache
) -> BacktestedPlan:
    """Decides a plan again. Each changed policy replaces the one with its id, or is added."""
    ids = {policy.id for policy in changed}
    policies = (*(policy for policy in known.request.policies if policy.id not in ids), *changed)
    verdict = evaluate(known.request.model_copy(update={"policies": policies}), conditions)
    old, new = _ids_of_finding_rules(known.verdict), _ids_of_finding_rules(verdict)
    why = (*(f"- {rule}" for rule in sorted(old - new)), *(f"+ {rule}" for rule in sorted(new - old)))
    return BacktestedPlan(known.task_id, known.text, verdict_in_words(known.verdict), verdict_in_words(verdict), why)


def verdict_in_words(verdict: contracts.Verdict) -> str:
    """The verdict in a few words, with its strictest findings."""
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


def _ids_of_finding_rules(verdict: contracts.Verdict) -> set[str]:
    rules: Iterable[str] = (f"{rule.policy_id}/{rule.rule_id}" for rule in verdict.triggered_rules)
    refused = (f"{refusal.policy_id}/{refusal.rule_id}" for refusal in verdict.refusals)
    return {*rules, *refused, *(f"{problem.policy_id}/{problem.rule_id}" for problem in verdict.problems)}
