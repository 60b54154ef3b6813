"""The policy that a process brings with it: its own rules, and what it asks of a plan that rests on too little."""

from collections import Counter
from collections.abc import Iterator, Sequence

from services.executor.core.dossier import Dossier, Fact
from services.executor.core.execute.governed import deviations
from services.executor.core.execute.process_figures import Figured, figured
from services.executor.core.execute.process_needs import needs
from services.executor.core.fsm.template import Template
from services.executor.core.tooling.paginate_walk import PARTIAL
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Policy, Rule, Verdict
from shared.domain.words import Level, RuleAction, ToolClass

_MARK = "process:"  # begins the id of such a policy
_CHANGES = f'tool_class == "{ToolClass.CHANGE}"'


def process_policy(template: Template, dossier: Dossier, task: str) -> tuple[Policy, ...]:
    """The process's policy for a plan, to be evaluated beside the tenant's; none where the process has no rules."""
    found = figured(template, dossier.facts, task)
    rules = (*template.rules, *_asking(template, dossier.plan, found, dossier.facts))
    return (Policy(id=f"{_MARK}{template.process_type}", rules=rules, judges_records=True),) if rules else ()


def is_ruled(verdict: Verdict) -> bool:
    """Whether a rule of the tenant or the request speaks about the plan: what a process asks does not count."""
    return any(not rule.policy_id.startswith(_MARK) for rule in verdict.triggered_rules)


def _asking(template: Template, plan: WritePlan | None, found: Figured, facts: Sequence[Fact]) -> Iterator[Rule]:
    """A rule for each thing without which no plan of this process is to change anything unseen."""
    if plan is None or all(call.tool_class is not ToolClass.CHANGE for call in plan.every_call):
        return
    level = _level(template)
    for need in needs(template, plan.every_call, found, facts):
        yield _ask(f"needs-{need.name}", need.why, level, sorted(need.verbs))
    for name, said in deviations(template.figures, plan.every_call, found.values).items():
        yield _ask(f"governed-by-{name}", "; ".join(said), level)
    if twice := _said_twice(plan):
        yield _ask("same-call-twice", f"the plan makes the same call twice, argument for argument: {twice}", level)
    partial = [fact.tool for fact in facts if fact.note.startswith(PARTIAL)] if template.whole_lists else []
    if partial:
        yield _ask("whole-lists", f"not all rows were read of {', '.join(dict.fromkeys(partial))}", level)


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
