"""The policy that a process brings: its rules, approvals for what is not known, and whether it wants two people."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from services.executor.core.figures.calculator import decimal_text
from services.executor.core.figures.numbers import number_bearing_tokens, read_figure as plain_figure
from services.executor.core.process.rows import ids_of_figure_kind
from services.executor.core.records.binding import CallView, bind_fields, build_call_view
from services.executor.core.records.field_values import words_without_minor_unit
from services.executor.core.records.references import literal_scalars
from services.executor.core.records.seen_records import (
    SeenRecord,
    contains_phrase,
    field_aliases,
    find_records,
    singular_words,
)
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import (
    Fact,
    FigureResults,
    NamedValue,
    ProcessFigures,
    SharedOperand,
    find_figures_about,
)
from services.executor.core.states.machine import POLICY_MARK, Figure, GovernedArgument, ProcessTemplate, parse_governed
from services.executor.core.tools.classes import verb_of_tool
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE, RecordKeys
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, JsonObject, as_text, walk_json
from shared.domain.words import Level, RuleAction, ToolClass

Left = Mapping[str, Mapping[str, Decimal]]  # by figure and record


class UnknownInput(NamedTuple):
    """A figure or field that calls of a plan need and that is not known. ``verbs``: the verbs of these calls."""

    name: str
    why: str
    verbs: frozenset[str]


def changes_needing_figure(figure: Figure, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The changes that need the figure: without it they are made only if a person agrees."""
    if not figure.required:
        return []
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    of_verbs = [call for call in changes if not figure.required_for or verb_of_tool(call.tool) in figure.required_for]
    return [call for call in of_verbs if verb_of_tool(call.tool) not in figure.not_required_for]


def named_record_ids(figure: Figure, arguments: JsonObject, ids: frozenset[str]) -> frozenset[str]:
    """The ids of records of the figure's kind that a call names: known ids anywhere in it, and values of arguments
    named after the kind.
    """
    said = {str(part).casefold() for part in literal_scalars(arguments)}
    keys = frozenset((*singular_words(kind), "id") for kind in figure.kinds)
    under = (value for name, value in walk_json(arguments) if singular_words(name) in keys)
    given = {str(value).casefold() for value in under if value is not None and not isinstance(value, dict | list)}
    return frozenset((said & ids) | given)


def joint_remainder(
    figure: Figure, together: Collection[str], shared: SharedOperand, found: FigureResults
) -> Decimal | None:
    """What is left of a shared amount after all these records together; None if that is not known."""
    alone = [
        Decimal(one.value) for one in found.values if one.figure == figure.name and one.about.casefold() in together
    ]
    if not figure.remainder or shared.whole is None or len(alone) != len(together):
        return None
    return shared.whole - sum((shared.whole - one for one in alone), Decimal(0))


def joint_remainders(
    template: ProcessTemplate,
    calls: Sequence[PlannedCall],
    found: FigureResults,
    facts: Sequence[Fact],
    keys: RecordKeys,
) -> dict[str, dict[str, Decimal]]:
    """By figure and record, what is left of a shared amount after all records of the plan that draw on it."""
    left: dict[str, dict[str, Decimal]] = {}
    for figure in (one for one in template.figures if one.remainder and found.shared):
        ids = ids_of_figure_kind(figure, find_records(facts, keys))
        named = [named_record_ids(figure, call.arguments, ids) for call in changes_needing_figure(figure, calls)]
        for shared, together in _find_shared_amounts(figure, named, found):
            if (least := joint_remainder(figure, together, shared, found)) is not None:
                left.setdefault(figure.name, {}).update(dict.fromkeys(together, least))
    return left


def _find_shared_amounts(
    figure: Figure, named: Iterable[frozenset[str]], found: FigureResults
) -> Iterator[tuple[SharedOperand, frozenset[str]]]:
    """Yields each amount that several of the named records draw on, with these records."""
    written = frozenset[str]().union(*named)
    shares = ((shared, shared.ids & written) for shared in found.shared.get(figure.name, ()))
    return ((shared, together) for shared, together in shares if len(together) > 1)


def apply_joint_remainders(
    arguments: JsonObject, figures: Mapping[str, Decimal], remainders: Left
) -> dict[str, Decimal]:
    """The figures for one call, in which each remainder is what the whole plan leaves of the shared amount."""
    named = {str(part).casefold() for part in literal_scalars(arguments)}
    after = {
        name: min(by[one] for one in named & by.keys())
        for name, by in remainders.items()
        if name in figures and named & by.keys()
    }
    return {**figures, **after}


