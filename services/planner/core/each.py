"""Listed things: the same call for each that is meant, a read for each of their values, a way for each by its age."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.binding import CallPlan
from services.planner.core.intents import Intent, drop_evidence
from services.planner.core.mentions import MentionKind, find
from services.planner.core.pages import lists_read_in_part
from services.planner.core.phrases import drop_spans, find_target
from services.planner.core.records import FactRecord, number, own_id
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import matching_records, names_in, select_records, unknown_names
from services.planner.core.situation import CERTAIN, LIKELY, ArgumentCandidate, ChosenRecords, Situation, says
from services.planner.core.unread import find_uninterpreted_words_of_calls
from services.planner.core.words import field_stems, is_identifier, nouns, stem, stems, text_stems

_ORDER = re.compile(r"\b(?:in (?:the )?order of|in|ordered by|sorted by|by) (?:its |their |the )?(?P<by>[\w ]+)", re.I)
_IN_ORDER = re.compile(r"\b(?:in (?:the )?order of|ordered by|sorted by) (?:its |their |the )?\w+", re.I)
_GOAL = re.compile(r"\b(?:to|into|as) (?:the )?(?P<goal>[a-z]+)\b", re.I)


def calls_for_each(way: CallPlan, intent: Intent, situation: Situation) -> list[CallPlan]:
    """One call for each listed record that the clause fits; the clause's own way says all the rest."""
    found = []
    for record in _order_records(_choose_things(way, intent, situation).records, intent.clause):
        known = own_id(record)
        slots = [name for name in way.tool.required if is_reference(way.tool, name)]
        slots = [name for name in slots if wanted_noun(way.tool, name) & record.noun]
        if known and slots and str(known[1]) not in intent.spared:
            one = ArgumentCandidate(record.fields[known[0]], "result", record.ref(known[0]), CERTAIN)
            chosen = dict(way.chosen) | {slots[0]: one}
            found.append(CallPlan(way.tool, tuple(chosen.items()), tuple(n for n in way.missing if n != slots[0])))
    return found


def _choose_things(way: CallPlan, intent: Intent, situation: Situation) -> ChosenRecords:
    """What the clause means, without where the call leads to: the state after it says nothing of that."""
    text = _IN_ORDER.sub(" ", drop_evidence(_clause_with_subject(intent, situation)))
    for name, found in way.chosen:
        if not is_reference(way.tool, name) and found.source == "task":
            target = find_target(text, [str(found.value)], nouns(way.tool.name), intent.means_every)
            text = drop_spans(text, [target.span] if target else [])
    goals = nouns(way.tool.name)
    return select_records(_GOAL.sub(lambda match: " " if stem(match["goal"]) in goals else match[0], text), situation)


def why_not_all_known(way: CallPlan, intent: Intent, situation: Situation) -> str:
    """Why it cannot be said which things ``every`` means; empty if it can."""
    unknown = [name for name in names_in(_clause_with_subject(intent, situation)) if name in unknown_names(situation)]
    given = {str(found.value) for _, found in way.chosen}
    cut = [tool for tool in lists_read_in_part(situation.facts) if nouns(tool) & nouns(way.tool.name)]
    if unknown := [name for name in unknown if name not in given]:
        return f"nothing that was read says who or what {unknown[0]} is"
    if cut:
        return f"{cut[0]} was not read to its end"
    unread = find_uninterpreted_words_of_calls(_choose_things(way, intent, situation), way, intent, situation)
    return f"not understood: {', '.join(unread)}" if unread else ""


def _clause_with_subject(intent: Intent, situation: Situation) -> str:
    """The clause with what it is about: its own names, else what stands before its colon or in an earlier clause."""
    earlier = [one.clause for one in situation.reading.actions[::-1] if one is not intent]
    before = situation.text.partition(intent.clause)[0]
    for text in (intent.clause, intent.context, *(clause for clause in earlier if clause in before)):
        if names_in(text) or any(mention.kind is MentionKind.ID for mention in find(text)):
            return intent.clause if text == intent.clause else f"{intent.clause} ({text})"
    return intent.clause


def _order_records(records: Sequence[FactRecord], clause: str) -> list[FactRecord]:
    """By the field that the clause orders them by; as they were listed otherwise."""
    match = _ORDER.search(clause)
    said = text_stems(match["by"]) if match else frozenset()
    fields = {name for record in records for name, value in record.fields.items() if number(value) is not None}
    by = sorted((name for name in fields if field_stems(name) & said), key=lambda name: (len(name), name))
    if not by or any(number(record.fields.get(by[0])) is None for record in records):
        return [*records]
    return sorted(records, key=lambda record: number(record.fields[by[0]]) or 0)


