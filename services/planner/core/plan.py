"""The writes a task asks for: a tool for each action, its arguments with their origins, and the read that proves it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.binding import Bound, bind
from services.planner.core.compute import stated_figures
from services.planner.core.conditions import judge
from services.planner.core.each import for_each, is_for_each, not_all_known
from services.planner.core.intents import Intent
from services.planner.core.known import takes_figure, typed, with_known
from services.planner.core.made import as_new, linked, making, numbered
from services.planner.core.proof import read_back
from services.planner.core.records import own_id
from services.planner.core.references import CERTAIN, LIKELY, Candidate, is_reference, wanted
from services.planner.core.request import ToolSpec
from services.planner.core.routes import routed
from services.planner.core.situation import Situation, about
from services.planner.core.toolmatch import suiting
from services.planner.core.words import field_stems, parts, stem, text_stems
from shared.domain.exact_json import Json, JsonObject, dumps

_RESULT = re.compile(r"\b(?:to|as|of) (?:the|that|this) (?:result|total|sum|number|figure|count|amount|value)\b", re.I)


class Planned(NamedTuple):
    """``why_none``: actions that are rightly not taken. ``cannot``: those that were asked for and cannot be planned.

    ``left_out``: things that go no way although others do.
    """

    calls: tuple[tuple[Intent, Bound], ...]
    why_none: tuple[str, ...]
    cannot: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class Unplanned(NamedTuple):
    """Why an action is left out; ``settled`` if there is nothing to do, and not something missing."""

    why: str = ""
    settled: bool = False


def plan(situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]) -> Planned:
    """What to call, in the task's order with notices last; and for every action left out, why."""
    calls: list[tuple[Intent, Bound]] = []
    reasons: list[str] = []
    cannot: list[str] = []
    left_out: list[str] = []
    for intent in _asked_for(situation, writers):
        judged = judge(intent, situation)
        if judged.holds:
            ways = routed(intent, situation, writers)
            if ways.calls and not suiting(intent, situation, writers):
                calls += ways.calls
                left_out += ways.left_out
                continue
            chosen, why = _calls(intent, situation, writers, readers)
            kept = [bound for bound in chosen if not _forbidden(bound, situation)]
            calls += [(intent, bound) for bound in kept]
            made = tuple(thing for bound in kept for thing in making(bound, situation))
            situation = situation._replace(made=(*situation.made, *made))
            (reasons if why.settled else cannot).extend([why.why] if why.why else [])
        else:
            problem = "is not known" if judged.holds is None else "does not hold"
            unmet = f'The condition of "{intent.clause}" {problem}: {judged.why}.'
            (cannot if judged.holds is None else reasons).append(unmet)
    if not situation.reading.actions:
        reasons.append("The task asks for no change.")
    unique: dict[str, tuple[Intent, Bound]] = {}
    for intent, bound in calls:
        unique.setdefault(bound.key, (intent, bound))
    ordered = sorted(unique.values(), key=lambda call: call[0].is_notice)
    intents, bounds = [intent for intent, _ in ordered], numbered(bound for _, bound in ordered)
    return Planned(tuple(zip(intents, bounds, strict=True)), tuple(reasons), tuple(cannot), tuple(left_out))


def _asked_for(situation: Situation, writers: Sequence[ToolSpec]) -> list[Intent]:
    """The actions, and the clauses whose verb only a tool knows, in the task's order."""
    reading = situation.reading
    known = [
        intent
        for intent in reading.unnamed
        if any(parts(tool.name)[:1] == (intent.verb,) for tier in suiting(intent, situation, writers) for tool in tier)
    ]
    if not known:
        return [*reading.actions]
    return sorted((*reading.actions, *known), key=lambda intent: situation.text.find(intent.clause))


def as_json(planned: Planned, situation: Situation, readers: Sequence[ToolSpec]) -> JsonObject:
    """The structured output WRITE_PLAN."""
    calls: list[Json] = [
        _call(f"c{index}", intent, bound, situation, readers) for index, (intent, bound) in enumerate(planned.calls, 1)
    ]
    nothing = None if calls or planned.cannot else " ".join(planned.why_none) or "Nothing is to be written."
    nothing = "; ".join(planned.left_out) + "." if calls and planned.left_out else nothing
    return {"calls": calls, "why_none": nothing, "cannot": " ".join(planned.cannot) or None}


def _call(call_id: str, intent: Intent, bound: Bound, situation: Situation, readers: Sequence[ToolSpec]) -> JsonObject:
    origins: list[Json] = [{"argument": name, "source": found.source, "ref": found.ref} for name, found in bound.chosen]
    return {
        "call_id": call_id,
        "connection": bound.tool.connection,
        "tool": bound.tool.name,
        "arguments_json": dumps(bound.arguments),
        "origins": origins,
        "read_back": None if intent.is_notice else read_back(intent, bound, situation, readers, call_id),
        "on_failure": "stop",
        "compensation": None,
    }


