"""Plans the writes of a task: for each action the calls that carry it out, or why there are none."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from services.planner.core.arguments import bind_arguments
from services.planner.core.binding import CallPlan, WhyUnplanned, WriteStep, values_of
from services.planner.core.compute import requested_figures
from services.planner.core.conditions import judge_condition
from services.planner.core.contradictions import find_contradiction
from services.planner.core.counted_days import STATE_WORDS, find_state, is_state
from services.planner.core.each import calls_for_each, route_listed, why_not_all_known
from services.planner.core.explained import unexplained_words
from services.planner.core.intents import Intent
from services.planner.core.known import as_field_type, does_whole, fill_known, fill_whole, takes_figure
from services.planner.core.made import fit_to_new_thing, link_to_made, made_entities
from services.planner.core.mentions import MentionKind, find_ambiguous_figures, find_of_kind, identifiers_in
from services.planner.core.parts_of_task import find_asked
from services.planner.core.phrases import TELLS_PATTERN, find_later_of_notice
from services.planner.core.records import read_figure
from services.planner.core.references import is_reference, references_of, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import are_same_state, shape_of_id
from services.planner.core.situation import (
    CERTAIN,
    LIKELY,
    ArgumentCandidate,
    Situation,
    list_records_meant,
    places_of,
)
from services.planner.core.toolmatch import thing_of_other_tools, tools_for
from services.planner.core.uninterpreted import find_choice, find_other_meant, find_uninterpreted_words_of_clause
from services.planner.core.words import family, field_stems, nouns, parts, stem, text_stems, text_words
from shared.domain.exact_json import JsonObject

_RESULT_PATTERN = re.compile(
    r"\b(?:to|as|of) (?:the|that|this) (?:result|total|sum|number|figure|count|amount|value)\b", re.I
)

_MOST_NAMED = 8  # things that an answer names as left out
_DECISION_WORDS = frozenset({"approve", "reject"})


def plan_steps(situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]) -> tuple[WriteStep, ...]:
    """A step for each action, in the task's order with notices last; no call occurs in two of them."""
    steps: list[WriteStep] = []
    for intent in find_asked(situation, writers):
        steps_found = _steps_of(intent, situation, writers, readers)
        entities = tuple(
            entity for step in steps_found for bound in step.calls for entity in made_entities(bound, situation)
        )
        situation = situation._replace(made=(*situation.made, *entities))
        steps += steps_found
    ordered = sorted(steps, key=lambda step: step.intent.sends_message)
    seen_clauses: set[str] = set()
    return tuple(_stop_after_failed(ordered, [_drop_known(step, seen_clauses) for step in ordered]))


def _stop_after_failed(full_steps: Sequence[WriteStep], steps: Sequence[WriteStep]) -> Iterator[WriteStep]:
    """The steps, without the calls of those that follow or report another step for which no call was found."""
    stopped = ""
    for full_step, step in zip(full_steps, steps, strict=True):
        is_done = full_step.calls and not full_step.reason.why
        if not (is_done or full_step.reason.settled or full_step.intent.sends_message):
            stopped = stopped or step.intent.clause
        if stopped and step.calls and (step.intent.follows or step.intent.sends_message):
            yield step._replace(calls=(), reason=WhyUnplanned(f'"{stopped}" was to be done before'))
        else:
            yield step


def _drop_known(step: WriteStep, seen_keys: set[str]) -> WriteStep:
    fresh = {bound.key: bound for bound in step.calls if bound.key not in seen_keys}
    seen_keys |= {*fresh}
    return step._replace(calls=tuple(fresh.values()))


