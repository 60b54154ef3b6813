"""What is known at one moment: the task as read, what it mentions, and the records found so far."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from services.planner.core.follow_ups import Exchange, read_exchanges, resolve_follow_up
from services.planner.core.foreign import in_english
from services.planner.core.intents import TaskReading, understand
from services.planner.core.mentions import Mention, MentionKind, find_mentions
from services.planner.core.process import process_of
from services.planner.core.records import MINOR, FactRecord, Scalar, ToolFact, read_figure, records_of
from services.planner.core.request import CALCULATE, LOCAL, LOOK, Called, Request, ToolSpec, as_object, now_of, objects
from services.planner.core.spoken_times import find_days_without_year
from services.planner.core.words import (
    STOP,
    field_stems,
    is_identifier,
    nouns,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)
from shared.domain.exact_json import Json, JsonObject, dumps

CERTAIN = 3
LIKELY = 2
POSSIBLE = 1
_SAYS_ABSENT = re.compile(r"\b(?:not found|no such|does not exist|doesn't exist)\b|\"found\":false\b", re.I)


class ArgumentCandidate(NamedTuple):
    """A value for an argument, where it comes from, and how sure that is."""

    value: Json
    source: str
    ref: str
    sure: int


def take_field(record: FactRecord, field: str, sure: int) -> ArgumentCandidate:
    """The value of a record's field, as a candidate."""
    return ArgumentCandidate(record.fields[field], "result", record.ref(field), sure)


def identify(record: FactRecord, sure: int = CERTAIN) -> ArgumentCandidate:
    """The own identifier of a record that has one, as a candidate."""
    return take_field(record, record.own_field, sure)


class MadeEntity(NamedTuple):
    """A thing that a planned call makes. ``key``: the call's; ``field``: the identifier's in the call's result."""

    noun: frozenset[str]
    key: str
    field: str


class ChosenRecords(NamedTuple):
    """The records that a text means. ``rest``: the text with blanks in place of the words that chose them.

    ``uninterpreted``: words that restrict the choice and could not be applied. ``listed``: the records of which they
    were chosen.
    """

    records: tuple[FactRecord, ...]
    rest: str
    uninterpreted: tuple[str, ...] = ()
    listed: tuple[FactRecord, ...] = ()


class SituationMemo:
    """A cache of what was computed from one situation's records and text."""

    def __init__(self) -> None:
        self.ranks: dict[tuple[str, str], int] = {}  # by the ref of the fact and the path of the record
        self.selections: dict[str, ChosenRecords] = {}
        self.subjects: list[FactRecord] | None = None
        self.held: dict[str, list[ArgumentCandidate]] = {}
        self.places: dict[str, list[tuple[FactRecord, str]]] | None = None
        self.places_by_own_id: dict[str, list[int]] | None = None  # places in the situation's records


class Situation(NamedTuple):
    """The planner's knowledge at one moment. ``made``: things that the plan so far creates. ``memo``: its cache.

    ``original``: the task as it was said; ``text``: the same in English, with kinds by their full names.
    """

    reading: TaskReading
    mentions: tuple[Mention, ...]
    facts: tuple[ToolFact, ...]
    records: tuple[FactRecord, ...]
    values: tuple[JsonObject, ...] = ()
    made: tuple[MadeEntity, ...] = ()
    routes: tuple[JsonObject, ...] = ()  # the ways of the process, by age
    memo: SituationMemo = SituationMemo()  # of a situation without records; every other one gets its own
    original: str = ""
    absent: tuple[str, ...] = ()  # identifiers that the task names and of which a read says that there is no such thing
    documents: tuple[str, ...] = ()  # the words, in lower case, by which the task asks for what somebody else writes
    terms: frozenset[str] = frozenset()  # the stems of the words by which tools are called and described
    choices: Mapping[frozenset[str], frozenset[str]] = MappingProxyType({})  # by noun, what tools say of such things
    today: date | None = None  # where the user is; None if the loop does not tell it
    named_in_full: tuple[str, ...] = ()  # kinds of which the task says the last word alone: ``expense claims``
    unclear: str = ""  # why nobody can say to which thing of an earlier request the task refers

    @property
    def text(self) -> str:
        return self.reading.text

    @property
    def text_without_conditions(self) -> str:
        """The task without the conditions of its actions: what one says of a thing is not said by the task."""
        text = self.text
        for intent in self.reading.actions:
            text = text.replace(intent.condition, " ") if intent.condition else text
        return text

    @property
    def is_translated(self) -> bool:
        return in_english(self.original) != self.original

    @property
    def stems(self) -> frozenset[str]:
        return text_stems(self.reading.text)

    def as_said(self, words: str) -> str:
        """The words with kinds as the task calls them: ``claims`` for ``expense claims``."""
        for full_name in self.named_in_full:
            words = words.replace(full_name, full_name.partition(" ")[2])
        return words

    def without_documents(self, question: str) -> str:
        """The question without the words for the documents that it asks for: ``write a report of K-1`` becomes ``of
        K-1``.
        """
        for words in self.documents:
            question = re.sub(re.escape(words), " ", question, flags=re.I)
        return question

    def of_kind(self, *kinds: MentionKind) -> list[Mention]:
        return [mention for mention in self.mentions if mention.kind in kinds]

    @property
    def identifiers(self) -> list[str]:
        """Those that the task names, in its order."""
        return [mention.value for mention in self.of_kind(MentionKind.ID)]


