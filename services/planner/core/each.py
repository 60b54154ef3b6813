"""Calls for listed records: the same call for each record meant, a read for each value, and a route for each by age."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.binding import CallPlan
from services.planner.core.intents import Intent, drop_evidence
from services.planner.core.links import find_values_referring
from services.planner.core.mentions import identifiers_in
from services.planner.core.pages import lists_read_in_part
from services.planner.core.phrases import drop_spans, find_target
from services.planner.core.records import FactRecord, read_figure
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import named_owners, names_in, select_records, unknown_names
from services.planner.core.situation import (
    LIKELY,
    ArgumentCandidate,
    ChosenRecords,
    Situation,
    identify,
    list_records_meant,
    says,
)
from services.planner.core.uninterpreted import find_uninterpreted_words_of_calls
from services.planner.core.words import concept, field_stems, is_identifier, nouns, stem, stems, text_stems

_ORDER_PATTERN = re.compile(
    r"\b(?:in (?:the )?order of|in|ordered by|sorted by|by) (?:its |their |the )?(?P<by>[\w ]+)", re.I
)
_IN_ORDER = re.compile(r"\b(?:in (?:the )?order of|ordered by|sorted by) (?:its |their |the )?\w+", re.I)
_EACH_PATTERN = re.compile(r"\b(?:each|every)\b", re.I)
_GOAL_PATTERN = re.compile(r"\b(?:to|into|as) (?:the )?(?P<goal>[a-z]+)\b", re.I)


def calls_for_each(plan: CallPlan, intent: Intent, situation: Situation) -> list[CallPlan]:
    """One call for each listed record that the clause means, with the other arguments of ``plan``."""
    plans, fields = [], [name for name in plan.tool.required if is_reference(plan.tool, name)]
    wanted = [(name, wanted_noun(plan.tool, name)) for name in fields]
    for record in _order_records(_choose_things(plan, intent, situation).records, intent.clause):
        slots = [name for name, noun in wanted if noun & record.noun and not _refers_to_another(record, noun)]
        if record.own_id and slots and record.own_id not in intent.spared:
            plans.append(plan.with_values({slots[0]: identify(record)}))
    return plans


def _refers_to_another(record: FactRecord, wanted: frozenset[str]) -> bool:
    """Whether a record names what is wanted beside its own identifier: the item of an order is no order. What is called
    by all of those words is one itself, whatever else it has of them: an invoice has a number.
    """
    return record.noun != wanted and any(
        is_identifier(name) and concept(name, record.noun) == wanted
        for name in record.fields
        if record.own_field and name != record.own_field
    )


def _choose_things(plan: CallPlan, intent: Intent, situation: Situation) -> ChosenRecords:
    """The records that the clause means, read without the words for the new state and the recipient, which do not
    choose.
    """
    text = _IN_ORDER.sub(" ", drop_evidence(_clause_with_subject(intent, situation)))
    for name, candidate in plan.chosen:
        if not is_reference(plan.tool, name) and candidate.source == "task":
            target = find_target(text, [str(candidate.value)], nouns(plan.tool.name), intent.means_every)
            text = drop_spans(text, [target.span] if target else [])
        elif candidate.source == "task" and not wanted_noun(plan.tool, name) & nouns(plan.tool.name):
            text = text.replace(str(candidate.value), " ")
    goals = nouns(plan.tool.name)
    text = _GOAL_PATTERN.sub(lambda match: " " if stem(match["goal"]) in goals else match[0], text)
    things = select_records(text, situation)
    referred = _find_referred_by_earlier(things, intent, situation)
    return things._replace(records=referred) if referred else things


def _find_referred_by_earlier(things: ChosenRecords, intent: Intent, situation: Situation) -> tuple[FactRecord, ...]:
    """Of a whole list that a clause means by ``each``, those to which the records refer that an earlier clause names:
    "mend K-1 and K-2 and tell each pilot". Empty if no such record refers to any, or the clause chooses by itself.
    """
    if not _EACH_PATTERN.search(intent.clause) or _names_something(intent.clause) or not _is_whole_list(things):
        return ()
    named = {*identifiers_in(situation.text.partition(intent.clause)[0])}
    noun = things.records[0].noun
    subjects = list_records_meant(named, situation)
    referred = {value for subject in subjects for value in find_values_referring(subject, noun)}
    return tuple(record for record in things.records if record.own_id in referred)


def _is_whole_list(things: ChosenRecords) -> bool:
    """Whether nothing narrows a list of one kind."""
    listed, chosen = ({record.own_id for record in records} for records in (things.listed, things.records))
    return chosen == listed and len({record.noun for record in things.records}) == 1


def _is_unknown_whom_to_tell(plan: CallPlan, intent: Intent, situation: Situation) -> bool:
    """Whether a notice of what was done before would go to all of a list, and nothing says who has to do with it."""
    tells_of_earlier = intent.sends_message and any(not action.sends_message for action in situation.reading.actions)
    if not tells_of_earlier or _names_something(intent.clause):
        return False
    things = _choose_things(plan, intent, situation)
    return _is_whole_list(things) and not _find_referred_by_earlier(things, intent, situation)


def why_not_all_known(plan: CallPlan, intent: Intent, situation: Situation) -> str:
    """Why it is unknown which records ``every`` means; empty if it is known."""
    unknown = [name for name in names_in(_clause_with_subject(intent, situation)) if name in unknown_names(situation)]
    given_values = {str(candidate.value) for _, candidate in plan.chosen}
    if owner := _find_unclear_owner(plan, intent, situation):
        return f'the task does not say whom "{owner}" means'
    cut = [tool for tool in lists_read_in_part(situation.facts) if nouns(tool) & nouns(plan.tool.name)]
    if unknown := [name for name in unknown if name not in given_values]:
        return f"nothing that was read says who or what {unknown[0]} is"
    if cut:
        return f"{cut[0]} was not read to its end"
    if _is_unknown_whom_to_tell(plan, intent, situation):
        return "the task does not say who of all that were read is to be told"
    uninterpreted = find_uninterpreted_words_of_calls(_choose_things(plan, intent, situation), plan, intent, situation)
    return f"not understood: {', '.join(uninterpreted)}" if uninterpreted else ""


_OWNED_PATTERN = re.compile(r"\b(?P<owner>his|her|its|their)\s+(?P<what>(?:[\w-]+\s+){0,3}[\w-]+)", re.I)


def _find_unclear_owner(plan: CallPlan, intent: Intent, situation: Situation) -> str:
    """The word by which a clause says whose the tool's things are, such as ``her`` of ``her kites``; empty if it is
    known who that is.
    """
    own = nouns(plan.tool.name)
    owned = (match for match in _OWNED_PATTERN.finditer(intent.clause) if own & text_stems(match["what"]))
    owner = next((match["owner"] for match in owned), "")
    if not owner or _names_something(intent.clause):
        return ""
    subject = _clause_with_subject(intent, situation)
    named = {*identifiers_in(subject), *(record.own_id for record in named_owners(subject, situation))}
    return "" if len(named) == 1 or (named and owner.lower() == "their") else owner


def _clause_with_subject(intent: Intent, situation: Situation) -> str:
    """The clause with what it is about: its own names, else what stands before its colon or in an earlier clause, else
    the one name or identifier before it.
    """
    earlier = [action for action in situation.reading.actions[::-1] if action is not intent]
    before = situation.text.partition(intent.clause)[0]
    for text in (intent.clause, intent.context, *(action.clause for action in earlier if action.clause in before)):
        if _names_something(text):
            return intent.clause if text == intent.clause else f"{intent.clause} ({text})"
    owners = named_owners(before, situation)
    named = {*identifiers_in(before), *(str(owner.fields["name"]) for owner in owners if "name" in owner.fields)}
    return f"{intent.clause} ({named.pop()})" if len(named) == 1 else intent.clause


def _names_something(text: str) -> bool:
    return bool(names_in(text) or identifiers_in(text))


def _order_records(records: Sequence[FactRecord], clause: str) -> list[FactRecord]:
    """The records by the number in the field by which the clause orders them, the least first.

    As they were listed if it names no such field, or one of them lacks it.
    """
    match = _ORDER_PATTERN.search(clause)
    word_stems = text_stems(match["by"]) if match else frozenset()
    fields = {name for record in records for name, value in record.fields.items() if read_figure(value) is not None}
    by = sorted((name for name in fields if field_stems(name) & word_stems), key=lambda name: (len(name), name))
    if not by or any(read_figure(record.fields.get(by[0])) is None for record in records):
        return [*records]
    return sorted(records, key=lambda record: read_figure(record.fields[by[0]]) or 0)


_MANY = 8


def calls_for_each_value(plan: CallPlan, situation: Situation) -> list[CallPlan]:
    """One call for each value that the records named in the task have for the plan's one open text argument.

    Only ``plan`` itself if the values agree, if no such argument is open, or if there would be too many calls.
    """
    names_open = [name for name in plan.tool.required if _is_text_open(plan, name)]
    values = _list_values(names_open[0], situation) if len(names_open) == 1 else []
    is_few = 1 < len(values) <= _MANY
    return [plan.with_values({names_open[0]: candidate}) for candidate in values] if is_few else [plan]


def _is_text_open(plan: CallPlan, name: str) -> bool:
    """Whether the call has no text for the field, or one that was taken from a record; False for an identifier."""
    candidate = plan.candidate(name)
    return not is_reference(plan.tool, name) and (candidate is None or candidate.source == "result")


def _list_values(name: str, situation: Situation) -> list[ArgumentCandidate]:
    candidates: dict[str, ArgumentCandidate] = {}
    for record in situation.records:
        value = record.fields.get(name)
        if isinstance(value, str) and value and says(situation.text, record.own_id):
            candidates.setdefault(value, ArgumentCandidate(value, "result", record.ref(name), LIKELY))
    return [*candidates.values()]


_AGE_WORDS = stems(("age", "aging", "overdue", "past"))


class RoutedThings(NamedTuple):
    """The calls for records that a process routes by age. ``left_out``: the other records, each with the reason."""

    calls: tuple[CallPlan, ...] = ()
    left_out: tuple[str, ...] = ()


def route_listed(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> RoutedThings:
    """A call for each listed record that the clause means and whose age is known; none if the process has no routes."""
    calls: list[CallPlan] = []
    left_out: list[str] = []
    for record in select_records(intent.clause, situation).records if situation.routes else ():
        age = _find_age(record)
        if not record.own_id or age is None:
            continue
        route = _find_route_of_age(age, situation)
        tool = _choose_tool(route, record, writers)
        if tool is None or (state := _state_of(record, tool)):
            left_out.append(f"{record.own_id}: {f'it stands at {state} already' if tool else 'no tool takes its way'}")
            continue
        calls.append(CallPlan(tool, ((_find_slot(tool, record), identify(record)),)))
    return RoutedThings(tuple(calls), tuple(left_out))


def _find_age(record: FactRecord) -> Decimal | None:
    """The one figure of a record that counts how old or how overdue it is; None if it has none or several."""
    fields = [name for name in record.fields if field_stems(name) & _AGE_WORDS and not is_identifier(name)]
    ages = [age for name in fields if (age := read_figure(record.fields[name])) is not None]
    return ages[0] if len(ages) == 1 else None


def _find_route_of_age(age: Decimal, situation: Situation) -> str:
    """The name and the words of the route for a thing of that age; empty if no route takes it."""
    for route in situation.routes:
        over, up_to = read_figure(route.get("over")), read_figure(route.get("up_to"))
        if (over is None or age > over) and (up_to is None or age <= up_to):
            return f"{route.get('name')}: {route.get('way')}"
    return ""


def _choose_tool(route_text: str, record: FactRecord, writers: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that takes the thing and of which all words but the verb stand in the way; the one with most of them.

    None if no tool does. ``route_text``: the way, as the task describes it.
    """
    fitting = [tool for tool in writers if frozenset() < nouns(tool.name) <= text_stems(route_text)]
    fitting = [tool for tool in fitting if _find_slot(tool, record)]
    return max(fitting, key=lambda tool: (len(nouns(tool.name)), tool.name), default=None)


def _find_slot(tool: ToolSpec, record: FactRecord) -> str:
    """The tool's one required field, if it identifies the thing."""
    slots = [name for name in tool.required if is_reference(tool, name) and wanted_noun(tool, name) & record.noun]
    return slots[0] if len(slots) == 1 == len(tool.required) else ""


def _state_of(record: FactRecord, tool: ToolSpec) -> str:
    """The state of a record that the tool would lead to."""
    own = nouns(tool.name)
    return next((value for value in record.texts if stem(value) in own), "")