def _steps_of(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> list[WriteStep]:
    """One step, or one for each thing that goes a way of its own by its age."""
    ways = route_listed(intent, situation, writers)
    if not ways.calls or not judge_condition(intent, situation).holds or tools_for(intent, situation, writers):
        return [_plan_step(intent, situation, writers, readers)]
    steps = [WriteStep(intent._replace(verb=parts(bound.tool.name)[0]), (bound,)) for bound in ways.calls]
    return [steps[0]._replace(left_out=ways.left_out), *steps[1:]]


def _plan_step(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> WriteStep:
    if delays := situation.reading.delays:
        return WriteStep(intent, reason=WhyUnplanned(f"not understood: {', '.join(delays)}"))
    if situation.unclear:
        return WriteStep(intent, reason=WhyUnplanned(situation.unclear))
    judged = judge_condition(intent, situation)
    if not judged.holds:
        problem = "is not known" if judged.holds is None else "does not hold"
        unmet = f"its condition {problem}: {judged.why}"
        return WriteStep(intent, reason=WhyUnplanned(unmet, settled=judged.holds is False))
    if unclear := _why_unclear(intent):
        return WriteStep(intent, reason=WhyUnplanned(unclear))
    chosen, reason = _find_calls(intent, situation, writers, readers)
    if intent.sends_message and (later := _find_later_of_notice(chosen, intent)):
        return WriteStep(intent, reason=WhyUnplanned(f"not understood: {', '.join(later)}"))
    allowed = tuple(bound for bound in chosen if not _is_forbidden(bound, situation))
    if chosen and not allowed:
        reason = WhyUnplanned("the task forbids it", settled=True)
    elif left_out := [value for value in _list_left_out(allowed, chosen, intent) if value not in reason.why]:
        why = f"it names {', '.join(left_out)} too, and no call could be found for that"
        return WriteStep(intent, reason=WhyUnplanned(why))
    return WriteStep(intent, allowed, reason, (reason.why,) if allowed and reason.why else ())


def _why_unclear(intent: Intent) -> str:
    """Why a clause may mean either of two things, whatever there is; empty if it does not."""
    if unsure := find_ambiguous_figures(intent.clause):
        return f"not understood: {', '.join(unsure)}"
    choice = find_choice(intent)
    return f"it could mean {choice}, and the task does not say which" if choice else ""


def _find_later_of_notice(chosen: Sequence[CallPlan], intent: Intent) -> list[str]:
    return find_later_of_notice(intent.clause, " ".join(values_of(chosen) - {intent.clause}))


def _list_left_out(allowed: Sequence[CallPlan], chosen: Sequence[CallPlan], intent: Intent) -> list[str]:
    """The identifiers of a clause that no call has, although they have the form of an identifier that a call has."""
    given_values = values_of(chosen)
    alike = {*map(shape_of_id, given_values)} if allowed else set()
    named = [value for value in identifiers_in(intent.clause) if value not in intent.spared]
    return [v for v in named if shape_of_id(v) in alike and not any(v in given_value for given_value in given_values)]


def _find_calls(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> tuple[list[CallPlan], WhyUnplanned]:
    tools = tools_for(intent, situation, writers)
    intent = intent._replace(means_all=any(_names_plural(tool, intent) for tier in tools for tool in tier))
    if each := _to_each_named(intent, situation, writers) if intent.sends_message else []:
        contradiction = find_contradiction(each, intent, situation)
        return ([], WhyUnplanned(contradiction)) if contradiction else (each, WhyUnplanned())
    of_others = {
        tool.name: kind for tier in tools for tool in tier if (kind := thing_of_other_tools(tool, intent, situation))
    }
    tools = [kept for tier in tools if (kept := [tool for tool in tier if tool.name not in of_others])]
    if not tools:
        return [], WhyUnplanned(_why_no_tool(intent, situation, [*of_others.values()]))
    lacking = ""
    for tier in _tools_reaching_named(tools, intent, situation) if intent.sends_message else tools:
        plans_by_tool = [(tool, _find_plans(tool, intent, situation)) for tool in tier]
        complete_plans = [plans for _, plans in plans_by_tool if plans and not plans[0].missing]
        complete_plans = [plans for plans in complete_plans if _names_all(plans[0], intent)] or complete_plans
        complete_plans = [plans for plans in complete_plans if _reaches_named(plans, intent)]
        if len(complete_plans) == 1:
            return _check_plans(complete_plans[0], intent, situation, readers)
        if len(complete_plans) > 1:
            options = " and ".join(sorted(plans[0].tool.name for plans in complete_plans))
            return [], WhyUnplanned(f"it could mean {options}, and the task does not say which")
        is_none_meant = intent.means_every and not any(plans for _, plans in plans_by_tool)
        lacks = _why_none_fits(tier, intent, situation) if is_none_meant else ""
        lacking = lacking or lacks or "; ".join(_describe_missing(tool, plans) for tool, plans in plans_by_tool)
    return [], WhyUnplanned(lacking)


def _why_none_fits(tools: Sequence[ToolSpec], intent: Intent, situation: Situation) -> str:
    """Why ``every`` means nothing: words that no tool explains and that may be the ones that matter, else that none
    fits.
    """
    bound = [plan for tool in tools for plan in bind_arguments(tool, situation, intent, LIKELY)[:1]]
    unknown = [why_not_all_known(plan, intent, situation) for plan in bound]
    return unknown[0] if unknown and all(unknown) else "none of those that were read fits"


_OWNED_PATTERN = re.compile(
    r"\bthe\s+(?P<of>(?:[\w-]+\s+){0,3}?[a-z]+)\s+(?:of|for|from)\s"
    r"|(?:['’]s|\b(?:their|his|her|its))\s+(?P<own>(?:[\w-]+\s+){0,3}[a-z]+)",
    re.I,
)


def _names_plural(tool: ToolSpec, intent: Intent) -> bool:
    """Whether a clause names a tool's things together, by whose they are: ``the kites of P-1``, ``her kites``."""
    own = nouns(tool.name) - {stem(intent.verb)}
    owned = [text_words(match["of"] or match["own"]) for match in _OWNED_PATTERN.finditer(intent.clause)]
    return not intent.sends_message and any(
        stem(word) in own and any(re.search(r"(?<![sui])s$", noun) for noun in (word, *following[:1]))
        for words in owned
        for word, *following in (words[place:] for place in range(len(words)))
    )


def _why_no_tool(intent: Intent, situation: Situation, kinds: Sequence[str]) -> str:
    """A phrase on why no tool does an action. ``kinds``: the nouns of the clause's things, if tools do it to other
    things only.
    """
    absent = [value for value in identifiers_in(intent.clause) if value in situation.absent]
    if absent:
        return f"{', '.join(absent)} was not found"
    if not kinds:
        return "no tool that is offered does it"
    thing = f"{'an' if kinds[0][0] in 'aeiou' else 'a'} {kinds[0]}"
    return f"no tool that is offered {'changes that of' if intent.family == 'update' else 'does it to'} {thing}"


def _to_each_named(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> list[CallPlan]:
    """One call for each of several recipients of a message, by the one tool that reaches it; empty unless all are
    reached.
    """
    recipients = identifiers_in(TELLS_PATTERN.split(intent.clause)[0])
    named = [value for value in recipients if value not in intent.spared]
    tools = [tool for tool in writers if family(parts(tool.name)[0]) == intent.family]
    plans: list[CallPlan] = []
    for value in named if len(named) > 1 else ():
        tool_plans = [plan for tool in tools for plan in _find_plans(tool, intent, situation) if _goes_to(plan, value)]
        if len(tool_plans) != 1 or tool_plans[0].missing:
            return []
        plans += tool_plans
    return plans


def _reaches_named(plans: Sequence[CallPlan], intent: Intent) -> bool:
    """Whether a notice goes to one of those whom its clause names by an identifier, if it names any."""
    named = identifiers_in(TELLS_PATTERN.split(intent.clause)[0])
    return not (intent.sends_message and named) or any(_goes_to(plan, value) for plan in plans for value in named)


def _goes_to(plan: CallPlan, value: str) -> bool:
    return any(str(candidate.value) == value for name, candidate in plan.chosen if name in plan.tool.required)


def _tools_reaching_named(tiers: list[list[ToolSpec]], intent: Intent, situation: Situation) -> list[list[ToolSpec]]:
    """The tiers with only the tools that reach whom the clause names by an identifier; unchanged if no tool does."""
    reaching = [
        [tool for tool in tier if any(_names_all(w, intent) for w in _find_plans(tool, intent, situation)[:1])]
        for tier in tiers
    ]
    return [tier for tier in reaching if tier] or tiers


def _describe_missing(tool: ToolSpec, plans: list[CallPlan]) -> str:
    names = ", ".join(plans[0].missing) if plans else "its arguments"
    return f"{tool.name} needs {names}, which neither the task nor the facts give"


def _find_plans(tool: ToolSpec, intent: Intent, situation: Situation) -> list[CallPlan]:
    """The calls of a tool that agree with the task: several only if the clause names several things."""
    plans = [_with_values(plan, intent, situation) for plan in bind_arguments(tool, situation, intent, LIKELY)]
    plans = [_without_guesses(fit_to_new_thing(fill_known(plan, intent, situation), situation)) for plan in plans]
    plans = [
        link_to_made(plan, intent, situation)
        for plan in plans
        if intent.means_every or not _is_about_exception(plan, intent)
    ]
    if intent.means_every:
        return [fill_whole(one, situation) for plan in plans[:1] for one in calls_for_each(plan, intent, situation)]
    plans = [fill_whole(plan, situation) for plan in plans]
    named = [plan for plan in plans if _names_all(plan, intent)]
    unique = {plan.key: plan for plan in (named or _list_alternatives(plans, intent, situation))}
    return list(unique.values())


def _list_alternatives(plans: list[CallPlan], intent: Intent, situation: Situation) -> list[CallPlan]:
    """The first call, and those of other things that the clause may mean: none that the task names only later, and none
    to which it is done already.
    """
    before = situation.text.partition(intent.clause)[0]
    own = {*identifiers_in(intent.clause)} - {*intent.spared}
    later = {*identifiers_in(situation.text)} - {*identifiers_in(before)} - own
    plans = [plan for plan in plans if own & plan.values] or plans
    alike = [plan for plan in plans if plan.sureness == plans[0].sureness and plan.missing == plans[0].missing]
    alike = [plan for plan in alike if later.isdisjoint(plan.values)] or alike
    undecided = [plan for plan in alike if not _why_decided(plan, intent, situation)] if len(alike) > 1 else []
    return [plan for plan in undecided if not _why_already_done(plan, intent, situation)] or plans[:1]


def _is_about_exception(plan: CallPlan, intent: Intent) -> bool:
    """Whether a call is about something that the clause names as an exception, or as mere evidence."""
    return any(value in intent.spared for value in references_of(plan))


def _names_all(plan: CallPlan, intent: Intent) -> bool:
    references = [candidate for name, candidate in plan.chosen if is_reference(plan.tool, name)]
    are_sure = all(candidate.sure == CERTAIN and candidate.source == "task" for candidate in references)
    return are_sure and references != [] and all(v.lower() in intent.clause.lower() for v in references_of(plan))


def _without_guesses(plan: CallPlan) -> CallPlan:
    """The plan without values of optional fields that the task does not state itself."""
    stated = {name for name, one in plan.chosen if one.source != "result" and one.sure == CERTAIN}
    return plan._replace(chosen=tuple(pair for pair in plan.chosen if pair[0] in {*plan.tool.required, *stated}))


def _with_values(plan: CallPlan, intent: Intent, situation: Situation) -> CallPlan:
    """The plan with the figure that the clause asks to compute in the field that takes a figure."""
    values = _values_for(intent, situation)
    slot = _figure_field(plan, intent)
    if not values and slot in plan.missing and field_stems(str(slot)) & text_stems(intent.clause):
        values = _values_of_questions(situation)  # "flag it with the figure" after "reconcile this with that"
    amount = read_figure(values[0].get("value")) if values else None
    if amount is None or slot is None:
        return plan
    name = str(values[0].get("name"))
    candidate = ArgumentCandidate(as_field_type(amount, plan.tool, slot), "value", name, CERTAIN)
    return plan.with_values({slot: candidate})


def _values_for(intent: Intent, situation: Situation) -> list[JsonObject]:
    """The values that this clause asks to compute, or that it means with ``the result`` of an earlier clause."""
    figures = requested_figures(intent.clause, situation)
    if not figures and _RESULT_PATTERN.search(intent.clause):
        figures = [figure for text in situation.reading.questions for figure in requested_figures(text, situation)]
    return [value for figure in figures for value in situation.values if value.get("name") == figure.name]


def _values_of_questions(situation: Situation) -> list[JsonObject]:
    """The one value that the task's other clauses ask to find out."""
    names = {figure.name for text in situation.reading.questions for figure in requested_figures(text, situation)}
    values = [value for value in situation.values if value.get("name") in names]
    return values if len(values) == 1 else []


def _figure_field(plan: CallPlan, intent: Intent) -> str | None:
    """The field for a figure: one that the clause names, else one that is a number or an amount by its name.

    None if there is neither.
    """
    others = text_stems("phone email date name time")
    open_fields = [
        name for name in plan.tool.properties if not (is_reference(plan.tool, name) or field_stems(name) & others)
    ]
    word_stems = text_stems(intent.clause)
    named = [name for name in open_fields if field_stems(name) & word_stems]
    figures = [name for name in open_fields if takes_figure(plan.tool, name)]
    return next(iter([*(name for name in named if name in figures), *figures, *named]), None)


def _check_plans(
    plans: list[CallPlan], intent: Intent, situation: Situation, readers: Sequence[ToolSpec]
) -> tuple[list[CallPlan], WhyUnplanned]:
    """The calls that may be made, and why none may, or why the others of several named things are left out."""
    unknown = why_not_all_known(plans[0], intent, situation) if intent.means_every else ""
    if unknown := unknown or _why_ambiguous(plans, intent):
        return [], WhyUnplanned(unknown)
    if len(plans) > 1 and any(plan.is_computed for plan in plans):
        return [], WhyUnplanned("what was worked out is of one of several things")
    if contradiction := "" if intent.means_every else find_contradiction(plans, intent, situation):
        return [], WhyUnplanned(contradiction)
    if between := _find_between(plans, intent, situation):
        return [], WhyUnplanned(f"not understood: {', '.join(between)}")
    if other := find_other_meant(plans, intent, situation):
        return [], WhyUnplanned(f"not understood: {other}")
    done = [_why_already_done(plan, intent, situation) for plan in plans]
    others = [] if intent.means_every else [_why_decided(plan, intent, situation) for plan in plans]
    whys = [why or other for why, other in zip_longest(done, others, fillvalue="")]
    open_plans = [plan for plan, why in zip(plans, whys, strict=True) if not why] or plans
    if reason := next(filter(None, (_why_not_made(plan, intent, situation, readers) for plan in open_plans)), None):
        return [], reason
    if not (intent.means_every or intent.sends_message):
        words = find_uninterpreted_words_of_clause(plans, intent, situation)
        if words:
            return [], WhyUnplanned(f"not understood: {', '.join(words)}")
    return open_plans, WhyUnplanned(_describe_left_out(whys) if open_plans is not plans else "", settled=whys == done)


def _why_not_made(
    plan: CallPlan, intent: Intent, situation: Situation, readers: Sequence[ToolSpec]
) -> WhyUnplanned | None:
    """Why one call may not be made, whatever the others are; None if it may."""
    if why := _why_not_found(plan, situation, readers) or _why_decided(plan, intent, situation):
        return WhyUnplanned(why)
    if unchanged := _why_nothing_changes(plan, situation):
        return WhyUnplanned(unchanged)
    if done := _why_already_done(plan, intent, situation):
        return WhyUnplanned(done, settled=True)
    is_first = intent.clause == next((action.clause for action in situation.reading.actions), "")
    in_other_state = _find_other_state(plan, situation) if is_first else ""
    return WhyUnplanned(in_other_state) if in_other_state else None


def _describe_left_out(whys: Sequence[str]) -> str:
    left_out = [why for why in whys if why]
    others = [f"{len(left_out) - _MOST_NAMED} others are done already"] if len(left_out) > _MOST_NAMED else []
    return "; ".join([*left_out[:_MOST_NAMED], *others])


_JOINING_WORDS = text_stems("also plus then well both together likewise too")
_PARTING_WORDS = frozenset("after before once until till while when like unless than instead".split())


def _find_between(plans: Sequence[CallPlan], intent: Intent, situation: Situation) -> list[str]:
    """The words between two things of a clause that make no list of them: ``A-1 after A-2``."""
    given = values_of(plans)
    ids = [mention for mention in find_of_kind(intent.clause, MentionKind.ID) if mention.value in given]
    records = list_records_meant(given, situation)
    words: list[str] = []
    for mention, after in pairwise(ids if len(plans) > 1 and not intent.sends_message else ()):
        text = intent.clause[mention.end : after.start]
        unknown = unexplained_words(text, records) - _JOINING_WORDS - situation.terms - {stem(intent.verb)}
        words += [word for word in text_words(text) if word in _PARTING_WORDS or stem(word) in unknown]
    return words


def _why_ambiguous(plans: Sequence[CallPlan], intent: Intent) -> str:
    """A sentence on which of several things a clause may mean, if it names none of them and not all; else empty."""
    if intent.means_every or len(plans) == 1 or any(_names_all(plan, intent) for plan in plans):
        return ""
    values = [value for plan in plans for value in references_of(plan)]
    once = [value for value in dict.fromkeys(values) if values.count(value) < len(plans)]
    return f"it could mean {' or '.join(once)}, and the task does not say which"


def _why_not_found(plan: CallPlan, situation: Situation, readers: Sequence[ToolSpec]) -> str:
    """Why a thing is not written to, if it could have been read and was not found; else empty."""
    for name, candidate in plan.chosen:
        if not is_reference(plan.tool, name) or candidate.source != "task":
            continue
        noun = wanted_noun(plan.tool, name)
        readable = any(wanted_noun(reader, field) == noun for reader in readers for field in reader.required)
        is_known = bool(places_of(str(candidate.value), situation))
        if readable and not is_known:
            return f"{candidate.value} was not found"
    return ""


def _why_nothing_changes(plan: CallPlan, situation: Situation) -> str:
    """A call that would write what its own record has, and the task does not say: what is meant was not understood."""
    records = list_records_meant(references_of(plan), situation)
    other_values = [(name, candidate) for name, candidate in plan.chosen if not is_reference(plan.tool, name)]
    refs = {(name, record.ref(name)) for record in records for name in record.fields}
    same = [name for name, candidate in other_values if (name, candidate.ref) in refs]
    if other_values and len(same) == len(other_values) and not does_whole(plan.tool):
        return f"the task does not say which {' and '.join(' '.join(parts(name)) for name in same)} is meant"
    return ""


def _why_already_done(plan: CallPlan, intent: Intent, situation: Situation) -> str:
    """Why nothing is to be done, if a record is in the state that the action leads to, such as ``approved``; else
    empty.
    """
    verb_stem = stem(intent.verb)
    sent = nouns(plan.tool.name) if intent.sends_message else frozenset()  # what was sent a marker is marked
    nouns_wanted = frozenset().union(*(wanted_noun(plan.tool, name) for name, _ in plan.chosen))
    for record in list_records_meant(references_of(plan), situation):
        states = [value for value in record.texts if value.isalpha()]
        done = [value for value in states if value.endswith("d") and value != verb_stem]
        done = [value for value in done if stem(value) == verb_stem or f"{stem(value)}er" in sent]
        if done and not nouns_wanted.isdisjoint(record.noun):
            return f"{record.own_id} is already {done[0]}"
    return ""


_FOR_STATES = re.compile(r"\ban?\s+(?P<states>[a-z]+(?:(?:,|,? or)\s+[a-z]+)*)\s+(?P<thing>[a-z]+)", re.I)


def _find_other_state(plan: CallPlan, situation: Situation) -> str:
    """Why a tool is not for a thing in its state, where it says for which: ``pay a matched or approved fine``; else
    empty.
    """
    match = _FOR_STATES.search(plan.tool.description)
    states = [word for word in text_words(match["states"]) if word != "or"] if match else []
    if not match or stem(match["thing"]) not in nouns(plan.tool.name) or not states or not all(map(is_state, states)):
        return ""
    for record in list_records_meant(references_of(plan), situation):
        state = find_state(record)
        is_of_thing = stem(match["thing"]) in record.noun and is_state(state)
        if is_of_thing and not any(are_same_state(state, other) for other in states):
            return f"{plan.tool.name} is for what is {' or '.join(states)}, and {record.own_id} is {state}"
    return ""


def _why_decided(plan: CallPlan, intent: Intent, situation: Situation) -> str:
    """Why nothing is to be done, if the thing is decided otherwise: ``approve`` for a rejected one; else empty."""
    others = _DECISION_WORDS - {intent.family}
    for record in list_records_meant(references_of(plan), situation) if intent.family in _DECISION_WORDS else ():
        states = [str(value) for name, value in record.fields.items() if field_stems(name) & STATE_WORDS]
        if decided := [state for state in states if state.endswith("ed") and family(state) in others]:
            return f"{record.own_id} is already {decided[0]}"
    return ""


def _is_forbidden(bound: CallPlan, situation: Situation) -> bool:
    """Whether a ``do not`` of the task forbids the call; one that names things forbids calls on these alone."""
    return any(
        _speaks_of_call(intent, bound.values)
        and (_leaves_alone(intent, bound.values) or bool(tools_for(intent, situation, [bound.tool])))
        for intent in situation.reading.forbidden
        if not intent.condition
    )


_TOUCH_WORDS = frozenset("touch change alter modify edit do use".split())


def _leaves_alone(intent: Intent, given_values: set[str]) -> bool:
    """Whether a clause forbids any action on one of the values, as ``leave A-1 as it is`` or ``do not touch A-1``."""
    is_any = not intent.verb or intent.verb in _TOUCH_WORDS
    return is_any and bool({*intent.spared, *identifiers_in(intent.clause)} & given_values)


def _speaks_of_call(intent: Intent, given_values: set[str]) -> bool:
    named = identifiers_in(intent.clause)
    return not named or not given_values.isdisjoint(named)
