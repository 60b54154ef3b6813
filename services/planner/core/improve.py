"""What values and records say under the words of something wanted: an output that an answer lacks, or the sections of
a document.
"""

import re
from collections.abc import Iterable

from services.planner.core.figures import in_major_units
from services.planner.core.process import process_of
from services.planner.core.records import MINOR
from services.planner.core.request import Request, objects
from services.planner.core.situation import Situation, rank, says
from services.planner.core.words import field_stems, parts, text_stems
from shared.domain.exact_json import Json, JsonObject

_SAY_PATTERN = re.compile(r"^say the (?P<what>.+)$")


def improve_answer(request: Request, situation: Situation) -> str:
    """The unchanged draft with one more sentence for each missing thing that is known."""
    draft, missing = request.sections.get("answer", "").strip(), request.section("missing")
    asked = [_SAY_PATTERN.match(str(item)) for item in (missing if isinstance(missing, list) else [])]
    return _add_known(draft, [match["what"] for match in asked if match], situation)


def add_missing_outputs(request: Request, situation: Situation, text: str) -> str:
    """A draft about something done, with one more sentence for each output of the process that it lacks and the facts
    have.
    """
    lacking = [output for output in process_of(request).outputs if not field_stems(output) <= text_stems(text)]
    return _add_known(text, lacking, situation)


def _add_known(draft: str, outputs: Iterable[str], situation: Situation) -> str:
    sentences = dict.fromkeys(_known_sentence(output, situation, draft) for output in outputs)
    return " ".join(filter(None, (draft, *sentences)))


def _known_sentence(output: str, situation: Situation, draft: str) -> str:
    """One sentence about a thing: a value or field of that name, of a record that the draft names, else of the one that
    the task speaks of most; empty if there is none.
    """
    wanted_stems = text_stems(output)
    for value in situation.values:
        if wanted_stems <= field_stems(str(value.get("name"))):
            return f"{_field_title(str(value.get('name')))}: {value.get('value')}."
    told = [record for record in situation.records if says(draft, record.own_id)]
    spoken_of = told or [record for record in situation.records if rank(record, situation) > 0]
    for record in sorted(spoken_of, key=lambda one: -rank(one, situation)):
        for field, value_told in record.fields.items():
            if wanted_stems <= field_stems(field) and value_told not in ("", None):
                of = f" of {record.own_id}" if record.own_id and record.own_field != field else ""
                amount = in_major_units(record, field) if MINOR.intersection(parts(field)) else None
                text = value_told if amount is None else format(amount, ".2f")
                return f"{_field_title(field)}{of}: {text}."
    return ""


def _field_title(field: str) -> str:
    return " ".join(part for part in parts(field) if part not in MINOR).capitalize()


_MOST_LINES = 10  # lines of one section


def fill_document(request: Request, situation: Situation) -> JsonObject:
    """The structured output DOCUMENT: one text for each section that is asked for; empty if nothing has its words.

    A section ``root_cause`` is told by a field ``root_cause``, not by ``cause``.
    """
    sections: list[Json] = []
    values = situation.values
    fields = [(record, *pair) for record in situation.records for pair in record.fields.items()]
    for section in objects(request.section("document")):
        name = str(section.get("name"))
        wanted_stems = text_stems(name.rpartition(".")[2].replace("_", " "))
        told = [
            (str(value.get("name")), " ".join(parts(str(value.get("name")))), value.get("value")) for value in values
        ]
        told += [(field, record.called, value) for record, field, value in fields if value not in ("", None)]
        lines = [f"{called}: {value}" for field, called, value in told if wanted_stems <= field_stems(field)]
        sections.append({"name": name, "text": "\n".join(f"- {line}" for line in dict.fromkeys(lines[:_MOST_LINES]))})
    return {"sections": sections}