_MANY = 8


def calls_for_each_value(way: CallPlan, situation: Situation) -> list[CallPlan]:
    """The call for each value that its one open text has in the records that the task names by their identifiers.

    The call as it is where they agree, where nothing of the kind is open, or where it would be too many.
    """
    names_open = [name for name in way.tool.required if _is_open(way, name)]
    values = _list_values(names_open[0], situation) if len(names_open) == 1 else []
    if not 1 < len(values) <= _MANY:
        return [way]
    left = tuple(name for name in way.missing if name not in names_open)
    return [CallPlan(way.tool, tuple({**dict(way.chosen), names_open[0]: one}.items()), left) for one in values]


def _is_open(way: CallPlan, name: str) -> bool:
    """Whether a text is missing, or was taken from a record although it identifies nothing."""
    found = way.candidate(name)
    return not is_reference(way.tool, name) and (found is None or found.source == "result")


def _list_values(name: str, situation: Situation) -> list[ArgumentCandidate]:
    found: dict[str, ArgumentCandidate] = {}
    for record in situation.records:
        known, value = own_id(record), record.fields.get(name)
        if known and isinstance(value, str) and value and says(situation.text, str(known[1])):
            found.setdefault(value, ArgumentCandidate(value, "result", record.ref(name), LIKELY))
    return [*found.values()]


_AGES = stems(("age", "aging", "overdue", "past"))


class RoutedThings(NamedTuple):
    """What each thing's way comes to, and why a thing goes none."""

    calls: tuple[CallPlan, ...] = ()
    left_out: tuple[str, ...] = ()


def route_listed(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> RoutedThings:
    """A call for each listed thing that the clause means and whose age is known; nothing where there are no ways."""
    calls: list[CallPlan] = []
    left_out: list[str] = []
    for record in matching_records(intent.clause, situation) if situation.routes else ():
        known, age = own_id(record), _find_age(record)
        if known is None or age is None:
            continue
        way = _find_way(age, situation)
        tool = _choose_tool(way, record, writers)
        if tool is None or (done := _state_of(record, tool)):
            left_out.append(f"{known[1]}: {f'it stands at {done} already' if tool else 'no tool takes its way'}")
            continue
        calls.append(_bind_record(tool, record, known[0]))
    return RoutedThings(tuple(calls), tuple(left_out))


def _find_age(record: FactRecord) -> Decimal | None:
    """The one figure of a record that counts how old or how overdue it is."""
    fields = [name for name in record.fields if field_stems(name) & _AGES and not is_identifier(name)]
    ages = [age for name in fields if (age := number(record.fields[name])) is not None]
    return ages[0] if len(ages) == 1 else None


def _find_way(age: Decimal, situation: Situation) -> str:
    """The name and the words of the range that an age falls into; empty if there is none."""
    for route in situation.routes:
        over, up_to = number(route.get("over")), number(route.get("up_to"))
        if (over is None or age > over) and (up_to is None or age <= up_to):
            return f"{route.get('name')}: {route.get('way')}"
    return ""


def _choose_tool(way: str, record: FactRecord, writers: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that takes the thing and of which all words but the verb stand in the way; the one with most of them."""
    said = text_stems(way)
    fitting = [tool for tool in writers if nouns(tool.name) and nouns(tool.name) <= said and _find_slot(tool, record)]
    return max(fitting, key=lambda tool: (len(nouns(tool.name)), tool.name), default=None)


def _find_slot(tool: ToolSpec, record: FactRecord) -> str:
    """The tool's one required field, if it identifies the thing."""
    slots = [name for name in tool.required if is_reference(tool, name) and wanted_noun(tool, name) & record.noun]
    return slots[0] if len(slots) == 1 == len(tool.required) else ""


def _state_of(record: FactRecord, tool: ToolSpec) -> str:
    """The state of a record that the tool would lead to."""
    own = nouns(tool.name)
    return next((value for value in record.fields.values() if isinstance(value, str) and stem(value) in own), "")


def _bind_record(tool: ToolSpec, record: FactRecord, field: str) -> CallPlan:
    found = ArgumentCandidate(record.fields[field], "result", record.ref(field), CERTAIN)
    return CallPlan(tool, ((_find_slot(tool, record), found),))
