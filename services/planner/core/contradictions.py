"""What a clause says of the things that it identifies, compared with their records: whose they are, or who."""

import re
from collections.abc import Sequence

from services.planner.core.binding import CallPlan, values_of
from services.planner.core.intents import Intent, drop_evidence
from services.planner.core.mentions import drop_quotations, identifiers_in
from services.planner.core.phrases import TELLS_PATTERN, drop_spans, find_exclusions
from services.planner.core.records import FactRecord
from services.planner.core.selection import names_in, shape_of_id
from services.planner.core.situation import Situation, list_records_meant, says
from services.planner.core.words import field_stems, parts

_AND_PATTERN = re.compile(r"[,;&]|\band\b", re.I)


def find_contradiction(plans: Sequence[CallPlan], intent: Intent, situation: Situation) -> str:
    """Whom or what a clause names beside the things of its calls, where their records say otherwise; empty if they
    agree, or if nothing was read of them.
    """
    text = TELLS_PATTERN.split(intent.clause)[0] if intent.sends_message else drop_evidence(intent.clause)
    text = drop_quotations(drop_spans(text, find_exclusions(text)))
    given = values_of(plans)
    named = dict.fromkeys((*identifiers_in(text), *(name for name in names_in(text) if _find_bearers(name, situation))))
    others = [value for value in named if value not in intent.spared and not any(says(said, value) for said in given)]
    for value in others:
        piece = next((piece for piece in _AND_PATTERN.split(text) if len(others) > 1 and value in piece), text)
        for plan in [plan for plan in plans if any(says(piece, own) for own in plan.values)] or plans:
            records = list_records_meant(plan.values, situation)
            if records and not any(has_to_do_with(record, value, situation) for record in records):
                return _describe_contradiction(records, value, situation)
    return ""


def has_to_do_with(record: FactRecord, value: str, situation: Situation) -> bool:
    """Whether a record names somebody or something, refers to it, or is named by it."""
    if any(says(str(held), value) for held in record.fields.values()):
        return True
    others = [other for other in _find_bearers(value, situation) if other.noun != record.noun]
    is_referred_to = any(record.values & {str(other.fields[name]) for name in _list_names(other)} for other in others)
    return is_referred_to or any(record.own_id and record.own_id in other.values for other in others)


def _find_bearers(value: str, situation: Situation) -> list[FactRecord]:
    """The records that bear an identifier or a name, or have it as a part of theirs."""
    named = [(record, name) for record in situation.records if record.own_id for name in _list_names(record)]
    return [record for record, name in named if says(str(record.fields[name]), value)]


def _list_names(record: FactRecord) -> list[str]:
    """The fields by which a record says what it is: its own identifier, and names."""
    return [name for name in record.fields if name == record.own_field or "name" in parts(name)]


def _describe_contradiction(records: Sequence[FactRecord], value: str, situation: Situation) -> str:
    bearers = _find_bearers(value, situation)
    shapes = {shape_of_id(value), *(shape_of_id(bearer.own_id) for bearer in bearers)}
    nouns = frozenset().union(*(bearer.noun for bearer in bearers))
    fields = {name for bearer in bearers for name in _list_names(bearer) if says(str(bearer.fields[name]), value)}
    for record in records:
        own_value = record.own_id or "it"
        if "name" in record.fields and any(bearer.noun == record.noun for bearer in bearers):
            return f"{own_value} is {record.fields['name']}, not {value}"
        for name, held in record.fields.items():
            is_owner = shape_of_id(str(held)) in shapes or ("name" in parts(name) and field_stems(name) & nouns)
            if name not in (record.own_field, "name") and (is_owner or name in fields):
                return f"{own_value} is of {held}, not of {value}"
    return f"nothing that was read says what {records[0].own_id or 'it'} has to do with {value}"
