"""The policy that a process brings: its rules, approvals for what is not known, and whether it wants two people."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from services.executor.core.figures.calculator import format_decimal
from services.executor.core.figures.numbers import find_tokens_with_digits, read_figure as plain_figure
from services.executor.core.process.rows import list_record_ids_of_figure
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
from services.executor.core.states.machine import (
    PROCESS_POLICY_PREFIX,
    Figure,
    GovernedArgument,
    ProcessTemplate,
    parse_governed,
)
from services.executor.core.tools.classes import find_deciding_verb
from services.executor.core.tools.record_tree import MISSING_ROWS_NOTE, RecordKeys
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import Json, JsonObject, as_text, walk_json
from shared.domain.words import DONE_STATUSES, EscalationLevel, RuleAction, ToolClass

RemaindersByFigure = Mapping[str, Mapping[str, Decimal]]  # by figure and record


class _UnknownInput(NamedTuple):
    """A figure or field that a call of a plan needs and that is not known. ``verb``: that of the call's tool."""

    name: str
    reason: str
    verb: str


def _changes_needing_figure(figure: Figure, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The changes that need the figure: without it they are made only if a person agrees."""
    if not figure.required:
        return []
    changes = [(call, find_deciding_verb(call.tool)) for call in _list_changes(calls)]
    excluded, required = figure.not_required_for, figure.required_for
    return [call for call, verb in changes if verb not in excluded and (not required or verb in required)]


def _list_changes(calls: Iterable[PlannedCall]) -> list[PlannedCall]:
    return [call for call in calls if call.tool_class is ToolClass.CHANGE]


def _find_named_ids_of_kind(figure: Figure, arguments: JsonObject, ids: frozenset[str]) -> frozenset[str]:
    """The ids of the figure's kind that a call names: known ``ids``, and arguments named after the kind."""
    scalars = {str(part).casefold() for part in literal_scalars(arguments)}
    keys = frozenset((*singular_words(kind), "id") for kind in figure.subject_kinds)
    values = (value for name, value in walk_json(arguments) if singular_words(name) in keys)
    of_kind = {str(value).casefold() for value in values if value is not None and not isinstance(value, dict | list)}
    return frozenset((scalars & ids) | of_kind)


def _joint_remainder(
    figure: Figure, record_ids: Collection[str], shared: SharedOperand, results: FigureResults
) -> Decimal | None:
    """What is left of a shared amount after all these records together; None if that is not known."""
    values = [value for value in results.values if value.figure == figure.name]
    remainders = [Decimal(value.value) for value in values if value.about.casefold() in record_ids]
    if not figure.remainder or shared.minuend is None or len(remainders) != len(record_ids):
        return None
    return shared.minuend - sum((shared.minuend - remainder for remainder in remainders), Decimal(0))


def joint_remainders(
    template: ProcessTemplate,
    calls: Sequence[PlannedCall],
    results: FigureResults,
    facts: Sequence[Fact],
    keys: RecordKeys,
) -> dict[str, dict[str, Decimal]]:
    """What the plan's calls together leave of an amount that several records share, as ``{figure name: {record id:
    remainder}}``: two orders of 60 and 30 on one budget of 100 leave 10 for each of them.
    """
    remainders: dict[str, dict[str, Decimal]] = {}
    for figure in (figure for figure in template.figures if figure.remainder and results.shared):
        ids = list_record_ids_of_figure(figure, find_records(facts, keys))
        changes = _changes_needing_figure(figure, calls)
        ids_by_call = [_find_named_ids_of_kind(figure, call.arguments, ids) for call in changes]
        for shared, record_ids in _find_shared_amounts(figure, ids_by_call, results):
            if (remainder := _joint_remainder(figure, record_ids, shared, results)) is not None:
                remainders.setdefault(figure.name, {}).update(dict.fromkeys(record_ids, remainder))
    return remainders


def _find_shared_amounts(
    figure: Figure, ids_by_call: Iterable[frozenset[str]], results: FigureResults
) -> Iterator[tuple[SharedOperand, frozenset[str]]]:
    """Yields each amount that several of the named records draw on, with these records."""
    named_ids = frozenset[str]().union(*ids_by_call)
    shares = ((shared, shared.ids & named_ids) for shared in results.shared.get(figure.name, ()))
    return ((shared, record_ids) for shared, record_ids in shares if len(record_ids) > 1)


def apply_joint_remainders(
    arguments: JsonObject, figures: Mapping[str, Decimal], remainders: RemaindersByFigure
) -> dict[str, Decimal]:
    """The figures for one call, in which each remainder is what the whole plan leaves of the shared amount."""
    scalars = {str(part).casefold() for part in literal_scalars(arguments)}
    remainders_of_call = {
        name: min(by_record[record_id] for record_id in scalars & by_record.keys())
        for name, by_record in remainders.items()
        if name in figures and scalars & by_record.keys()
    }
    return {**figures, **remainders_of_call}


def _find_unknown_inputs(
    template: ProcessTemplate, dossier: Dossier, results: FigureResults, keys: RecordKeys
) -> Iterator[_UnknownInput]:
    """Yields the figures and fields that changes need and that are not known of all their records; not the figures for
    which a value of the model stands in.
    """
    stand_in_names = {value.figure for value in figures_for_rules(dossier.values, results).stand_ins}
    changes = _list_changes(dossier.present_plan.every_call)
    records = find_records(dossier.facts, keys)
    for figure in template.figures:
        if figure.name not in stand_in_names:
            yield from _unknown_inputs_of_figure(figure, _changes_needing_figure(figure, changes), results, records)
    yield from _find_unread_fields(template, changes, dossier.facts, keys)


def _unknown_inputs_of_figure(
    figure: Figure, changes: Sequence[PlannedCall], results: FigureResults, records: Sequence[SeenRecord]
) -> Iterator[_UnknownInput]:
    ids = list_record_ids_of_figure(figure, records)
    ids_by_call = {call.call_id: _find_named_ids_of_kind(figure, call.arguments, ids) for call in changes}
    for call in changes:
        if reason := _why_figure_unknown(figure.name, call, ids_by_call[call.call_id], results):
            yield _UnknownInput(figure.name, reason, find_deciding_verb(call.tool))
    for shared, record_ids in _find_shared_amounts(figure, ids_by_call.values(), results):
        if reason := _why_shared_amount_may_not_suffice(figure, record_ids, shared, results):
            yield from (_UnknownInput(figure.name, reason, find_deciding_verb(call.tool)) for call in changes)


def _why_shared_amount_may_not_suffice(
    figure: Figure, record_ids: Collection[str], shared: SharedOperand, results: FigureResults
) -> str:
    """Why records may together take more than the amount that they share; empty if what is left is not negative."""
    remainder = _joint_remainder(figure, record_ids, shared, results)
    if remainder is not None and remainder >= 0:
        return ""
    reason = f"{figure.name} is known of each alone, and {', '.join(sorted(record_ids))} draw on the same"
    return reason if remainder is None else f"{reason}: {format_decimal(remainder)} is left after all of them"


def _why_figure_unknown(name: str, call: PlannedCall, record_ids: frozenset[str], results: FigureResults) -> str:
    """Why the figure is not known for the call; empty if it is known for the one record that the call is about."""
    if len(record_ids) > 1:
        return f"{name} is known of one record alone, and {call.tool} names {', '.join(sorted(record_ids))}"
    subjects = results.subjects.get(name)
    if strangers := record_ids - subjects if subjects else ():
        return f"{name} is not known of {', '.join(strangers)}"
    if name in find_figures_about(results.values, [str(part) for part in literal_scalars(call.arguments)]):
        return ""
    missing = [figure for figure in results.missing if figure.name == name]
    of_records = [figure for figure in missing if not figure.about or figure.about.casefold() in record_ids]
    reasons = [figure.text for figure in of_records or missing]
    return "; ".join(reasons) or f"{name} is not known of what {call.tool} is about"


def _find_unread_fields(
    template: ProcessTemplate, changes: Sequence[PlannedCall], facts: Sequence[Fact], keys: RecordKeys
) -> Iterator[_UnknownInput]:
    """Yields the ``must_know`` fields of the template that changes need and no record around them has."""
    for call in changes if template.must_know else ():
        wanted_names = [name for alternatives in template.must_know for name in alternatives.split("|")]
        bound = bind_fields(build_call_view(call.tool, call.arguments, facts, keys), wanted_names)
        pairs = chain.from_iterable(fields.items() for fields in (bound.fields, *bound.distant_records))
        known_names = {name for name, value in pairs if value is not None}
        for alternatives in template.must_know:
            names = alternatives.split("|")
            if known_names.isdisjoint(names):
                reason = f"nothing was read that says the {' or '.join(names).replace('_', ' ')}"
                yield _UnknownInput(names[0], reason, find_deciding_verb(call.tool))


_MOST_CHARACTERS_SHOWN = 80
_CHANGE_CONDITION = f'tool_class == "{ToolClass.CHANGE}"'


def find_deviating_arguments(
    figures: Sequence[Figure], calls: Sequence[PlannedCall], values: Sequence[NamedValue]
) -> Mapping[str, tuple[str, ...]]:
    """The arguments of changes that differ from the figure by which the process governs them, as ``{figure name:
    sentences}``; the first sentence states the figure. An unknown figure governs nothing.
    """
    governed = {figure.name: [parse_governed(text) for text in figure.governs] for figure in figures if figure.governs}
    deviations: dict[str, tuple[str, ...]] = {}
    for call in _list_changes(calls):
        figures_about = find_figures_about(values, [str(part) for part in literal_scalars(call.arguments)])
        for name in (name for name in governed if name in figures_about):
            arguments = _find_governed_arguments(call.arguments, governed[name], singular_words(call.tool))
            contradictions = [
                f"{call.tool} has {argument} {as_text(value)[:_MOST_CHARACTERS_SHOWN]}"
                for argument, value in arguments
                if not _agrees_with_figure(argument, value, figures_about[name])
            ]
            if contradictions:
                sentences = deviations.get(
                    name, (f"the process's own {name} is {format_decimal(figures_about[name])}",)
                )
                deviations[name] = (*sentences, *contradictions)
    return deviations


def build_process_policy(
    template: ProcessTemplate, dossier: Dossier, results: FigureResults, keys: RecordKeys, asks_about_unknown: bool
) -> tuple[Policy, ...]:
    """The process's policy for a plan; empty without rules. ``asks_about_unknown``: unknown inputs need an approval."""
    rules_for_unknown = _rules_for_unknown_inputs(template, dossier, results, keys) if asks_about_unknown else ()
    rules = (*template.rules, *rules_for_unknown, *_rules_for_deviations(template, dossier.present_plan, results))
    return (
        (Policy(id=f"{PROCESS_POLICY_PREFIX}{template.process_type}", rules=rules, judges_records=True),)
        if rules
        else ()
    )


def describe_unknown_inputs(
    template: ProcessTemplate, dossier: Dossier, results: FigureResults, keys: RecordKeys
) -> tuple[str, ...]:
    """Sentences for the approver on what the plan needs and nobody could find out."""
    return tuple(rule.reason or "" for rule in _rules_for_unknown_inputs(template, dossier, results, keys))


def _find_governed_arguments(
    value: Json, governed_arguments: Sequence[GovernedArgument], tool_words: Sequence[str]
) -> Iterator[tuple[str, Json]]:
    """Yields name and value of each argument, at any depth, that a figure governs; but none within such a value."""
    if isinstance(value, list):
        for item in value:
            yield from _find_governed_arguments(item, governed_arguments, tool_words)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if any(_governs_argument(governed, name, tool_words) for governed in governed_arguments):
                yield name, inner
            else:
                yield from _find_governed_arguments(inner, governed_arguments, tool_words)


def _governs_argument(governed: GovernedArgument, name: str, tool_words: Sequence[str]) -> bool:
    """Whether the name is the governed argument's or an alias of it, in a tool for which it is governed."""
    if governed.kinds and not any(set(singular_words(kind)) <= set(tool_words) for kind in governed.kinds):
        return False
    words = words_without_minor_unit(name)
    return any(words == singular_words(argument) for argument in (governed.argument, *field_aliases(governed.argument)))


def _agrees_with_figure(name: str, value: Json, figure: Decimal) -> bool:
    """Whether an argument equals the figure (in cents if the argument's name says so), or has no figure in it."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, dict | list):
        return False
    number = plain_figure(value)
    if number is None:
        return not (isinstance(value, str) and find_tokens_with_digits(value))
    return number == (figure * 100 if words_without_minor_unit(name) != singular_words(name) else figure)


def _rules_for_unknown_inputs(
    template: ProcessTemplate, dossier: Dossier, results: FigureResults, keys: RecordKeys
) -> Iterator[Rule]:
    """A rule that asks a person for each figure or field that is not known, and for lists that were read in part."""
    level = _find_approval_level(template)
    reasons = dict[str, list[str]]()
    verbs = dict[str, set[str]]()
    for unknown in _find_unknown_inputs(template, dossier, results, keys):
        reasons.setdefault(unknown.name, []).extend(unknown.reason.split("; "))
        verbs.setdefault(unknown.name, set()).add(unknown.verb)
    for name, its_reasons in reasons.items():
        yield _build_approval_rule(f"needs-{name}", "; ".join(dict.fromkeys(its_reasons)), level, sorted(verbs[name]))
    partial = [fact.tool for fact in dossier.facts if fact.note.startswith(MISSING_ROWS_NOTE)]
    if template.whole_lists and partial and _list_changes(dossier.present_plan.every_call):
        reason = f"not all rows were read of {', '.join(dict.fromkeys(partial))}"
        yield _build_approval_rule("whole-lists", reason, level)


def _rules_for_deviations(template: ProcessTemplate, plan: WritePlan, results: FigureResults) -> Iterator[Rule]:
    """A rule that asks a person for each figure that a change contradicts, and for a change made twice."""
    level = _find_approval_level(template)
    for name, sentences in find_deviating_arguments(template.figures, plan.every_call, results.values).items():
        yield _build_approval_rule(f"governed-by-{name}", "; ".join(sentences), level)
    # Perhaps the same change is wanted more than once, and a person can tell.
    counts = Counter((call.connection_id, call.tool, call.arguments_json) for call in plan.changes)
    if repeated_tools := ", ".join(tool for (_, tool, _), count in counts.items() if count > 1):
        reason = f"the plan makes the same call twice, argument for argument: {repeated_tools}"
        yield _build_approval_rule("same-call-twice", reason, level)


def _find_approval_level(template: ProcessTemplate) -> str:
    """The level that is asked where too little is known: the highest in the process's rules, else manager."""
    levels = [EscalationLevel.parse(rule.level) for rule in template.rules if rule.level]
    return max(levels, default=EscalationLevel.MANAGER).word


def _build_approval_rule(rule_id: str, reason: str, level: str, verbs: Sequence[str] = ()) -> Rule:
    verb_condition = f" && verb in [{', '.join(map(repr, verbs))}]" if verbs else ""
    action = RuleAction.REQUIRE_APPROVAL
    return Rule(id=rule_id, condition=_CHANGE_CONDITION + verb_condition, action=action, level=level, reason=reason)


def find_two_person_concern(progress: Progress, keys: RecordKeys) -> str | None:
    """A phrase on where one of the template's ``two_persons_about`` words occurs in a change or in records around it;
    else None.

    Whole words count, in singular or plural and in any notation: ``card_data``, ``cardData``, ``Card data``. A field of
    a record counts only if its value is not false, zero or empty.
    """
    words = progress.template.two_persons_about
    changes = _changes_with_views(progress, keys) if words else ()
    phrases = (_describe_two_person_word(call, view, words) for call, view in changes)
    return next(filter(None, phrases), None)


def describe_unknown_two_person_concern(progress: Progress, keys: RecordKeys) -> str | None:
    """A sentence on a change of which no record says whether a ``two_persons_about`` word concerns it; else None."""
    words = progress.template.two_persons_about
    if not words or find_two_person_concern(progress, keys):
        return None
    silent = (call for call, view in _changes_with_views(progress, keys) if not _has_filled_field_of_words(view, words))
    return next((f"nothing that was read says of {call.tool} whether {words[0]} is concerned" for call in silent), None)


def _changes_with_views(progress: Progress, keys: RecordKeys) -> Iterator[tuple[PlannedCall, CallView]]:
    for call in _list_changes(progress.dossier.present_plan.every_call):
        yield call, build_call_view(call.tool, call.arguments, progress.dossier.facts, keys)


def _describe_two_person_word(call: PlannedCall, view: CallView, words: Sequence[str]) -> str | None:
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
    filled_pairs = (pair for pair in walk_json(value) if pair[1] not in (None, False, 0, "", [], {}))
    return (text for pair in filled_pairs for text in pair if isinstance(text, str) and text)


def _first_word_in(texts: Iterable[str], words: Sequence[str]) -> str | None:
    return next((word for text in texts for word in words if contains_phrase(text, word)), None)


def _convert_to_missing_figure(value: NamedValue, subjects_by_figure: Mapping[str, Sequence[str]]) -> NamedValue | None:
    """The value as the missing figure that its name says: ``budget_left``, or ``budget_left_PO_1`` for a subject PO-1.

    An empty subject stands for the only record there is. None if no name fits.
    """
    words = singular_words(value.name)
    for name, subjects in subjects_by_figure.items():
        for about in subjects:
            suffix = f"_{about}" if about else ""
            if any(words == singular_words(alias + suffix) for alias in (name, *field_aliases(name))):
                return value.model_copy(update={"figure": name, "about": about})
    return None


def figures_for_rules(values: Sequence[NamedValue], results: FigureResults) -> ProcessFigures:
    """The figures as rules see them. A calculated value may stand in for a missing figure of its name."""
    computed = tuple(value for value in values if value.figure)
    computed_names = {value.figure for value in computed}
    subjects_by_figure: dict[str, list[str]] = {}
    for missing in results.missing:
        if missing.name not in computed_names:
            ids = results.subjects.get(missing.name, frozenset())
            subjects = subjects_by_figure.setdefault(missing.name, [])
            subjects += [missing.about, *(ids if len(ids) == 1 else ())]
    stand_ins = (_convert_to_missing_figure(value, subjects_by_figure) for value in values if not value.figure)
    return ProcessFigures(computed, tuple(filter(None, stand_ins)), results.subjects)


def drop_unrealized_remainders(progress: Progress, writes: Sequence[LedgerEntry]) -> list[NamedValue]:
    """The plan's values, without remainders that are not true after the task's writes: what a claim would leave of a
    limit is not left if the claim was not approved, or if another approved one draws on the same limit.
    """
    values = progress.dossier.values
    remainders = {one.name: one for one in progress.template.figures if one.remainder}
    of_figures = ((value, remainders[value.figure]) for value in values if value.figure in remainders)
    left = [value for value, figure in of_figures if _was_change_made(value, figure, writes)]
    draws = Counter((value.figure, value.operands[:1]) for value in left)
    only = [value for value in left if draws[value.figure, value.operands[:1]] == 1]
    return [value for value in values if value.figure not in remainders or value in only]


def _was_change_made(remainder: NamedValue, figure: Figure, writes: Sequence[LedgerEntry]) -> bool:
    """Whether a change that needs the figure was made to the remainder's record, and not taken back."""
    done = [entry for entry in writes if entry.status in DONE_STATUSES]
    taken_back = {entry.compensates for entry in done}
    calls = [entry.call for entry in done if not (entry.compensates or entry.call.call_id in taken_back)]
    changes = _changes_needing_figure(figure, calls)
    texts = [{as_text(value).casefold() for _, value in walk_json(change.arguments)} for change in changes]
    return any(not remainder.about or remainder.about.casefold() in texts_of_change for texts_of_change in texts)
