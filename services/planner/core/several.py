"""A question about several things, answered in prose: which they are, each with its amount if it has one."""

import re

from services.planner.core.figures import amount_field
from services.planner.core.records import FactRecord, own_id
from services.planner.core.selection import matching
from services.planner.core.situation import Situation
from services.planner.core.words import parts, text_stems

_SHOWN = 20
_WHICH = re.compile(r"\b(?:which|what|list|show|name|all|every|each)\b", re.I)


def several(question: str, situation: Situation) -> str:
    """One line that names the things a question is after; empty where it asks for no list that was read."""
    if not _WHICH.search(question) or not _was_listed(question, situation):
        return ""
    found = [said for record in matching(question, situation) if (said := _record_name(record))]
    if not found:
        return "None of those that were read fits."
    rest = ", and others" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{rest}."


def _was_listed(question: str, situation: Situation) -> bool:
    said = text_stems(question)
    return any(record.in_list and record.noun & said for record in situation.records)


def _record_name(record: FactRecord) -> str:
    known = own_id(record)
    if known is None:
        return ""
    field = amount_field(record, "amount")
    return f"{known[1]} ({' '.join(parts(field))} {record.fields[field]})" if field else str(known[1])
