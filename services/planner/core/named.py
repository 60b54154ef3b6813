"""Things that a task names by a proper name: the records that bear it, and the names that none bears yet."""

import re
from collections.abc import Iterable

from services.planner.core.mentions import MentionKind, find
from services.planner.core.records import FactRecord, own_id
from services.planner.core.request import ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.words import STOP, nouns, stem, text_words

_FORMATS = frozenset("json csv xml yaml html markdown".split())  # how an answer is to look, and nobody's name
_CURRENCIES = frozenset("usd eur gbp chf jpy cad aud sek nok dkk pln inr cny".split())
NAME = re.compile(r"\b[A-Z][\w&-]*(?:['’]s)?(?:\s+(?:[A-Z][\w&-]*))*")

_SUBJECT = re.compile(r"\s+(?:is|was|has|had|wants|needs)\b")


def names_in(text: str) -> list[str]:
    """The proper names of a text; what stands in quotation marks is no one's name."""
    for mention in find(text):
        if mention.kind is MentionKind.QUOTE:
            text = f"{text[: mention.start]}{'.' * (mention.end - mention.start)}{text[mention.end :]}"
    return proper_names(text)


def bearers(name: str, situation: Situation) -> list[FactRecord]:
    """The records of which one field is this very name."""
    return [record for record in situation.records if name.lower() in _texts(record)]


def owners(text: str, situation: Situation) -> list[FactRecord]:
    """The records that a text names so, and that have an identifier."""
    return [record for name in names_in(text) for record in bearers(name, situation) if own_id(record)]


def unknown_names(situation: Situation, tools: Iterable[ToolSpec] = ()) -> list[str]:
    """The task's names that stand in no record, but for words that tools, or what was read, are called by."""
    known = frozenset().union(*(nouns(tool.name) for tool in tools), *(record.noun for record in situation.records))
    shown = " ".join(text for record in situation.records for text in _texts(record))
    return [
        name
        for name in names_in(situation.text)
        if name.lower() not in shown and not {stem(word) for word in text_words(name)} <= known
    ]


def _texts(record: FactRecord) -> list[str]:
    return [value.lower() for value in record.fields.values() if isinstance(value, str)]


def proper_names(text: str) -> list[str]:
    """Capitalised names: two words or more, or one that does not begin a sentence."""
    found = []
    for match in NAME.finditer(text):
        words = [word for word in match[0].split() if word.lower() not in STOP | _FORMATS | _CURRENCIES]
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?:;"
        words = words[1:] if begins and not _SUBJECT.match(text[match.end() :]) else words
        if words and not any(mark.isdigit() for mark in match[0]):
            found.append(re.sub(r"['’]s$", "", " ".join(words)))
    return found
