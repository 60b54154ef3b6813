"""``every open ...``: the same call for each listed thing that a clause means, in the order that it asks for."""

import re

from services.planner.core.binding import BoundWay
from services.planner.core.intents import Intent, drop_spared
from services.planner.core.mentions import MentionKind, find
from services.planner.core.named import names_in, unknown_names
from services.planner.core.pages import read_in_part
from services.planner.core.records import FactRecord, number, own_id
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.selection import matching
from services.planner.core.situation import CERTAIN, ArgumentCandidate, Situation
from services.planner.core.words import field_stems, nouns, stem, text_stems

_EVERY = re.compile(r"\b(?:all|every|each)\b", re.I)
_ORDER = re.compile(r"\b(?:in (?:the )?order of|in|ordered by|sorted by|by) (?:its |their |the )?(?P<by>[\w ]+)", re.I)
_GOAL = re.compile(r"\b(?:to|into|as) (?:the )?(?P<goal>[a-z]+)\b", re.I)


def is_for_each(intent: Intent) -> bool:
    return bool(_EVERY.search(intent.clause))


def for_each(way: BoundWay, intent: Intent, situation: Situation) -> list[BoundWay]:
    """One call for each listed record that the clause fits; the clause's own way says all the rest."""
    found = []
    text = _without_goal(drop_spared(_clause_with_subject(intent, situation)), way)
    for record in _order_records(matching(text, situation), intent.clause):
        known = own_id(record)
        slots = [name for name in way.tool.required if is_reference(way.tool, name)]
        slots = [name for name in slots if wanted_noun(way.tool, name) & record.noun]
        if known and slots and str(known[1]) not in intent.spared:
            one = ArgumentCandidate(record.fields[known[0]], "result", record.ref(known[0]), CERTAIN)
            chosen = dict(way.chosen) | {slots[0]: one}
            found.append(BoundWay(way.tool, tuple(chosen.items()), tuple(n for n in way.missing if n != slots[0])))
    return found


def _without_goal(text: str, way: BoundWay) -> str:
    """The text without where the call leads to: the state after it says nothing of which things are meant."""
    goals = nouns(way.tool.name)
    return _GOAL.sub(lambda match: " " if stem(match["goal"]) in goals else match[0], text)


def not_all_known(way: BoundWay, intent: Intent, situation: Situation) -> str:
    """Why it cannot be said which things ``every`` means; empty if it can."""
    unknown = [name for name in names_in(_clause_with_subject(intent, situation)) if name in unknown_names(situation)]
    cut = [tool for tool in read_in_part(situation.facts) if nouns(tool) & nouns(way.tool.name)]
    if unknown:
        return f"nothing that was read says who or what {unknown[0]} is"
    return f"{cut[0]} was not read to its end" if cut else ""


def _clause_with_subject(intent: Intent, situation: Situation) -> str:
    """The clause with what it is about: its own names, else what stands before its colon or in an earlier clause."""
    earlier = [one.clause for one in situation.reading.actions[::-1] if one is not intent]
    before = situation.text.partition(intent.clause)[0]
    for text in (intent.clause, intent.context, *(clause for clause in earlier if clause in before)):
        if names_in(text) or any(mention.kind is MentionKind.ID for mention in find(text)):
            return intent.clause if text == intent.clause else f"{intent.clause} ({text})"
    return intent.clause


def _order_records(records: list[FactRecord], clause: str) -> list[FactRecord]:
    """By the field that the clause orders them by; as they were listed otherwise."""
    match = _ORDER.search(clause)
    said = text_stems(match["by"]) if match else frozenset()
    fields = {name for record in records for name, value in record.fields.items() if number(value) is not None}
    by = sorted((name for name in fields if field_stems(name) & said), key=lambda name: (len(name), name))
    if not by or any(number(record.fields.get(by[0])) is None for record in records):
        return records
    return sorted(records, key=lambda record: number(record.fields[by[0]]) or 0)
