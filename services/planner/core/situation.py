"""What is known at one moment: the task as read, what it mentions, and the records found so far."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from services.planner.core.intents import Reading, understand
from services.planner.core.mentions import Kind, Mention, find
from services.planner.core.records import Fact, Record, Scalar, number, own_id, records_of
from services.planner.core.request import Request, objects
from services.planner.core.words import STOP, parts, stem, text_stems, text_words
from shared.domain.exact_json import JsonObject, loads

MINOR = frozenset({"cents", "minor", "pence", "cent"})


class Made(NamedTuple):
    """A new thing, the call that makes it (by its key, as no call has a number yet), and its result's identifier."""

    noun: frozenset[str]
    key: str
    field: str


class Situation(NamedTuple):
    """``made`` are the things that the plan so far makes itself."""

    reading: Reading
    mentions: tuple[Mention, ...]
    facts: tuple[Fact, ...]
    records: tuple[Record, ...]
    values: tuple[JsonObject, ...] = ()
    made: tuple[Made, ...] = ()
    routes: tuple[JsonObject, ...] = ()  # the ways of the process, by age

    @property
    def text(self) -> str:
        return self.reading.text

    @property
    def stems(self) -> frozenset[str]:
        return text_stems(self.reading.text)

    def of_kind(self, *kinds: Kind) -> list[Mention]:
        return [mention for mention in self.mentions if mention.kind in kinds]


def observe(request: Request) -> Situation:
    """Everything the request shows. Earlier turns are looked at only when the task itself names nothing."""
    text = request.task
    mentions = find(text)
    history = request.sections.get("history", "")
    if history and not any(mention.kind is Kind.ID for mention in mentions):
        mentions += tuple(found for found in find(history) if found.kind is Kind.ID)
    facts = _facts(request)
    reading = _without_documents(understand(text), request.sections.get("documents", ""))
    values, process = tuple(objects(request.section("values"))), _object(request.section("process"))
    ways = tuple(objects(process.get("routes")))
    return Situation(reading, mentions, facts, records_of(facts), values, routes=ways)


def _without_documents(reading: Reading, documents: str) -> Reading:
    """The reading in which to write a document is no action, where the request says who writes it: it asks instead."""
    listed = loads(documents) if documents else []
    asked = [str(words).casefold() for words in listed] if isinstance(listed, list) else []
    mine = [intent for intent in reading.actions if any(words in intent.clause.casefold() for words in asked)]
    if not mine:
        return reading
    left = tuple(intent for intent in reading.actions if intent not in mine)
    unnamed = tuple(intent for intent in reading.unnamed if intent not in mine)
    questions = (*reading.questions, *(intent.clause for intent in mine))
    return reading._replace(actions=left, unnamed=unnamed, questions=questions)


def _facts(request: Request) -> tuple[Fact, ...]:
    given = [
        Fact(str(item.get("ref")), str(item.get("tool")), _object(item.get("arguments")), item.get("result"))
        for item in objects(request.section("facts"))
    ]
    for called in request.calls:
        try:
            result = loads(called.content)
        except ValueError:
            continue
        if not called.failed:
            given.append(Fact(f"f{len(given) + 1}", called.tool, called.arguments, result))
    return tuple(given)


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def rank(record: Record, situation: Situation) -> int:
    """How strongly a task speaks of a record: its identifiers, figures, names and words that stand in the text."""
    return sum(_weight(field, value, situation) for field, value in record.fields.items())


def _weight(field: str, value: Scalar, situation: Situation) -> int:
    if isinstance(value, bool):
        return 0
    if isinstance(value, str) and names(situation.text, value):
        return 3 if any(mark.isdigit() for mark in value) else 2
    amount = number(value)
    if amount is not None:
        shares = amount / 100 if MINOR.intersection(parts(field)) else amount
        return 2 if any(shares == mention.number for mention in situation.of_kind(Kind.MONEY)) else 0
    return _described(value, situation.text) if isinstance(value, str) and "@" not in value else 0


def names(text: str, value: str) -> bool:
    """Whether a text contains a value as a whole: an identifier, a name, a word that is more than filler."""
    if len(value) < 2 or value.lower() not in text.lower() or value.lower() in STOP:
        return False
    return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w]|-\w)", text, re.I) is not None


def _described(value: str, text: str) -> int:
    words = _content(value)
    shared = words & text_stems(text)
    return 1 if len(words) > 1 and (len(shared) >= 2 or 2 * len(shared) > len(words)) else 0


@lru_cache(maxsize=4_000)
def _content(value: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text_words(value) if word not in STOP and len(word) > 2)


def best(records: Iterable[Record], situation: Situation) -> list[Record]:
    """The records the task speaks of most, one for each identifier; empty if it speaks of none."""
    ranked = [(rank(record, situation), record) for record in records]
    top = max((score for score, _ in ranked), default=0)
    chosen: dict[object, Record] = {}
    for score, record in ranked:
        if score == top and top > 0:
            known = own_id(record)
            chosen.setdefault(known[1] if known else record.path, record)
    return list(chosen.values())


def about(situation: Situation, noun: frozenset[str]) -> list[Record]:
    """The records of one noun; a tool's ``noun list`` and a nested ``noun`` both count."""
    return [record for record in situation.records if noun & record.noun]
