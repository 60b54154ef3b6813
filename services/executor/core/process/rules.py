"""The policy that a process brings with it: its own rules, and what it asks of a plan that rests on too little."""

from collections import Counter
from collections.abc import Iterator, Sequence

from services.executor.core.dossier.dossier import Dossier
from services.executor.core.process.figures import Figured, figured
from services.executor.core.process.governed import deviations
from services.executor.core.process.needs import needs
from services.executor.core.states.template import Template
from services.executor.core.tools.paginate_walk import PARTIAL
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Policy, Rule, Verdict
from shared.domain.words import Level, RuleAction, ToolClass

_MARK = "process:"  # begins the id of such a policy
_CHANGES = f'tool_class == "{ToolClass.CHANGE}"'


def process_policy(template: Template, dossier: Dossier, task: str, *, strict: bool = False) -> tuple[Policy, ...]:
    """The process's policy for a plan, to be evaluated beside the tenant's; none where the process has no rules.

    ``strict``: a figure or a field that cannot be had asks a person, too. Otherwise it is only told (``not_known``).
    """
    found = figured(template, dossier.facts, task)
    lacking = _lacking(template, dossier, found) if strict else ()
    rules = (*template.rules, *lacking, *_contradicting(template, dossier.plan, found))
    return (Policy(id=f"{_MARK}{template.process_type}", rules=rules, judges_records=True),) if rules else ()


def not_known(template: Template, dossier: Dossier, task: str) -> tuple[str, ...]:
    """What a plan of this process rests on and nobody could find out, in sentences, for whoever decides."""
    return tuple(rule.reason or "" for rule in _lacking(template, dossier, figured(template, dossier.facts, task)))


def find_unruled(verdict: Verdict, plan: WritePlan | None) -> tuple[str, ...]:
    """The tools of a plan's calls to which no rule of the tenant or the request applies: what a process asks is none.

    Its changes count, or where there are none its notices.
    """
    calls = plan.every_call if plan else ()
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE] or calls
    acting = {rule.call_id for rule in verdict.triggered_rules if not rule.policy_id.startswith(_MARK)}
    if verdict.ruled_calls is None or None in acting:  # of an older policy service, or about the task's text
        return () if acting else tuple(call.tool for call in changes) or ("",)
    ruled = {call_id for call_id, ids in verdict.ruled_calls.items() if any(not one.startswith(_MARK) for one in ids)}
    return tuple(call.tool for call in changes if call.call_id not in ruled | acting)


def _lacking(template: Template, dossier: Dossier, found: Figured) -> Iterator[Rule]:
    """A rule for each thing that nobody knows, and without which a plan of this process is not to change anything."""
    plan, facts = dossier.plan, dossier.facts
    if plan is None or not _changes(plan):
        return
    level = _level(template)
    for need in needs(template, plan.every_call, found, facts, dossier.values):
        yield _ask(f"needs-{need.name}", need.why, level, sorted(need.verbs))
    partial = [fact.tool for fact in facts if fact.note.startswith(PARTIAL)] if template.whole_lists else []
    if partial:
        yield _ask("whole-lists", f"not all rows were read of {', '.join(dict.fromkeys(partial))}", level)


def _contradicting(template: Template, plan: WritePlan | None, found: Figured) -> Iterator[Rule]:
    """A rule for each change that says something else than the process's own figure, and for one that is said twice."""
    if plan is None or not _changes(plan):
        return
    level = _level(template)
    for name, said in deviations(template.figures, plan.every_call, found.values).items():
        yield _ask(f"governed-by-{name}", "; ".join(said), level)
    if twice := _said_twice(plan):
        yield _ask("same-call-twice", f"the plan makes the same call twice, argument for argument: {twice}", level)


def _changes(plan: WritePlan) -> bool:
    return any(call.tool_class is ToolClass.CHANGE for call in plan.every_call)


def _said_twice(plan: WritePlan) -> str:
    """A change that the plan makes more than once: perhaps that is wanted, and a person can tell."""
    changes = [call for call in plan.calls if call.tool_class is ToolClass.CHANGE]
    said = Counter((call.connection_id, call.tool, call.arguments_json) for call in changes)
    return ", ".join(tool for (_, tool, _), times in said.items() if times > 1)


def _level(template: Template) -> str:
    """Who is asked where too little is known: the highest whom a rule of the process might have asked."""
    named = [Level.parse(rule.level) for rule in template.rules if rule.level]
    return max(named, default=Level.MANAGER).word


def _ask(rule_id: str, reason: str, level: str, verbs: Sequence[str] = ()) -> Rule:
    only = f" && verb in [{', '.join(map(repr, verbs))}]" if verbs else ""
    action = RuleAction.REQUIRE_APPROVAL
    return Rule(id=rule_id, condition=_CHANGES + only, action=action, level=level, reason=reason)
