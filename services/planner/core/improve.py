"""Adds what an answer lacks, if the facts have it; else leaves the answer as it is."""

import re

from services.planner.core.process import process_of
from services.planner.core.records import MINOR, read_figure
from services.planner.core.request import Request
from services.planner.core.situation import Situation, rank, says
from services.planner.core.words import field_stems, parts, text_stems
from shared.domain.exact_json import Json

_SAY_PATTERN = re.compile(r"^say the (?P<what>.+)$")


def improve_answer(request: Request, situation: Situation) -> str:
    """The unchanged draft with one more sentence for each missing thing that is known."""
    draft, missing = request.sections.get("answer", "").strip(), request.section("missing")
    asked_outputs = [
        match["what"]
        for item in (missing if isinstance(missing, list) else [])
        if (match := _SAY_PATTERN.match(str(item)))
    ]
    sentences = [sentence for output in asked_outputs if (sentence := _known_sentence(output, situation, draft))]
    return " ".join(part for part in (draft, *dict.fromkeys(sentences)) if part)


def add_missing_outputs(request: Request, situation: Situation, text: str) -> str:
    """A draft about something done, with one more sentence for each output of the process that it lacks and the facts
    have.
    """
    outputs = process_of(request).outputs
    lacking = [output for output in outputs if not field_stems(output) <= text_stems(text)]
    sentences = dict.fromkeys(sentence for output in lacking if (sentence := _known_sentence(output, situation, text)))
    return " ".join((text, *sentences))


def _known_sentence(output: str, situation: Situation, draft: str) -> str:
    """One sentence about a thing: a value or field of that name, of a record that the draft names, else of the one that
    the task speaks of most.
    """
    wanted_stems = text_stems(output)
    for value in situation.values:
        if wanted_stems <= field_stems(str(value.get("name"))):
            return f"{_field_title(str(value.get('name')))}: {value.get('value')}."
    told = [record for record in situation.records if (own := record.own_id) and says(draft, str(own[1]))]
    spoken_of = told or [record for record in situation.records if rank(record, situation) > 0]
    for record in sorted(spoken_of, key=lambda one: -rank(one, situation)):
        for field, field_value in record.fields.items():
            if wanted_stems <= field_stems(field) and field_value not in ("", None):
                own = record.own_id
                of = f" of {own[1]}" if own and own[0] != field else ""
                return f"{_field_title(field)}{of}: {_format_value(field, field_value)}."
    return ""


def _field_title(field: str) -> str:
    return " ".join(part for part in parts(field) if part not in MINOR).capitalize()


def _format_value(field: str, value: Json) -> str:
    """An amount in minor units as people write it; everything else as it stands."""
    amount = read_figure(value)
    if amount is not None and MINOR.intersection(parts(field)):
        return format(amount / 100, ".2f")
    return str(value)
