"""The writes a task asks for: for each action of the task the calls that carry it out, or why there are none."""

import re
from collections.abc import Iterator, Sequence

from services.planner.core.arguments import bind_arguments
from services.planner.core.binding import CallPlan, WhyUnplanned, WriteStep
from services.planner.core.compute import stated_figures
from services.planner.core.conditions import judge_condition
from services.planner.core.each import calls_for_each, route_listed, why_not_all_known
from services.planner.core.intents import Intent
from services.planner.core.known import as_field_type, fill_known, takes_figure
from services.planner.core.made import fill_new, link_to_made, made_entities
from services.planner.core.mentions import MentionKind, find, identifiers_in
from services.planner.core.parts_of_task import find_asked
from services.planner.core.records import own_id
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.situation import CERTAIN, LIKELY, ArgumentCandidate, Situation, places_of, records_about
from services.planner.core.toolmatch import tools_for
from services.planner.core.unread import find_uninterpreted_words_of_clause
from services.planner.core.words import family, field_stems, parts, stem, text_stems
from shared.domain.exact_json import JsonObject

_RESULT = re.compile(r"\b(?:to|as|of) (?:the|that|this) (?:result|total|sum|number|figure|count|amount|value)\b", re.I)

_SHAPE = re.compile(r"\d+")
_DECISIONS = frozenset({"approve", "reject"})
_STATES = text_stems("status state")
_TELLS = re.compile(r"\b(?:that|about|of|with|saying)\b", re.I)


def plan_steps(situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]) -> tuple[WriteStep, ...]:
    """A step for each action, in the task's order with notices last; no call stands in two of them."""
    steps: list[WriteStep] = []
    for intent in find_asked(situation, writers):
        found = _steps_of(intent, situation, writers, readers)
        made = tuple(thing for step in found for bound in step.calls for thing in made_entities(bound, situation))
        situation = situation._replace(made=(*situation.made, *made))
        steps += found
    ordered = sorted(steps, key=lambda step: step.intent.is_notice)
    seen: set[str] = set()
    return tuple(_stop_after_failed(ordered, [_drop_known(step, seen) for step in ordered]))


def _stop_after_failed(found: Sequence[WriteStep], steps: Sequence[WriteStep]) -> Iterator[WriteStep]:
    """What is to come after something, or tells of it, is not done where nothing does that."""
    stopped = ""
    for whole, step in zip(found, steps, strict=True):
        if not (whole.calls or whole.reason.settled or whole.intent.is_notice):
            stopped = stopped or step.intent.clause
        if stopped and step.calls and (step.intent.follows or step.intent.is_notice):
            yield step._replace(calls=(), reason=WhyUnplanned(f'"{stopped}" was to be done before'))
        else:
            yield step


def _drop_known(step: WriteStep, seen: set[str]) -> WriteStep:
    fresh = {bound.key: bound for bound in step.calls if bound.key not in seen}
    seen |= {*fresh}
    return step._replace(calls=tuple(fresh.values()))


def _steps_of(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> list[WriteStep]:
    """One step, or one for each thing that goes a way of its own by its age."""
    ways = route_listed(intent, situation, writers)
    if not ways.calls or not judge_condition(intent, situation).holds or tools_for(intent, situation, writers):
        return [_plan(intent, situation, writers, readers)]
    steps = [WriteStep(intent._replace(verb=parts(bound.tool.name)[0]), (bound,)) for bound in ways.calls]
    return [steps[0]._replace(left_out=ways.left_out), *steps[1:]]


def _plan(intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]) -> WriteStep:
    judged = judge_condition(intent, situation)
    if not judged.holds:
        problem = "is not known" if judged.holds is None else "does not hold"
        unmet = f"its condition {problem}: {judged.why}"
        return WriteStep(intent, reason=WhyUnplanned(unmet, settled=judged.holds is False))
    chosen, why = _find_calls(intent, situation, writers, readers)
    kept = tuple(bound for bound in chosen if not _is_forbidden(bound, situation))
    if chosen and not kept:
        why = WhyUnplanned("the task forbids it", settled=True)
    elif left := _list_left_out(kept, chosen, intent):
        return WriteStep(
            intent, reason=WhyUnplanned(f"it names {', '.join(left)} too, and no call could be found for that")
        )
    return WriteStep(intent, kept, why)