def unknown_inputs(
    template: ProcessTemplate,
    calls: Sequence[PlannedCall],
    found: FigureResults,
    facts: Sequence[Fact],
    keys: RecordKeys,
    values: Sequence[NamedValue] = (),
) -> list[UnknownInput]:
    """The figures and fields that changes need and that are not known for all records they name. A calculated value may
    stand in for a figure.
    """
    stands_in = {one.figure for one in figures_for_rules(template, values, found).stand_ins}
    found = found._replace(missing=tuple(one for one in found.missing if one.name not in stands_in))
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    figures = [(figure, changed) for figure in template.figures if (changed := changes_needing_figure(figure, changes))]
    records = find_records(facts, keys) if any(figure.about for figure, _ in figures) else ()
    figures = [(figure, some) for figure, some in figures if figure.name not in stands_in]
    asked = chain.from_iterable(_unknown_inputs_of_figure(figure, some, found, records) for figure, some in figures)
    return _join_by_name([*asked, *_find_unread_fields(template, changes, facts, keys)])


def _unknown_inputs_of_figure(
    figure: Figure, changes: Sequence[PlannedCall], found: FigureResults, records: Sequence[SeenRecord]
) -> Iterator[UnknownInput]:
    ids = ids_of_figure_kind(figure, records)
    subjects = found.subjects.get(figure.name, frozenset())
    named = {call.call_id: named_record_ids(figure, call.arguments, ids) for call in changes}
    for call in changes:
        if why := _why_figure_unknown(figure.name, call, named[call.call_id], subjects, found):
            yield UnknownInput(figure.name, why, frozenset({verb_of_tool(call.tool)}))
    for shared, together in _find_shared_amounts(figure, named.values(), found):
        if why := _why_too_much(figure, together, shared, found):
            yield UnknownInput(figure.name, why, frozenset(verb_of_tool(call.tool) for call in changes))


def _why_too_much(figure: Figure, together: Collection[str], shared: SharedOperand, found: FigureResults) -> str:
    """Why records may together take more than the amount that they share; empty if what is left is not negative."""
    left = joint_remainder(figure, together, shared, found)
    if left is not None and left >= 0:
        return ""
    why = f"{figure.name} is known of each alone, and {', '.join(sorted(together))} draw on the same"
    return why if left is None else f"{why}: {decimal_text(left)} is left after all of them"


def _why_figure_unknown(
    name: str, call: PlannedCall, named: frozenset[str], subjects: frozenset[str], found: FigureResults
) -> str:
    """Why the figure is not known for the call; empty if it is known for the one record that the call is about."""
    if len(named) > 1:
        return f"{name} is known of one record alone, and {call.tool} names {', '.join(sorted(named))}"
    if strangers := named - subjects if subjects else ():
        return f"{name} is not known of {', '.join(strangers)}"
    if name in find_figures_about(found.values, [str(part) for part in literal_scalars(call.arguments)]):
        return ""
    missing = [one for one in found.missing if one.name == name]
    own = [one for one in missing if not one.about or one.about.casefold() in named] or missing
    return "; ".join(one.text for one in own) or f"{name} is not known of what {call.tool} is about"


def _find_unread_fields(
    template: ProcessTemplate, changes: Sequence[PlannedCall], facts: Sequence[Fact], keys: RecordKeys
) -> Iterator[UnknownInput]:
    """The fields that the template must know and that no record around a call has."""
    for call in changes if template.must_know else ():
        wanted_names = [name for wanted in template.must_know for name in wanted.split("|")]
        bound = bind_fields(build_call_view(call.tool, call.arguments, facts, keys), wanted_names)
        known = {name for one in (bound.fields, *bound.beyond) for name, value in one.items() if value is not None}
        for wanted in template.must_know:
            names = wanted.split("|")
            if known.isdisjoint(names):
                why = f"nothing was read that says the {' or '.join(names).replace('_', ' ')}"
                yield UnknownInput(names[0], why, frozenset({verb_of_tool(call.tool)}))


def _join_by_name(inputs: Sequence[UnknownInput]) -> list[UnknownInput]:
    """One input for each name, with all reasons and all verbs."""
    by_name: dict[str, UnknownInput] = {}
    for one in inputs:
        before = by_name.get(one.name, UnknownInput(one.name, "", frozenset()))
        whys: Mapping[str, None] = dict.fromkeys(
            text for text in (*before.why.split("; "), *one.why.split("; ")) if text
        )
        by_name[one.name] = UnknownInput(one.name, "; ".join(whys), before.verbs | one.verbs)
    return [*by_name.values()]


_MOST_SHOWN = 80
_IS_CHANGE = f'tool_class == "{ToolClass.CHANGE}"'