def _calls(
    intent: Intent, situation: Situation, writers: Sequence[ToolSpec], readers: Sequence[ToolSpec]
) -> tuple[list[Bound], Unplanned]:
    tools = suiting(intent, situation, writers)
    if not tools:
        return [], Unplanned(f'No tool offered does what "{intent.clause}" asks.')
    lacking = ""
    for tier in _to_whom_it_says(tools, intent, situation) if intent.is_notice else tools:
        ways = [(tool, _ways(tool, intent, situation)) for tool in tier]
        whole = [found for _, found in ways if found and not found[0].missing]
        whole = [ways for ways in whole if _names_all(ways[0], intent)] or whole if len(whole) > 1 else whole
        if len(whole) == 1:
            return _checked(whole[0], intent, situation, readers)
        if len(whole) > 1:
            options = " and ".join(sorted(found[0].tool.name for found in whole))
            return [], Unplanned(f'"{intent.clause}" could mean {options}; the task does not say which.')
        lacking = lacking or "; ".join(_missing(tool, found) for tool, found in ways)
    return [], Unplanned(f'"{intent.clause}" cannot be planned: {lacking}.')


def _to_whom_it_says(tiers: list[list[ToolSpec]], intent: Intent, situation: Situation) -> list[list[ToolSpec]]:
    """A notice goes to the one that its clause names by an identifier, if a tool can reach that one."""
    reaching = [
        [tool for tool in tier if any(_names_all(w, intent) for w in _ways(tool, intent, situation)[:1])]
        for tier in tiers
    ]
    return [tier for tier in reaching if tier] or tiers


def _missing(tool: ToolSpec, ways: list[Bound]) -> str:
    names = ", ".join(ways[0].missing) if ways else "its arguments"
    return f"{tool.name} needs {names}, which neither the task nor the facts give"


def _ways(tool: ToolSpec, intent: Intent, situation: Situation) -> list[Bound]:
    """The ways to call a tool that agree with the task: several only if the clause names several things."""
    ways = [_with_values(way, intent, situation) for way in bind(tool, situation, intent, LIKELY)]
    ways = [_without_guesses(as_new(with_known(way, intent, situation), situation)) for way in ways]
    ways = [linked(way, intent, situation) for way in ways]
    if is_for_each(intent):
        return [found for way in ways[:1] for found in for_each(way, intent, situation)]
    first = ways[:1]
    named = [way for way in ways if _names_all(way, intent)]
    unique = {way.key: way for way in (named or first)}
    return list(unique.values())


def _names_all(way: Bound, intent: Intent) -> bool:
    references = [found for name, found in way.chosen if is_reference(way.tool, name)]
    return bool(references) and all(
        found.sure == CERTAIN and found.source == "task" and str(found.value).lower() in intent.clause.lower()
        for found in references
    )


def _without_guesses(way: Bound) -> Bound:
    """Optional fields only as the task itself states them."""
    kept = tuple(
        (name, found)
        for name, found in way.chosen
        if name in way.tool.required or (found.source != "result" and found.sure == CERTAIN)
    )
    return way._replace(chosen=kept)


def _with_values(way: Bound, intent: Intent, situation: Situation) -> Bound:
    """A figure that this clause asks to compute goes into the field that takes a figure."""
    values = _values_for(intent, situation)
    slot = _slot(way, intent)
    if not values and slot in way.missing and field_stems(str(slot)) & text_stems(intent.clause):
        values = _values_of_questions(situation)  # "flag it with the figure" after "reconcile this with that"
    if not values or slot is None:
        return way
    name, value = str(values[0].get("name")), str(values[0].get("value"))
    found = Candidate(typed(value, way.tool, slot), "value", name, CERTAIN)
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


def _slot(way: Bound, intent: Intent) -> str | None:
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


def _checked(
    ways: list[Bound], intent: Intent, situation: Situation, readers: Sequence[ToolSpec]
) -> tuple[list[Bound], Unplanned]:
    unknown = not_all_known(ways[0], intent, situation) if is_for_each(intent) else ""
    if unknown:
        return [], Unplanned(f'"{intent.clause}" cannot be planned: {unknown}.')
    for way in ways:
        if unread := _unread(way, situation, readers):
            return [], Unplanned(unread)
        if settled := _settled(way, intent, situation):
            return [], Unplanned(settled, settled=True)
    return ways, Unplanned()


def _unread(way: Bound, situation: Situation, readers: Sequence[ToolSpec]) -> str:
    """Nothing is written to a thing that could have been read and was not found."""
    for name, found in way.chosen:
        if not is_reference(way.tool, name) or found.source != "task":
            continue
        noun = wanted(way.tool, name)
        readable = any(wanted(reader, field) == noun for reader in readers for field in reader.required)
        known = any(str(value) == str(found.value) for record in situation.records for value in record.fields.values())
        if readable and not known:
            return f"{found.value} was not found, so {way.tool.name} is not called."
    return ""


def _settled(way: Bound, intent: Intent, situation: Situation) -> str:
    """``approve`` what is approved already: nothing to do."""
    ids = {str(found.value) for name, found in way.chosen if is_reference(way.tool, name)}
    done = stem(intent.verb)
    for record in about(situation, frozenset().union(*(wanted(way.tool, name) for name, _ in way.chosen))):
        known = own_id(record)
        own = {str(known[1])} if known else set()
        states = [value for value in record.fields.values() if isinstance(value, str) and value.isalpha()]
        state = next((value for value in states if stem(value) == done and value != done and value.endswith("d")), "")
        if ids & own and state:
            return f"{', '.join(sorted(ids & own))} is already {state}."
    return ""


def _forbidden(bound: Bound, situation: Situation) -> bool:
    """Whether a ``do not`` of the task speaks of this very call."""
    return any(
        any(bound.tool.name == tool.name for tier in suiting(intent, situation, [bound.tool]) for tool in tier)
        for intent in situation.reading.forbidden
        if not intent.condition
    )
