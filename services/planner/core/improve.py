"""What an answer lacks, said where the facts have it; the answer as it is, where they do not."""

import re

from services.planner.core.process import process_of
from services.planner.core.records import number, own_id
from services.planner.core.request import Request
from services.planner.core.situation import Situation, rank
from services.planner.core.words import field_stems, parts, text_stems
from shared.domain.exact_json import Json

_SAY = re.compile(r"^say the (?P<what>.+)$")
_MINOR = frozenset({"cents", "cent", "minor", "pence"})


def improve_answer(request: Request, situation: Situation) -> str:
    """The draft and one sentence for each thing that is missing and known; nothing of the draft is changed."""
    draft, wanted = request.sections.get("answer", "").strip(), request.section("missing")
    asked = [match["what"] for item in (wanted if isinstance(wanted, list) else []) if (match := _SAY.match(str(item)))]
    said = [sentence for what in asked if (sentence := _known_sentence(what, situation))]
    return " ".join(part for part in (draft, *dict.fromkeys(said)) if part)


def add_missing_outputs(request: Request, situation: Situation, text: str) -> str:
    """A drafted answer in prose about something done, and one sentence for each output of the process that it lacks and
    the facts have.
    """
    outputs = process_of(request).outputs
    lacking = [output for output in outputs if not field_stems(output) <= text_stems(text)]
    said = dict.fromkeys(sentence for output in lacking if (sentence := _known_sentence(output, situation)))
    return " ".join((text, *said))


def _known_sentence(what: str, situation: Situation) -> str:
    """One sentence about a thing: a value or field of that name, of the record that the task speaks of most."""
    wanted = text_stems(what)
    for value in situation.values:
        if wanted <= field_stems(str(value.get("name"))):
            return f"{_field_title(str(value.get('name')))}: {value.get('value')}."
    spoken_of = [record for record in situation.records if rank(record, situation) > 0]
    for record in sorted(spoken_of, key=lambda one: -rank(one, situation)):
        for field, held in record.fields.items():
            if wanted <= field_stems(field) and held not in ("", None):
                own = own_id(record)
                of = f" of {own[1]}" if own and own[0] != field else ""
                return f"{_field_title(field)}{of}: {_format_value(field, held)}."
    return ""


def _field_title(field: str) -> str:
    return " ".join(part for part in parts(field) if part not in _MINOR).capitalize()


def _format_value(field: str, value: Json) -> str:
    """An amount in minor units as people write it; everything else as it stands."""
    amount = number(value)
    if amount is not None and _MINOR.intersection(parts(field)):
        return format(amount / 100, ".2f")
    return str(value)
