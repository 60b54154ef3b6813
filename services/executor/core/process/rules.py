"""The policy that a process brings with it: its own rules, and what it asks of a plan that rests on too little."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from services.executor.core.dossier.dossier import Dossier
from services.executor.core.dossier.values import PARTIAL, NamedValue
from services.executor.core.figures.numbers import figure, number_bearing_tokens
from services.executor.core.finance.calculator import decimal_text
from services.executor.core.process.figures import Figured, compute_figures, figures_about
from services.executor.core.process.needs import needs
from services.executor.core.records.called_records import aliases, words
from services.executor.core.records.refs import literal_parts
from services.executor.core.states.template import Figure, Governed, Template, parse_governed
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy, Rule, Verdict
from shared.domain.exact_json import Json, dumps
from shared.domain.words import Level, RuleAction, ToolClass

_SHOWN = 80
_MARK = "process:"  # begins the id of such a policy
_CHANGES = f'tool_class == "{ToolClass.CHANGE}"'


def deviations(
    figures: Sequence[Figure], calls: Sequence[PlannedCall], values: Sequence[NamedValue]
) -> Mapping[str, tuple[str, ...]]:
    """For each figure what a plan's changes say instead of it; one that is not known of a call governs none of it."""
    wanted = {one.name: [parse_governed(text) for text in one.governs] for one in figures if one.governs}
    found: dict[str, tuple[str, ...]] = {}
    for call in (call for call in calls if call.tool_class is ToolClass.CHANGE):
        known = figures_about(values, [str(part) for part in literal_parts(call.arguments)])
        for name in (name for name in wanted if name in known):
            given = _governed_arguments(call.arguments, wanted[name], words(call.tool))
            others = [
                _describe_argument(call.tool, said, value)
                for said, value in given
                if not _agrees(said, value, known[name])
            ]
            if others:
                before = found.get(name, (f"the process's own {name} is {decimal_text(known[name])}",))
                found[name] = (*before, *others)
    return found


def process_policy(template: Template, dossier: Dossier, task: str, *, strict: bool = False) -> tuple[Policy, ...]:
    """The process's policy for a plan, to be evaluated beside the tenant's; none where the process has no rules.

    ``strict``: a figure or a field that cannot be had asks a person, too. Otherwise it is only told (``not_known``).
    """
    found = compute_figures(template, dossier.facts, task)
    lacking = _lacking(template, dossier, found) if strict else ()
    rules = (*template.rules, *lacking, *_contradicting(template, dossier.plan, found))
    return (Policy(id=f"{_MARK}{template.process_type}", rules=rules, judges_records=True),) if rules else ()


def not_known(template: Template, dossier: Dossier, task: str) -> tuple[str, ...]:
    """What a plan of this process rests on and nobody could find out, in sentences, for whoever decides."""
    return tuple(
        rule.reason or "" for rule in _lacking(template, dossier, compute_figures(template, dossier.facts, task))
    )


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


def _governed_arguments(value: Json, wanted: Sequence[Governed], tool: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """The governed arguments of a call with their names, however deep they stand."""
    if isinstance(value, list):
        for item in value:
            yield from _governed_arguments(item, wanted, tool)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if any(_governs(one, name, tool) for one in wanted):
                yield name, inner
            else:
                yield from _governed_arguments(inner, wanted, tool)


def _governs(one: Governed, name: str, tool: Sequence[str]) -> bool:
    """Whether the name is the governed one, or a common other name of it, in a tool that it is governed in."""
    if one.kinds and not any(set(words(kind)) <= set(tool) for kind in one.kinds):
        return False
    plain = _whole(words(name))
    return any(plain == words(known) for known in (one.argument, *aliases(one.argument)))


def _agrees(name: str, value: Json, known: Decimal) -> bool:
    """Whether an argument is the figure, in whole units or in cents; what has no figure in it says nothing of one."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, dict | list):
        return False
    said = figure(value)
    if said is None:
        return not (isinstance(value, str) and number_bearing_tokens(value))
    return said == (known * 100 if _whole(words(name)) != words(name) else known)


def _whole(said: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name without those that say it is in cents."""
    return said[:-1] if said[-1:] == ("cent",) else said[:-2] if said[-2:] == ("minor", "unit") else said


def _describe_argument(tool: str, argument: str, value: Json) -> str:
    said = value if isinstance(value, str) else dumps(value)
    return f"{tool} has {argument} {said[:_SHOWN]}"


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
