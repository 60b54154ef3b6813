"""What ``they`` means: a question that names no thing of its own speaks of those of a clause before it."""

import re

from services.planner.core.mentions import identifiers_in
from services.planner.core.situation import Situation
from services.planner.core.words import STOP, stem, stems, text_stems, text_words

_POINTS_PATTERN = re.compile(r"\b(?:they|them|these|those|their|it|its|ones)\b", re.I)
_OF_FIGURES = stems(
    "total sum amount altogether combined average mean highest lowest largest smallest biggest maximum minimum much "
    "many number count value worth cost price come add up".split()
)


def antecedent_of(text: str, situation: Situation) -> str:
    """The nearest earlier clause that names listed things, if the question refers back to it; else empty.

    A question refers back by a pronoun, or by asking for a figure of nothing: ``and what is the total?``.
    """
    position = situation.text.find(text)
    if position <= 0 or not _points_back(text, situation):
        return ""
    reading = situation.reading
    placed = [(situation.text.find(one), one) for one in (*reading.questions, *(i.clause for i in reading.actions))]
    named = [one for one in placed if 0 <= one[0] < position and names_listed_things(one[1], situation)]
    return max(named, default=(0, ""))[1]


def with_antecedent(text: str, situation: Situation) -> str:
    """The question, preceded by the clause that it refers back to, if any."""
    return ", ".join(filter(None, (antecedent_of(text, situation), text)))


def _points_back(text: str, situation: Situation) -> bool:
    if names_listed_things(text, situation) or identifiers_in(text):
        return False
    words = {stem(word) for word in text_words(text) if word not in STOP}
    return bool(_POINTS_PATTERN.search(text)) or (bool(words) and words <= _OF_FIGURES)


def names_listed_things(text: str, situation: Situation) -> bool:
    word_stems = text_stems(text)
    return any(record.in_list and record.noun & word_stems for record in situation.records)
