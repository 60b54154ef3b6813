"""Things that a plan creates: their fields come from the task, and later calls refer to the result that creates
them.
"""

import re

from services.planner.core.binding import REF, CallPlan
from services.planner.core.intents import Intent
from services.planner.core.records import FactRecord
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import NAME
from services.planner.core.situation import CERTAIN, ArgumentCandidate, MadeEntity, Situation, records_about, says
from services.planner.core.words import STOP, family, field_stems, nouns, parts, stem, stems, text_words
from shared.domain.exact_json import JsonObject

_NAME_FIELD_WORDS = stems(("name", "title"))
_NAMING_WORDS = stems(("named", "called"))


def nouns_made_by(tool: ToolSpec) -> frozenset[str]:
    """The nouns of what a call of the tool creates; empty if it only changes what exists."""
    own = nouns(tool.name)
    creates = family(next(iter(parts(tool.name)), "")) == "create"
    is_about_one = any(is_reference(tool, name) and wanted_noun(tool, name) == own for name in tool.properties)
    return own if creates and not is_about_one else frozenset()


def made_entities(bound: CallPlan, situation: Situation) -> tuple[MadeEntity, ...]:
    noun = nouns_made_by(bound.tool)
    return (MadeEntity(noun, bound.key, id_field(noun, situation)),) if noun else ()


def id_field(noun: frozenset[str], situation: Situation) -> str:
    """The field under which records of that noun show their identifier."""
    fields = (record.own_field for record in records_about(situation, noun) if record.noun == noun)
    return next(filter(None, fields), "id")


def fit_to_new_thing(plan: CallPlan, situation: Situation) -> CallPlan:
    """Fits the plan of a call that creates something: adds the name that the task gives, and drops values that were
    copied from other records. Any other plan stays.
    """
    noun = nouns_made_by(plan.tool)
    if not noun:
        return plan
    others = {record.ref(field): record for record in records_about(situation, noun) for field in record.fields}
    chosen = {name: one for name, one in plan.chosen if not _is_copied(plan.tool, name, one, others, situation)}
    name_said = _find_name(noun, situation.text)
    for name in plan.tool.required if name_said else ():
        if name not in chosen and field_stems(name) - noun <= _NAME_FIELD_WORDS:
            chosen[name] = ArgumentCandidate(name_said, "task", "", CERTAIN)
    missing = tuple(name for name in plan.tool.required if name not in chosen)
    return plan._replace(chosen=tuple(chosen.items()), missing=missing)


def _is_copied(
    tool: ToolSpec, name: str, candidate: ArgumentCandidate, others: dict[str, FactRecord], situation: Situation
) -> bool:
    from_other = candidate.source == "result" and candidate.ref in others and not is_reference(tool, name)
    return from_other and not says(situation.text, str(candidate.value))


def _find_name(noun: frozenset[str], text: str) -> str:
    """The name that the text gives to a new thing, as in ``the new THING Alpha Beta`` and ``a THING called Alpha``;
    else empty.
    """
    for match in NAME.finditer(text):
        words = [word for word in match[0].split() if word.lower() not in STOP]
        before = [stem(word) for word in text_words(text[: match.start()])][-1:]
        if words and before and before[0] in noun | _NAMING_WORDS:
            return re.sub(r"['’]s$", "", " ".join(words))
    return ""


def link_to_made(plan: CallPlan, intent: Intent, situation: Situation) -> CallPlan:
    """The plan with its reference to the thing that an earlier call creates, unless its clause names an existing
    one.
    """
    links: dict[str, ArgumentCandidate] = {}
    for name in plan.tool.properties:
        entity = _find_made(plan, name, situation) if is_reference(plan.tool, name) else None
        if entity and not _is_named(plan.candidate(name), intent, situation):
            reference: JsonObject = {REF: f"{entity.key}.{entity.field}"}
            links[name] = ArgumentCandidate(reference, "result", "", CERTAIN)
    return plan.with_values(links)


def _find_made(plan: CallPlan, name: str, situation: Situation) -> MadeEntity | None:
    is_asked = name in plan.tool.required or name in dict(plan.chosen)
    return next((entity for entity in situation.made if is_asked and entity.noun == wanted_noun(plan.tool, name)), None)


def _is_named(candidate: ArgumentCandidate | None, intent: Intent, situation: Situation) -> bool:
    if candidate is None:
        return False
    if candidate.source == "task":
        return candidate.sure == CERTAIN
    holders = [record for record in situation.records if candidate.ref in map(record.ref, record.fields)]
    return any(says(intent.clause, value) for record in holders for value in record.texts)
