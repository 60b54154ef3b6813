"""Which words of a question about listed things nothing applies: by these it was not understood."""

import re
from collections.abc import Sequence
from itertools import pairwise

from services.planner.core.binding import CallPlan
from services.planner.core.explained import unexplained_words
from services.planner.core.intents import Intent, drop_evidence
from services.planner.core.mentions import MentionKind, find
from services.planner.core.phrases import drop_spans, find_exclusions, find_negations
from services.planner.core.records import FactRecord, number
from services.planner.core.selection import select_records, unknown_state
from services.planner.core.situation import ChosenRecords, Situation
from services.planner.core.words import family, parts, stem, stems, text_stems, text_words

_OF_QUESTIONS = stems(
    "each every per by group total sum altogether combined average mean highest lowest maximum minimum largest "
    "smallest biggest greatest longest shortest cheapest dearest most least latest earliest oldest newest soonest "
    "fewest first last come make add together worth much many number count recent recently expensive there answer "
    "json list array id identifier only sort order descending ascending alphabetical bare plain format ranked sorted "
    "reply respond return separate cost price value amount".split()
)


def find_uninterpreted_words(question: str, situation: Situation) -> tuple[str, ...]:
    """The words of a question about listed things by which nothing was chosen and that nothing says."""
    listed = [record for record in situation.records if record.in_list]
    if not listed:
        return ()
    selection = select_records(question, situation)
    left = unexplained_words(selection.rest, listed) - _OF_QUESTIONS - unknown_state(question, listed)
    left -= _class_words(question, listed) & situation.terms
    words = [word for word in text_words(selection.rest) if stem(word) in left]
    return tuple(dict.fromkeys((*selection.unread, *_figures_left(selection, listed), *words)))


_OF_ACTIONS = stems(
    "please also then now once back over out up down off following again it them together currently immediately today "
    "right away straight both same just thing one ones make sure ensure go ahead need want like new".split()
)


def find_uninterpreted_words_of_calls(
    chosen: ChosenRecords, way: CallPlan, intent: Intent, situation: Situation
) -> tuple[str, ...]:
    """The words of a clause that neither chose its things nor stand in the call that is made for each of them."""
    listed = [record for record in situation.records if record.in_list]
    given = " ".join(str(found.value) for _, found in way.chosen)
    tool = f"{' '.join(parts(way.tool.name))} {' '.join(way.tool.properties)} {way.tool.description}".replace("_", " ")
    known = text_stems(f"{given} {tool}".replace("_", " ")) | {stem(intent.verb)} | _OF_ACTIONS
    known |= _class_words(chosen.rest, listed) & situation.terms
    left = (unexplained_words(chosen.rest, listed) - known) & text_stems(intent.clause)
    words = [word for word in text_words(chosen.rest)[1:] if stem(word) in left]
    is_computed = any(found.source == "value" for _, found in way.chosen)
    stated = {mention.value for mention in find(intent.clause)}
    left_out = [] if is_computed else _figures_left(chosen, listed)
    figures = [one for one in left_out if one in stated and not _is_given(one, way)]
    return tuple(dict.fromkeys((*chosen.unread, *_find_steps([way], intent), *figures, *words)))


_STEP = re.compile(r"\bby\s+(?P<step>[$€£]?\d[\d.,]*)", re.I)


def _find_steps(ways: Sequence[CallPlan], intent: Intent) -> list[str]:
    """``by 10``, where the call would set the field to just that."""
    match = _STEP.search(intent.clause)
    figure = next((one for one in find(match["step"]) if one.kind in _LITERAL), None) if match else None
    sets = [way for way in ways if family(parts(way.tool.name)[0]) == "update"]
    taken = [found for way in sets for _, found in way.chosen if found.source == "task"]
    is_set = figure is not None and any(number(found.value) == figure.number for found in taken)
    return [match[0]] if match and is_set else []