def _list_left_out(kept: Sequence[CallPlan], chosen: Sequence[CallPlan], intent: Intent) -> list[str]:
    """The identifiers of a clause that look like one which its calls have, and that none of them has."""
    given = [str(found.value) for bound in chosen for _, found in bound.chosen]
    alike = {_SHAPE.sub("9", value) for value in given} if kept else set()
    named = [mention.value for mention in find(intent.clause) if mention.kind is MentionKind.ID]
    left = [value for value in named if _SHAPE.sub("9", value) in alike and not any(value in one for one in given)]
    return [value for value in left if value not in intent.spared]


def _find_calls(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> tuple[list[CallPlan], WhyUnplanned]:
    tools = tools_for(intent, situation, writers)
    if each := _to_each_named(intent, situation, writers) if intent.is_notice else []:
        return each, WhyUnplanned()
    if not tools:
        return [], WhyUnplanned("no tool that is offered does it")
    lacking = ""
    for tier in _to_whom_it_says(tools, intent, situation) if intent.is_notice else tools:
        ways = [(tool, _find_ways(tool, intent, situation)) for tool in tier]
        whole = [found for _, found in ways if found and not found[0].missing]
        whole = [ways for ways in whole if _names_all(ways[0], intent)] or whole if len(whole) > 1 else whole
        whole = [ways for ways in whole if _reaches_named(ways, intent)]
        if len(whole) == 1:
            return _check_ways(whole[0], intent, situation, readers)
        if len(whole) > 1:
            options = " and ".join(sorted(found[0].tool.name for found in whole))
            return [], WhyUnplanned(f"it could mean {options}, and the task does not say which")
        lacking = lacking or "; ".join(_describe_missing(tool, found) for tool, found in ways)
    return [], WhyUnplanned(lacking)


def _to_each_named(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> list[CallPlan]:
    """Where a notice names several people or firms: a call for each, by the one tool that reaches it."""
    said = _TELLS.split(intent.clause)[0]
    named = [
        mention.value for mention in find(said) if mention.kind is MentionKind.ID and mention.value not in intent.spared
    ]
    tools = [tool for tool in writers if family(parts(tool.name)[0]) == intent.family]
    found: list[CallPlan] = []
    for value in named if len(named) > 1 else ():
        ways = [way for tool in tools for way in _find_ways(tool, intent, situation) if _goes_to(way, value)]
        if len(ways) != 1 or ways[0].missing:
            return []
        found += ways
    return found


def _reaches_named(ways: Sequence[CallPlan], intent: Intent) -> bool:
    """Whether a notice goes to one of those whom its clause names by an identifier, if it names any."""
    named = {mention.value for mention in find(_TELLS.split(intent.clause)[0]) if mention.kind is MentionKind.ID}
    return not (intent.is_notice and named) or any(_goes_to(way, value) for way in ways for value in named)


def _goes_to(way: CallPlan, value: str) -> bool:
    return any(str(found.value) == value for name, found in way.chosen if name in way.tool.required)


def _to_whom_it_says(tiers: list[list[ToolSpec]], intent: Intent, situation: Situation) -> list[list[ToolSpec]]:
    """A notice goes to the one that its clause names by an identifier, if a tool can reach that one."""
    reaching = [
        [tool for tool in tier if any(_names_all(w, intent) for w in _find_ways(tool, intent, situation)[:1])]
        for tier in tiers
    ]
    return [tier for tier in reaching if tier] or tiers


def _describe_missing(tool: ToolSpec, ways: list[CallPlan]) -> str:
    names = ", ".join(ways[0].missing) if ways else "its arguments"
    return f"{tool.name} needs {names}, which neither the task nor the facts give"


def _find_ways(tool: ToolSpec, intent: Intent, situation: Situation) -> list[CallPlan]:
    """The ways to call a tool that agree with the task: several only if the clause names several things."""
    ways = [_with_values(way, intent, situation) for way in bind_arguments(tool, situation, intent, LIKELY)]
    ways = [_without_guesses(fill_new(fill_known(way, intent, situation), situation)) for way in ways]
    ways = [link_to_made(way, intent, situation) for way in ways if intent.means_every or not _leaves_out(way, intent)]
    if intent.means_every:
        return [found for way in ways[:1] for found in calls_for_each(way, intent, situation)]
    first = ways[:1]
    named = [way for way in ways if _names_all(way, intent)]
    unique = {way.key: way for way in (named or first)}
    return list(unique.values())


def _leaves_out(way: CallPlan, intent: Intent) -> bool:
    """Whether a call is about something that the clause names as an exception, or as mere evidence."""
    return any(str(found.value) in intent.spared for name, found in way.chosen if is_reference(way.tool, name))


def _names_all(way: CallPlan, intent: Intent) -> bool:
    references = [found for name, found in way.chosen if is_reference(way.tool, name)]
    return bool(references) and all(
        found.sure == CERTAIN and found.source == "task" and str(found.value).lower() in intent.clause.lower()
        for found in references
    )


def _without_guesses(way: CallPlan) -> CallPlan:
    """Optional fields only as the task itself states them."""
    kept = tuple(
        (name, found)
        for name, found in way.chosen
        if name in way.tool.required or (found.source != "result" and found.sure == CERTAIN)
    )
    return way._replace(chosen=kept)


def _with_values(way: CallPlan, intent: Intent, situation: Situation) -> CallPlan:
    """A figure that this clause asks to compute goes into the field that takes a figure."""
    values = _values_for(intent, situation)
    slot = _figure_field(way, intent)
    if not values and slot in way.missing and field_stems(str(slot)) & text_stems(intent.clause):
        values = _values_of_questions(situation)  # "flag it with the figure" after "reconcile this with that"
    if not values or slot is None:
        return way
    name, value = str(values[0].get("name")), str(values[0].get("value"))
    found = ArgumentCandidate(as_field_type(value, way.tool, slot), "value", name, CERTAIN)
    chosen = dict(way.chosen) | {slot: found}
    return way._replace(chosen=tuple(chosen.items()), missing=tuple(one for one in way.missing if one != slot))


def _values_for(intent: Intent, situation: Situation) -> list[JsonObject]:
    """The values that this clause asks to compute, or that it means with ``the result`` of an earlier clause."""
    figures = stated_figures(intent.clause, situation)
    if not figures and _RESULT.search(intent.clause):
        figures = [figure for text in situation.reading.questions for figure in stated_figures(text, situation)]
    return [value for figure in figures for value in situation.values if value.get("name") == figure.name]


def _values_of_questions(situation: Situation) -> list[JsonObject]:
    """The one value that the task's other clauses ask to find out."""
    names = {figure.name for text in situation.reading.questions for figure in stated_figures(text, situation)}
    found = [value for value in situation.values if value.get("name") in names]
    return found if len(found) == 1 else []


def _figure_field(way: CallPlan, intent: Intent) -> str | None:
    """The field for a figure: one that the clause names, then one that is a number or an amount by its name."""
    open_fields = [
        name
        for name in way.tool.properties
        if not is_reference(way.tool, name) and not field_stems(name) & text_stems("phone email date name time")
    ]
    said = text_stems(intent.clause)
    named = [name for name in open_fields if field_stems(name) & said]
    figures = [name for name in open_fields if takes_figure(way.tool, name)]
    return next(iter([*(name for name in named if name in figures), *figures, *named]), None)


def _check_ways(
    ways: list[CallPlan], intent: Intent, situation: Situation, readers: Sequence[ToolSpec]
) -> tuple[list[CallPlan], WhyUnplanned]:
    unknown = why_not_all_known(ways[0], intent, situation) if intent.means_every else ""
    if unknown:
        return [], WhyUnplanned(unknown)
    for way in ways:
        if unread := _why_not_found(way, situation, readers):
            return [], WhyUnplanned(unread)
        if decided := _why_decided(way, intent, situation):
            return [], WhyUnplanned(decided)
        if unchanged := _why_nothing_changes(way, situation):
            return [], WhyUnplanned(unchanged)
        if settled := _why_already_done(way, intent, situation):
            return [], WhyUnplanned(settled, settled=True)
    if not (intent.means_every or intent.is_notice):
        words = find_uninterpreted_words_of_clause(ways, intent, situation)
        return ([], WhyUnplanned(f"not understood: {', '.join(words)}")) if words else (ways, WhyUnplanned())
    return ways, WhyUnplanned()


def _why_not_found(way: CallPlan, situation: Situation, readers: Sequence[ToolSpec]) -> str:
    """Nothing is written to a thing that could have been read and was not found."""
    for name, found in way.chosen:
        if not is_reference(way.tool, name) or found.source != "task":
            continue
        noun = wanted_noun(way.tool, name)
        readable = any(wanted_noun(reader, field) == noun for reader in readers for field in reader.required)
        known = bool(places_of(str(found.value), situation))
        if readable and not known:
            return f"{found.value} was not found"
    return ""


def _why_nothing_changes(way: CallPlan, situation: Situation) -> str:
    """A call that would write what its own record has, and the task does not say: what is meant was not understood."""
    ids = {str(found.value) for name, found in way.chosen if is_reference(way.tool, name)}
    records = [record for record in situation.records if (known := own_id(record)) and str(known[1]) in ids]
    given = [(name, found) for name, found in way.chosen if not is_reference(way.tool, name)]
    same = [name for name, found in given if any(name in one.fields and one.ref(name) == found.ref for one in records)]
    if given and len(same) == len(given):
        return f"the task does not say which {' and '.join(' '.join(parts(name)) for name in same)} is meant"
    return ""


def _why_already_done(way: CallPlan, intent: Intent, situation: Situation) -> str:
    """``approve`` what is approved already: nothing to do."""
    ids = {str(found.value) for name, found in way.chosen if is_reference(way.tool, name)}
    done = stem(intent.verb)
    for record in records_about(situation, frozenset().union(*(wanted_noun(way.tool, name) for name, _ in way.chosen))):
        known = own_id(record)
        own = {str(known[1])} if known else set()
        states = [value for value in record.fields.values() if isinstance(value, str) and value.isalpha()]
        state = next((value for value in states if stem(value) == done and value != done and value.endswith("d")), "")
        if ids & own and state:
            return f"{', '.join(sorted(ids & own))} is already {state}"
    return ""


def _why_decided(way: CallPlan, intent: Intent, situation: Situation) -> str:
    """``approve`` what is rejected already: it was decided otherwise, and that is said."""
    ids = {str(found.value) for name, found in way.chosen if is_reference(way.tool, name)}
    for record in situation.records if intent.family in _DECISIONS else ():
        known = own_id(record)
        states = [str(value) for name, value in record.fields.items() if field_stems(name) & _STATES]
        decided = next(
            (one for one in states if one.endswith("ed") and family(one) in _DECISIONS - {intent.family}), ""
        )
        if known and str(known[1]) in ids and decided:
            return f"{known[1]} is already {decided}"
    return ""


def _is_forbidden(bound: CallPlan, situation: Situation) -> bool:
    """Whether a ``do not`` of the task speaks of this very call; one that names things speaks of these alone."""
    given = {str(found.value) for _, found in bound.chosen}
    return any(
        _speaks_of_call(intent, given)
        and (_leaves_alone(intent, given) or bool(tools_for(intent, situation, [bound.tool])))
        for intent in situation.reading.forbidden
        if not intent.condition
    )


_TOUCH = frozenset("touch change alter modify edit do use".split())


def _leaves_alone(intent: Intent, given: set[str]) -> bool:
    """``leave A-1 as it is``, ``do not touch A-1``: nothing whatever is done to that."""
    is_any = not intent.verb or intent.verb in _TOUCH
    return is_any and bool({*intent.spared, *identifiers_in(intent.clause)} & given)


def _speaks_of_call(intent: Intent, given: set[str]) -> bool:
    named = {mention.value for mention in find(intent.clause) if mention.kind is MentionKind.ID}
    return not named or bool(named & given)
