"""Fills sections of a document from records and values; a section that they say nothing of stays empty."""

from services.planner.core.request import Request, objects
from services.planner.core.situation import Situation
from services.planner.core.words import field_stems, parts, text_stems
from shared.domain.exact_json import Json, JsonObject

_MOST_LINES = 10  # lines of one section


def fill_document(request: Request, situation: Situation) -> JsonObject:
    """The structured output DOCUMENT: one text for each section that is asked for."""
    sections: list[Json] = [_fill_section(section, situation) for section in objects(request.section("document"))]
    return {"sections": sections}


def _fill_section(section: JsonObject, situation: Situation) -> JsonObject:
    name = str(section.get("name"))
    wanted_stems = text_stems(name.rpartition(".")[2].replace("_", " "))
    lines = [*_describe_values(wanted_stems, situation), *_describe_fields(wanted_stems, situation)]
    return {"name": name, "text": "\n".join(f"- {line}" for line in dict.fromkeys(lines[:_MOST_LINES]))}


def _describe_values(wanted_stems: frozenset[str], situation: Situation) -> list[str]:
    named = [(str(value.get("name")), value.get("value")) for value in situation.values]
    return [f"{' '.join(parts(name))}: {value}" for name, value in named if wanted_stems <= field_stems(name)]


def _describe_fields(wanted_stems: frozenset[str], situation: Situation) -> list[str]:
    """What fields of that name say: ``root_cause`` is told by a field ``root_cause``, not by ``cause``."""
    return [
        f"{own[1] if (own := record.own_id) else ' '.join(sorted(record.noun))}: {value}"
        for record in situation.records
        for field, value in record.fields.items()
        if wanted_stems <= field_stems(field) and value not in ("", None)
    ]