_FORMULA = re.compile(r":?\s*\b[A-Za-z_]\w*\s*=\s*\S.*$")  # what is to be worked out, to the clause's end
_RANGE = re.compile(r"\b([A-Za-z]+[-_]?)\d+\s*(?:to|through|until|–)\s*\1\d+\b")
_MANNER = re.compile(r"\bwithout\s+(?:an?\s+|any\s+|further\s+)?\w+", re.I)
_UNIT = re.compile(r"(?P<figure>\d[\d.,]*)\s+(?P<unit>[a-z]+)\b")
_AMOUNTS = (MentionKind.NUMBER, MentionKind.MONEY)
_LITERAL = (*_AMOUNTS, MentionKind.PERCENT, MentionKind.DATE)


def find_uninterpreted_words_of_clause(
    ways: Sequence[CallPlan], intent: Intent, situation: Situation
) -> tuple[str, ...]:
    """The words of a clause that no call for it has, and nothing that is called or was read explains.

    What a figure was computed from is no argument: where one was, only negations and ranges count.
    """
    given = " ".join(str(found.value) for way in ways for _, found in way.chosen)
    text = _FORMULA.sub(" ", drop_evidence(drop_spans(intent.clause, find_exclusions(intent.clause))))
    text = _MANNER.sub(" ", _drop_days(text, given, situation))
    odd = [*(match[0] for match in _RANGE.finditer(text)), *_find_steps(ways, intent)]
    odd += [one.value for one in find_negations(text) if one.value.lower() not in given.lower()]
    if any(found.source == "value" for way in ways for _, found in way.chosen):
        return tuple(odd)
    said = {str(value) for record in situation.records for value in record.fields.values()}
    amounts = {number(value) for record in situation.records for value in record.fields.values()}
    stated = [one for one in find(text) if one.kind in _LITERAL and one.value not in said]
    figures = [one.value for one in stated if one.kind not in _AMOUNTS or one.number not in amounts]
    odd += [one for one in figures if one not in given and not any(_is_given(one, way) for way in ways)]
    tools = " ".join(f"{' '.join(way.tool.properties)} {way.tool.description}" for way in ways).replace("_", " ")
    known = text_stems(f"{given} {tools}".replace("_", " ")) | {stem(intent.verb)} | _OF_ACTIONS | situation.terms
    units = {stem(match["unit"]) for match in _UNIT.finditer(text)}
    left = unexplained_words(text, situation.records) - known - units
    return tuple(dict.fromkeys((*odd, *(word for word in text_words(text)[1:] if stem(word) in left))))


def _drop_days(text: str, given: str, situation: Situation) -> str:
    """The text without the days that a call has, however they are said."""
    for mention in situation.of_kind(MentionKind.DATE):
        if mention.value in given:
            text = text.replace(situation.text[mention.start : mention.end], " ")
    return text


def _is_given(figure: str, way: CallPlan) -> bool:
    """Whether a figure or a name stands in one of the call's arguments, in minor units too."""
    wanted = number(figure)
    for _, found in way.chosen:
        amount = number(found.value)
        if figure in str(found.value) or (wanted is not None and amount in (wanted, wanted * 100)):
            return True
    return False


def _class_words(text: str, listed: Sequence[FactRecord]) -> frozenset[str]:
    """The words behind what the listed things are called, of which tools may call them as well: ``expense claims``."""
    nouns = frozenset().union(*(record.noun for record in listed))
    return frozenset(stem(word) for before, word in pairwise(text_words(text)) if stem(before) in nouns)


def _figures_left(selection: ChosenRecords, listed: Sequence[FactRecord]) -> list[str]:
    """Figures and days that chose nothing, and identifiers of which no listed thing has the like."""
    given = {str(value) for record in listed for value in record.fact.arguments.values()}
    shapes = {_shape(str(value)) for record in listed for value in record.fields.values() if isinstance(value, str)}
    left: list[str] = []
    for mention in find(selection.rest):
        if mention.kind in (MentionKind.NUMBER, MentionKind.MONEY, MentionKind.DATE, MentionKind.PERCENT):
            left += [] if mention.value in given else [mention.value]
        elif mention.kind is MentionKind.ID and mention.value not in given:
            left += [] if _shape(mention.value) in shapes else [mention.value]
    return left


def _shape(value: str) -> str:
    return re.sub(r"\d+", "9", value)