def observe_situation(request: Request, writers: Iterable[str] = ()) -> Situation:
    """The situation that the request shows. What the task refers to in earlier requests of its session is put in.

    ``writers``: the tools whose results are outcomes, not facts.
    """
    exchanges = read_exchanges(request.section("history"), request.task)
    before = [Exchange(in_english(one.asked), one.answer) for one in exchanges]
    follow_up = resolve_follow_up(in_english(request.task), before)
    text, named_in_full = _name_kinds_in_full(follow_up.text, request.tools)
    now = now_of(request)
    mentions = _with_spoken_days(find_mentions(text), text, now)
    facts = facts_of(request, writers)
    records = records_of(facts)
    documents = _documents_of(request)
    terms = _things_of(request)
    verbs = frozenset(words[0] for tool in request.tools if tool.name not in LOCAL and (words := parts(tool.name)))
    reading = _ask_for_documents(understand(text, terms, verbs), documents)
    values = (*map(_in_major_units, objects(request.section("values"))), *_calculated_values(request))
    return Situation(
        reading,
        mentions,
        facts,
        records,
        values,
        (),
        process_of(request).routes,
        SituationMemo(),
        request.task,
        _find_absent(request, mentions, writers, records),
        documents,
        terms,
        _choices_of(request),
        now.date() if now else None,
        named_in_full,
        follow_up.unclear,
    )


_WORDS_OF_OBJECT = 6  # the first words of a tool's description, in which it says what it is about
_MEASURES = stems("amount cost date day number price rate state total value".split())  # of a kind, and no kinds


def _name_kinds_in_full(text: str, tools: Sequence[ToolSpec]) -> tuple[str, tuple[str, ...]]:
    """The text with the full name of each kind of which it says the last word alone, where several tools use the full
    one of one kind alone: ``expense claims`` in place of ``claims``; and these names.

    A description may have but the word that the tool's name lacks: ``list_expenses`` with ``claims``.
    """
    nouns_of_tools = frozenset().union(*(nouns(tool.name) for tool in tools))
    first_words: dict[str, list[str]] = {}  # {the last word's stem: the word before it in each tool}
    for tool in tools:
        words = text_words(tool.description)
        described = [*parts(tool.name)[-1:], *words] if len(words) == 1 else words[:_WORDS_OF_OBJECT]
        for first, last in pairwise(described):
            if stem(first) in nouns(tool.name) and stem(last) not in nouns_of_tools | _MEASURES and last not in STOP:
                first_words.setdefault(stem(last), []).append(first.lower())
    said, named = text_stems(text), list[str]()
    for last, firsts in first_words.items():
        if last in said and len(firsts) > 1 and len(kinds := stems(firsts)) == 1 and said.isdisjoint(kinds):
            claimed = (
                rf"\bhow much (?:did|has|have) (?P<who>[^?,;]+?) {last}\w*(?=\W*$)"  # what somebody did, of the kind
            )
            text = re.sub(claimed, rf"how much are all {last}s of \g<who>", text, flags=re.I)
            for word in dict.fromkeys(word for word in text_words(text) if stem(word) == last):
                named.append(f"{min(firsts, key=len)} {word}")
                text = re.sub(rf"\b{word}\b(?! that\b)", named[-1], text)
    return text, tuple(named)


def _find_absent(
    request: Request, mentions: Iterable[Mention], writers: Iterable[str], records: Iterable[FactRecord]
) -> tuple[str, ...]:
    """The task's identifiers that some read was asked for and reported as absent, and that no record contains."""
    named = {mention.value for mention in mentions if mention.kind is MentionKind.ID}
    named = named.difference(*(record.values for record in records))
    others = {*writers, *LOCAL}
    reads = [(call, {*map(str, call.arguments.values())}) for call in request.calls if call.tool not in others]
    without = [asked for call, asked in reads if named & asked and _SAYS_ABSENT.search(dumps(call.result))]
    return tuple(dict.fromkeys(name for asked in without for name in named & asked))