def find_deviations(
    figures: Sequence[Figure], calls: Sequence[PlannedCall], values: Sequence[NamedValue]
) -> Mapping[str, tuple[str, ...]]:
    """By figure, sentences on arguments of changes that differ from the figure by which the process governs them. A
    figure that is not known governs nothing.
    """
    wanted = {one.name: [parse_governed(text) for text in one.governs] for one in figures if one.governs}
    found: dict[str, tuple[str, ...]] = {}
    for call in (call for call in calls if call.tool_class is ToolClass.CHANGE):
        known = find_figures_about(values, [str(part) for part in literal_scalars(call.arguments)])
        for name in (name for name in wanted if name in known):
            given = _governed_arguments(call.arguments, wanted[name], singular_words(call.tool))
            others = [
                f"{call.tool} has {said} {as_text(value)[:_MOST_SHOWN]}"
                for said, value in given
                if not _agrees_with_figure(said, value, known[name])
            ]
            if others:
                before = found.get(name, (f"the process's own {name} is {decimal_text(known[name])}",))
                found[name] = (*before, *others)
    return found


def build_process_policy(
    template: ProcessTemplate, dossier: Dossier, found: FigureResults, keys: RecordKeys, strict: bool = False
) -> tuple[Policy, ...]:
    """The process's policy for a plan; empty without rules. ``strict``: a person is asked about unknown inputs."""
    lacking = _rules_for_unknown(template, dossier, found, keys) if strict else ()
    rules = (*template.rules, *lacking, *_rules_for_deviations(template, dossier.plan, found))
    return (Policy(id=f"{POLICY_MARK}{template.process_type}", rules=rules, judges_records=True),) if rules else ()


def describe_unknown_inputs(
    template: ProcessTemplate, dossier: Dossier, found: FigureResults, keys: RecordKeys
) -> tuple[str, ...]:
    """Sentences for the approver on what the plan needs and nobody could find out."""
    return tuple(rule.reason or "" for rule in _rules_for_unknown(template, dossier, found, keys))


def _governed_arguments(
    value: Json, wanted: Sequence[GovernedArgument], tool: Sequence[str]
) -> Iterator[tuple[str, Json]]:
    """Yields name and value of each argument, at any depth, that a figure governs."""
    if isinstance(value, list):
        for item in value:
            yield from _governed_arguments(item, wanted, tool)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if any(_governs_argument(one, name, tool) for one in wanted):
                yield name, inner
            else:
                yield from _governed_arguments(inner, wanted, tool)


def _governs_argument(governed: GovernedArgument, name: str, tool: Sequence[str]) -> bool:
    """Whether the name is the governed argument's or an alias of it, in a tool for which it is governed."""
    if governed.kinds and not any(set(singular_words(kind)) <= set(tool) for kind in governed.kinds):
        return False
    plain = words_without_minor_unit(name)
    return any(plain == singular_words(known) for known in (governed.argument, *field_aliases(governed.argument)))


def _agrees_with_figure(name: str, value: Json, known: Decimal) -> bool:
    """Whether an argument equals the figure, in whole units or in cents, or has no figure in it."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, dict | list):
        return False
    said = plain_figure(value)
    if said is None:
        return not (isinstance(value, str) and number_bearing_tokens(value))
    return said == (known * 100 if words_without_minor_unit(name) != singular_words(name) else known)


def _rules_for_unknown(
    template: ProcessTemplate, dossier: Dossier, found: FigureResults, keys: RecordKeys
) -> Iterator[Rule]:
    """A rule that asks a person for each figure or field that is not known, and for lists that were read in part."""
    plan, facts = dossier.plan, dossier.facts
    if plan is None or not _has_change(plan):
        return
    level = _find_approval_level(template)
    for need in unknown_inputs(template, plan.every_call, found, facts, keys, dossier.values):
        yield _build_approval_rule(f"needs-{need.name}", need.why, level, sorted(need.verbs))
    partial = [fact.tool for fact in facts if fact.note.startswith(MISSING_ROWS_NOTE)] if template.whole_lists else []
    if partial:
        yield _build_approval_rule(
            "whole-lists", f"not all rows were read of {', '.join(dict.fromkeys(partial))}", level
        )


def _rules_for_deviations(template: ProcessTemplate, plan: WritePlan | None, found: FigureResults) -> Iterator[Rule]:
    """A rule that asks a person for each figure that a change contradicts, and for a change made twice."""
    if plan is None or not _has_change(plan):
        return
    level = _find_approval_level(template)
    for name, said in find_deviations(template.figures, plan.every_call, found.values).items():
        yield _build_approval_rule(f"governed-by-{name}", "; ".join(said), level)
    # Perhaps the same change is wanted more than once, and a person can tell.
    changes = [call for call in plan.calls if call.tool_class is ToolClass.CHANGE]
    times = Counter((call.connection_id, call.tool, call.arguments_json) for call in changes)
    if twice := ", ".join(tool for (_, tool, _), number in times.items() if number > 1):
        yield _build_approval_rule(
            "same-call-twice", f"the plan makes the same call twice, argument for argument: {twice}", level
        )


def _has_change(plan: WritePlan) -> bool:
    return any(call.tool_class is ToolClass.CHANGE for call in plan.every_call)


def _find_approval_level(template: ProcessTemplate) -> str:
    """The level that is asked where too little is known: the highest in the process's rules, else manager."""
    named = [Level.parse(rule.level) for rule in template.rules if rule.level]
    return max(named, default=Level.MANAGER).word


