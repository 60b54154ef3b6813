"""Things that a plan itself makes: what they get comes from the task, and later calls refer to them by their result."""

import re

from services.planner.core.binding import REF, CallPlan
from services.planner.core.intents import Intent
from services.planner.core.records import FactRecord, own_id
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import NAME
from services.planner.core.situation import CERTAIN, ArgumentCandidate, MadeEntity, Situation, records_about, says
from services.planner.core.words import STOP, family, field_stems, nouns, parts, stem, stems, text_words
from shared.domain.exact_json import JsonObject

_NAMED = stems(("name", "title"))
_CALLED = stems(("named", "called"))


def nouns_made_by(tool: ToolSpec) -> frozenset[str]:
    """What a call of the tool makes; empty if it only changes something that is there."""
    own = nouns(tool.name)
    creates = family(next(iter(parts(tool.name)), "")) == "create"
    is_about_one = any(is_reference(tool, name) and wanted_noun(tool, name) == own for name in tool.properties)
    return own if creates and not is_about_one else frozenset()


def made_entities(bound: CallPlan, situation: Situation) -> tuple[MadeEntity, ...]:
    noun = nouns_made_by(bound.tool)
    return (MadeEntity(noun, bound.key, id_field(noun, situation)),) if noun else ()


def id_field(noun: frozenset[str], situation: Situation) -> str:
    """The field under which records of that noun show their identifier."""
    known = (own_id(record) for record in records_about(situation, noun) if record.noun == noun)
    return next((found[0] for found in known if found), "id")


def fill_new(way: CallPlan, situation: Situation) -> CallPlan:
    """What a new thing gets: nothing of another one of its kind that the task does not say; its name as it says it."""
    noun = nouns_made_by(way.tool)
    if not noun:
        return way
    others = {record.ref(field): record for record in records_about(situation, noun) for field in record.fields}
    chosen = {name: found for name, found in way.chosen if not _is_copied(way.tool, name, found, others, situation)}
    for name in way.tool.required:
        if name not in chosen and field_stems(name) - noun <= _NAMED and (said := _find_name(noun, situation.text)):
            chosen[name] = ArgumentCandidate(said, "task", "", CERTAIN)
    missing = tuple(name for name in way.tool.required if name not in chosen)
    return way._replace(chosen=tuple(chosen.items()), missing=missing)


def _is_copied(
    tool: ToolSpec, name: str, found: ArgumentCandidate, others: dict[str, FactRecord], situation: Situation
) -> bool:
    from_other = found.source == "result" and found.ref in others and not is_reference(tool, name)
    return from_other and not says(situation.text, str(found.value))


def _find_name(noun: frozenset[str], text: str) -> str:
    """``the new THING Alpha Beta``, ``a THING called Alpha``."""
    for match in NAME.finditer(text):
        words = [word for word in match[0].split() if word.lower() not in STOP]
        before = [stem(word) for word in text_words(text[: match.start()])][-1:]
        if words and before and before[0] in noun | _CALLED:
            return re.sub(r"['’]s$", "", " ".join(words))
    return ""


def link_to_made(way: CallPlan, intent: Intent, situation: Situation) -> CallPlan:
    """The call about the thing that an earlier call makes, unless its clause names one that is there."""
    chosen = dict(way.chosen)
    for name in way.tool.properties:
        thing = _find_made(way, name, situation) if is_reference(way.tool, name) else None
        if thing and not _is_named(chosen.get(name), intent, situation):
            reference: JsonObject = {REF: f"{thing.key}.{thing.field}"}
            chosen[name] = ArgumentCandidate(reference, "result", "", CERTAIN)
    return way._replace(chosen=tuple(chosen.items()), missing=tuple(one for one in way.missing if one not in chosen))


def _find_made(way: CallPlan, name: str, situation: Situation) -> MadeEntity | None:
    asked = name in way.tool.required or name in dict(way.chosen)
    return next((one for one in situation.made if asked and one.noun == wanted_noun(way.tool, name)), None)


def _is_named(found: ArgumentCandidate | None, intent: Intent, situation: Situation) -> bool:
    if found is None:
        return False
    if found.source == "task":
        return found.sure == CERTAIN
    holders = [record for record in situation.records for field in record.fields if record.ref(field) == found.ref]
    texts = [value for record in holders for value in record.fields.values() if isinstance(value, str)]
    return any(says(intent.clause, value) for value in texts)