def _with_spoken_days(mentions: tuple[Mention, ...], text: str, now: datetime | None) -> tuple[Mention, ...]:
    """The mentions with the days that are named without a year, whose numbers are no figures."""
    days = find_days_without_year(text, now) if now else []
    if not days:
        return mentions
    others = [mention for mention in mentions if not any(start <= mention.start < end for _, start, end in days)]
    named = [Mention(MentionKind.DATE, day.isoformat(), start, end) for day, start, end in days]
    return tuple(sorted((*others, *named), key=lambda mention: mention.start))


def _things_of(request: Request) -> frozenset[str]:
    """The stems of the words by which the tools on offer are called and described."""
    texts = (f"{' '.join((*parts(tool.name), *tool.properties))} {tool.description}" for tool in request.tools)
    return frozenset().union(*(text_stems(text.replace("_", " ")) for text in texts))


def _choices_of(request: Request) -> Mapping[frozenset[str], frozenset[str]]:
    """By the noun of a thing, the stems of the words by which its tools are called and described, and of those that
    their fields may hold.
    """
    choices: dict[frozenset[str], frozenset[str]] = {}
    for tool in request.tools:
        fields = frozenset().union(*(field_stems(name) for name in tool.properties if not is_identifier(name)))
        noun = nouns(tool.name) - fields or nouns(tool.name)
        said = [tool.description, *(f"{one.get('enum')} {one.get('description')}" for one in tool.properties.values())]
        own = text_stems(" ".join((*parts(tool.name), *said)).replace("_", " "))
        choices[noun] = choices.get(noun, frozenset()) | own
    return choices


def _documents_of(request: Request) -> tuple[str, ...]:
    listed = request.section("documents")
    return tuple(str(words).casefold() for words in listed if words) if isinstance(listed, list) else ()


def _ask_for_documents(reading: TaskReading, documents: Sequence[str]) -> TaskReading:
    """The reading in which to write a document is no action, where the request says who writes it: it asks instead."""
    mine = [intent for intent in reading.actions if any(words in intent.clause.casefold() for words in documents)]
    if not mine:
        return reading
    actions = tuple(intent for intent in reading.actions if intent not in mine)
    unnamed = tuple(intent for intent in reading.unnamed if intent not in mine)
    questions = (*reading.questions, *(intent.clause for intent in mine))
    return reading._replace(actions=actions, unnamed=unnamed, questions=questions)


def facts_of(request: Request, writers: Iterable[str]) -> tuple[ToolFact, ...]:
    """The results of successful reads, completed by the parts of long ones that ``look`` has shown."""
    facts = [
        ToolFact(str(item.get("ref")), str(item.get("tool")), as_object(item.get("arguments")), item.get("result"))
        for item in objects(request.section("facts"))
    ]
    others = {*writers, *LOCAL}
    read = [call for call in request.calls if call.tool not in others and not call.failed]
    return (*facts, *(ToolFact(call.ref, call.tool, call.arguments, whole_result(call, request)) for call in read))


def whole_result(call: Called, request: Request) -> Json:
    """The result of a read, with the further rows that ``look`` has shown: from the first on, or those passed over."""
    result = call.result
    for look in request.calls:
        if look.tool == LOOK and not look.failed and str(look.arguments.get("ref")) == call.ref:
            known, shown = rows_in(result), rows_in(look.result)
            result = _with_rows(result, [*known, *shown] if look.arguments.get("skip") == len(known) else shown)
    return result


def rows_in(result: Json) -> list[JsonObject]:
    """The rows of a result that is a list, or has one."""
    if isinstance(result, dict):
        return next((rows for value in result.values() if (rows := objects(value))), [])
    return objects(result)


def _with_rows(result: Json, rows: list[JsonObject]) -> Json:
    if isinstance(result, dict):
        return {name: (_with_rows(value, rows) if objects(value) else value) for name, value in result.items()}
    return [*rows] if isinstance(result, list) and len(rows) > len(result) else result


def _calculated_values(request: Request) -> list[JsonObject]:
    """The values that were worked out, each by its name."""
    values: list[JsonObject] = []
    for call in request.calls:
        if call.tool == CALCULATE and not call.failed and isinstance(call.result, dict | int | Decimal | str):
            told = as_object(call.result)
            name = str(told.get("name") or call.arguments.get("name"))
            value = str(told.get("value", call.result))
            values.append(_in_major_units({**told, "value": value, "name": name, "asked": call.key}))
    return values


