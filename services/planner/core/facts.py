"""Extracts lasting facts from a task's text by rules: sentences in the present tense that say something of a subject.

"Its rate is 2 %" and "they answer within 3 days" hold for the next task too; what was done, or is to be done, does not.
"""

import re
from collections.abc import Iterator

from services.planner.core.request import Request
from shared.domain.exact_json import Json, JsonObject, loads

_MOST_FACTS = 4
_CONFIDENCE = loads("0.6")
_SENTENCE_PATTERN = re.compile(r"[^.;!?\n]+(?:[.](?=\S)[^.;!?\n]+)*")
_FIGURE = r"(?:[A-Z]{3} ?|[$€£¥])?\d(?:[\d.,]*\d)?(?: ?%)?"
_UNIT = r"(?: (?:[a-z]+ )?(?:days?|weeks?|months?|years?|percent|dollars|euros|pounds)\b| [A-Z]{3}\b)?"
_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3}"
_VALUE = rf"(?P<value>(?:[a-z]+ )?{_FIGURE}{_UNIT}|{_NAME})"
_WORDS = r"[a-z]+(?: [a-z]+){0,2}"
_HABIT = r"(?!(?:is|was|has)\b)[a-z]+s"
_LINK = r"(?:is|are)(?: now| still| always)?"


def extract_facts(request: Request) -> JsonObject:
    """At most four facts, each stated by a sentence of the task, in the order of the text."""
    subjects = [name for name in _list_strings(request.section("entities")) if any(map(str.isalpha, name))]
    text = f"{request.sections.get('task', '')}\n{request.sections.get('answer', '')}"
    facts: dict[tuple[str, str], Json] = {}
    for sentence in _SENTENCE_PATTERN.findall(text):
        for subject in subjects:
            for attribute, value in _attribute_values_of(subject, sentence):
                facts[subject.lower(), attribute] = _build_fact(subject, attribute, value, sentence)
    return {"facts": list(facts.values())[:_MOST_FACTS]}


def _attribute_values_of(subject: str, sentence: str) -> Iterator[tuple[str, str]]:
    """Yields each attribute and its value that a sentence states of the subject."""
    subject_pattern = re.escape(subject)
    for pattern in (
        rf"(?<!\w){subject_pattern}(?:'s|’s|') (?P<attribute>{_WORDS}) {_LINK} {_VALUE}",
        rf"\b(?P<attribute>{_WORDS}) (?:of|for|with|at) {subject_pattern} {_LINK} {_VALUE}",
        rf"(?<!\w){subject_pattern} (?P<attribute>{_HABIT})(?: [a-z]+){{0,4}}? (?P<value>(?:[a-z]+ )?{_FIGURE}{_UNIT})",
    ):
        for match in re.finditer(pattern, sentence):
            yield match["attribute"].removeprefix("the "), match["value"]


def _build_fact(subject: str, attribute: str, value: str, sentence: str) -> JsonObject:
    return {
        "subject": subject,
        "attribute": attribute,
        "value": value,
        "text": f"{' '.join(sentence.split())}.",
        "confidence": _CONFIDENCE,
    }


def _list_strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