def _build_approval_rule(rule_id: str, reason: str, level: str, verbs: Sequence[str] = ()) -> Rule:
    only = f" && verb in [{', '.join(map(repr, verbs))}]" if verbs else ""
    action = RuleAction.REQUIRE_APPROVAL
    return Rule(id=rule_id, condition=_IS_CHANGE + only, action=action, level=level, reason=reason)


def find_two_person_concern(progress: Progress, keys: RecordKeys) -> str | None:
    """A phrase on where one of the template's ``two_persons_about`` words occurs in a change or in records around it;
    else None.

    Whole words count, in singular or plural and in any notation: ``card_data``, ``cardData``, ``Card data``. A field of
    a record counts only if its value is not false, zero or empty.
    """
    words = progress.template.two_persons_about
    found = (
        (_find_two_person_word(call, view, words) for call, view in _changes_with_views(progress, keys))
        if words
        else ()
    )
    return next(filter(None, found), None)


def describe_unanswered_concern(progress: Progress, keys: RecordKeys) -> str | None:
    """A sentence on a change of which no record says whether a ``two_persons_about`` word concerns it; else None."""
    words = progress.template.two_persons_about
    if not words or find_two_person_concern(progress, keys):
        return None
    silent = (call for call, view in _changes_with_views(progress, keys) if not _has_filled_field_of_words(view, words))
    return next((f"nothing that was read says of {call.tool} whether {words[0]} is concerned" for call in silent), None)


def _changes_with_views(progress: Progress, keys: RecordKeys) -> Iterator[tuple[PlannedCall, CallView]]:
    plan, facts = progress.dossier.plan, progress.dossier.facts
    for call in plan.every_call if plan else ():
        if call.tool_class is ToolClass.CHANGE:
            yield call, build_call_view(call.tool, call.arguments, facts, keys)


def _find_two_person_word(call: PlannedCall, view: CallView, words: Sequence[str]) -> str | None:
    if word := _first_word_in((call.tool, *_texts_and_field_names_of(call.arguments)), words):
        return f"{word!r} in {call.tool}"
    for node in view.records_around:
        if word := _first_word_in(_texts_and_field_names_of(node.record), words):
            return f"{word!r} in what {node.seen.fact.tool} gave"
    return None


def _has_filled_field_of_words(view: CallView, words: Sequence[str]) -> bool:
    """Whether a record around the call has a field, not empty, whose name has one of the words."""
    fields = (field for node in view.records_around for field in node.record.items())
    return any(value not in (None, "") and _first_word_in((name,), words) for name, value in fields)


def _texts_and_field_names_of(value: Json) -> Iterator[str]:
    """Yields every text of a value, and the name of every field whose value is not empty, zero or false."""
    having = (pair for pair in walk_json(value) if pair[1] not in (None, False, 0, "", [], {}))
    return (text for pair in having for text in pair if isinstance(text, str) and text)


def _first_word_in(texts: Iterable[str], words: Sequence[str]) -> str | None:
    return next((word for text in texts for word in words if contains_phrase(text, word)), None)


def _as_stand_in_figure(value: NamedValue, names: Mapping[str, Sequence[str]]) -> NamedValue | None:
    """The calculated value as the figure that its name says, for one of the subjects of ``names``; else None. An empty
    subject stands for the only record there is.
    """
    for name, subjects in names.items():
        for about in subjects:
            called = {singular_words(f"{one}_{about}" if about else one) for one in (name, *field_aliases(name))}
            if singular_words(value.name) in called:
                return value.model_copy(update={"figure": name, "about": about})
    return None


def figures_for_rules(template: ProcessTemplate, values: Sequence[NamedValue], found: FigureResults) -> ProcessFigures:
    """The figures as rules see them. A calculated value may stand in for a figure of its name."""
    own = tuple(value for value in values if value.figure)
    known = {value.figure for value in own}
    names: dict[str, list[str]] = {}
    for one in found.missing:
        if one.name not in known and any(figure.name == one.name for figure in template.figures):
            ids = found.subjects.get(one.name, frozenset())
            names.setdefault(one.name, []).extend((one.about, *sorted(ids if len(ids) == 1 else ())))
    others = (_as_stand_in_figure(value, names) for value in values if not value.figure)
    return ProcessFigures(own, tuple(filter(None, others)), found.subjects)