def _in_major_units(value: JsonObject) -> JsonObject:
    amount = read_figure(value.get("value")) if value.get("unit") == "cents" else None
    return value if amount is None else {**value, "value": format(amount.scaleb(-2), "f"), "unit": ""}


def rank(record: FactRecord, situation: Situation) -> int:
    """How strongly a task speaks of a record: its identifiers, figures, names and words that stand in the text."""
    key = record.fact.ref, record.path
    if key not in situation.memo.ranks:
        situation.memo.ranks[key] = sum(_score_field(field, value, situation) for field, value in record.fields.items())
    return situation.memo.ranks[key]


def _score_field(field: str, value: Scalar, situation: Situation) -> int:
    if isinstance(value, bool):
        return 0
    is_state = isinstance(value, str) and value.isalpha() and value.islower()
    text = situation.text_without_conditions if is_state else situation.text
    if isinstance(value, str) and says(text, value):
        return 3 if any(mark.isdigit() for mark in value) else 2
    amount = read_figure(value)
    if amount is not None:
        shares = amount / 100 if MINOR.intersection(parts(field)) else amount
        return 2 if any(shares == mention.number for mention in situation.of_kind(MentionKind.MONEY)) else 0
    return _likeness_of(value, situation.text) if isinstance(value, str) and "@" not in value else 0


def says(text: str, value: str) -> bool:
    """Whether a text contains a value as a whole: an identifier, a name, a word that is more than filler."""
    if len(value) < 2 or value.lower() not in text.lower() or value.lower() in STOP:
        return False
    return re.search(rf"(?<![\w-]){re.escape(value)}(?![\w]|-\w)", text, re.I) is not None


def _likeness_of(value: str, text: str) -> int:
    words = _content_stems(value)
    shared = words & text_stems(text)
    return 1 if len(words) > 1 and (len(shared) >= 2 or 2 * len(shared) > len(words)) else 0


@lru_cache(maxsize=4_000)
def _content_stems(value: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text_words(value) if word not in STOP and len(word) > 2)


def places_of(value: str, situation: Situation) -> list[tuple[FactRecord, str]]:
    """Every record and field that hold a value, whatever its case."""
    if situation.memo.places is None:
        places: dict[str, list[tuple[FactRecord, str]]] = {}
        for record in situation.records:
            for field, field_value in record.fields.items():
                places.setdefault(str(field_value).lower(), []).append((record, field))
        situation.memo.places = places
    return situation.memo.places.get(value.lower(), [])


def best(records: Iterable[FactRecord], situation: Situation) -> list[FactRecord]:
    """The records that the task mentions most, one for each identifier; empty if it mentions none."""
    ranked = [(rank(record, situation), record) for record in records]
    top = max((score for score, _ in ranked), default=0)
    chosen: dict[object, FactRecord] = {}
    for score, record in ranked:
        if score == top and top > 0:
            chosen.setdefault(record.own_id or record.path, record)
    return list(chosen.values())


def group_by_noun(records: Iterable[FactRecord]) -> dict[frozenset[str], list[FactRecord]]:
    groups: dict[frozenset[str], list[FactRecord]] = {}
    for record in records:
        groups.setdefault(record.noun, []).append(record)
    return groups


def records_about(situation: Situation, noun: frozenset[str]) -> list[FactRecord]:
    """The records of one noun; a tool's ``noun list`` and a nested ``noun`` both count."""
    return [record for record in situation.records if noun & record.noun]


def list_records_meant(ids: Iterable[str], situation: Situation) -> list[FactRecord]:
    """The records of the things that have these identifiers."""
    places_by_own_id = situation.memo.places_by_own_id
    if places_by_own_id is None:
        places_by_own_id = situation.memo.places_by_own_id = {}
        for place, record in enumerate(situation.records):
            if record.own_id:
                places_by_own_id.setdefault(record.own_id, []).append(place)
    places = sorted(place for one in {*ids} for place in places_by_own_id.get(one, ()))
    return [situation.records[place] for place in places]


def list_records_judged(ids: Set[str], situation: Situation) -> list[FactRecord]:
    """The records of these things, those to which they refer, and those that refer to them."""
    meant = list_records_meant(ids, situation)
    own_ids = {record.own_id for record in meant if record.own_id}
    referred = {value for record in meant for value in record.values if value}
    others = [record for record in situation.records if record.own_id in referred or own_ids & record.values]
    return [*meant, *(record for record in others if record not in meant)]
