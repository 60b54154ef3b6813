"""Which records and fields a text means, and which proper names it uses."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.planner.core import languages
from services.planner.core.criteria import ReadCriteria, read_criteria
from services.planner.core.explained import unexplained_words
from services.planner.core.links import (
    Linked,
    LinkedKind,
    are_linked,
    find_linked_kinds,
    is_whole_list,
    leftover_words,
    list_linked,
)
from services.planner.core.mentions import Mention, MentionKind, find_of_kind, identifiers_in
from services.planner.core.phrases import TextSpan, drop_spans, find_exclusions
from services.planner.core.records import FactRecord
from services.planner.core.request import ToolSpec
from services.planner.core.situation import ChosenRecords, Situation, group_by_noun, list_records_meant, says
from services.planner.core.words import STOP, field_stems, nouns, stem, stems, text_stems, text_words


def select_records(text: str, situation: Situation) -> ChosenRecords:
    """The listed records that a text speaks of, narrowed by the criteria it states; each thing once."""
    selection = situation.memo.selections.get(text)
    if selection is None:
        selection = situation.memo.selections[text] = _select_uncached(text, situation)
    return selection


def _select_uncached(text: str, situation: Situation) -> ChosenRecords:
    exclusions = find_exclusions(text)
    kept_text = drop_spans(text, exclusions)
    listed = _listed_of_kind(kept_text, situation)
    normalised_text = _replace_states_by_shown_ones(kept_text, listed)
    links = _read_links(normalised_text, listed, situation)
    normalised_text = drop_spans(normalised_text, links.spans)
    kinds = group_by_noun(listed)
    read = {kind: _read_of(normalised_text, of_kind, situation) for kind, of_kind in kinds.items()}
    left_out = {kind: _read_exclusions(exclusions, of_kind, situation) for kind, of_kind in kinds.items()}
    first = next(iter(read.values()), ReadCriteria((), normalised_text))
    uninterpreted = (
        *links.uninterpreted,
        *first.uninterpreted,
        *_find_kinds_beside(first.rest, listed, situation),
        *(words for exclusions_read in [*left_out.values()][:1] for words in exclusions_read.uninterpreted),
    )
    if state := _asks_for_unknown(normalised_text, listed, situation):
        unheard = () if unknown_state(normalised_text, listed, situation) else (state,)
        return ChosenRecords((), first.rest, (*uninterpreted, *unheard), tuple(listed))
    ids = _meant_ids(normalised_text, situation)
    records = [record for record in listed if read[record.noun].fits(record) and _is_meant(record, ids)]
    records = [record for record in records if not left_out[record.noun].leaves_out(record)]
    unknown = [words for words, linked in links.linked if any(map(linked.is_unknown, records))]
    records = [record for record in records if all(linked.holds(record) for _, linked in links.linked)]
    return ChosenRecords(tuple(_drop_repeats(records)), first.rest, (*unknown, *uninterpreted), tuple(listed))


_JOINED_PATTERN = re.compile(
    r"\b(?P<first>(?:[a-z]+ )?[a-z]+s)(?: and|,| plus) (?:(?:all|the|our) )*(?P<second>(?:[a-z]+ )?[a-z]+s)\b", re.I
)


def _find_kinds_beside(text: str, listed: Sequence[FactRecord], situation: Situation) -> list[str]:
    """The words for things of a kind of which none is listed, beside those that are: the letters of ``parcels and
    letters``.
    """
    meant = frozenset().union(*(record.noun for record in listed))
    others = frozenset().union(*(record.noun for record in situation.records if record.in_list)) - meant
    pairs = [(match["first"], match["second"]) for match in _JOINED_PATTERN.finditer(text)] if others else []
    beside = [" ".join(pair) for pair in pairs if any(text_stems(words) & meant for words in pair)]
    return [word for words in beside for word in text_words(words) if stem(word) in others]


class _ReadLinks(NamedTuple):
    """What a text says of things to which the meant ones are linked. ``spans``: its words; ``linked``: each with its
    words.
    """

    spans: tuple[TextSpan, ...] = ()
    linked: tuple[tuple[str, Linked], ...] = ()
    uninterpreted: tuple[str, ...] = ()


def _read_links(text: str, listed: Sequence[FactRecord], situation: Situation) -> _ReadLinks:
    spans: list[TextSpan] = []
    linked: list[tuple[str, Linked]] = []
    uninterpreted: list[str] = []
    for whole_kind in find_linked_kinds(text, listed, situation):
        kind = _without_foreign_tail(whole_kind, text, listed, situation)
        others, words = list_linked(kind, situation), text[kind.start : kind.end].strip()
        read = _read_of(_text_about(kind, text), others, situation)
        left = leftover_words(read.rest, kind, others, situation.terms)
        is_linked = are_linked(kind, listed, others)
        if not (read.criteria or left or kind.is_held) or (kind.is_held and not is_linked):
            continue
        spans.append(TextSpan(kind.start, kind.end, words))
        is_either = _is_of_either(kind, text, listed, others)
        if left or read.uninterpreted or is_either or not is_linked:
            uninterpreted += left or read.uninterpreted or [words]
            continue
        fitting = [record for record in others if read.fits(record)]
        linked.append((words, Linked(kind, fitting, others, is_whole_list(kind, text, situation))))
    return _ReadLinks(tuple(spans), tuple(linked), tuple(uninterpreted))


def _text_about(kind: LinkedKind, text: str) -> str:
    """The text with blanks in place of all words but those about a kind."""
    return drop_spans(text, [TextSpan(0, kind.start, ""), TextSpan(kind.end, len(text), "")])


def _without_foreign_tail(
    kind: LinkedKind, text: str, listed: Sequence[FactRecord], situation: Situation
) -> LinkedKind:
    """The kind without the words behind its noun, where these choose of the listed things and of no linked ones."""
    tail = _text_about(kind._replace(start=kind.tail), text)
    is_of_listed = bool(read_criteria(tail, listed).criteria)
    is_of_linked = bool(read_criteria(tail, list_linked(kind, situation)).criteria)
    is_foreign = not is_of_linked and (is_of_listed or not kind.is_sure)
    return kind._replace(end=kind.tail) if is_foreign and not kind.is_held else kind


def _is_of_either(kind: LinkedKind, text: str, listed: Sequence[FactRecord], others: Sequence[FactRecord]) -> bool:
    """Whether the words behind a noun may choose of the listed things as well as of the linked ones."""
    tail = _text_about(kind._replace(start=kind.tail), text)
    return not kind.is_held and all(read_criteria(tail, records).criteria for records in (listed, others))


def _listed_of_kind(text: str, situation: Situation) -> list[FactRecord]:
    word_stems = text_stems(text)
    listed = [record for record in situation.records if record.in_list and record.noun & word_stems]
    listed = [record for record in listed if record.noun <= word_stems] or listed
    kind = _kind_meant(text, {record.noun for record in listed}, situation.terms)
    listed = _of_the_list_named([record for record in listed if record.noun == kind] if kind else listed, word_stems)
    return listed or [record for record in situation.records if record.in_list]


def _days_in(text: str, situation: Situation) -> list[Mention]:
    """The days that a text names, those without a year as well, where they stand in it."""
    own = find_of_kind(text, MentionKind.DATE)
    starts = {mention.start for mention in own}
    for mention in situation.of_kind(MentionKind.DATE):
        written = situation.text[mention.start : mention.end]
        place = text.find(written)
        if place >= 0 and place not in starts:
            own.append(mention._replace(start=place, end=place + len(written)))
    return own


class _ReadExclusions(NamedTuple):
    """What a text excludes. ``ids``: identifiers; ``others``: criteria; ``uninterpreted``: words that could not be
    applied.
    """

    ids: frozenset[str]
    others: tuple[ReadCriteria, ...]
    uninterpreted: tuple[str, ...]

    def leaves_out(self, record: FactRecord) -> bool:
        return record.own_id in self.ids or any(other.fits(record) for other in self.others)


def _read_exclusions(
    exclusions: Sequence[TextSpan], listed: Sequence[FactRecord], situation: Situation
) -> _ReadExclusions:
    named = [(span, identifiers_in(span.value)) for span in exclusions]
    others = [(span.value, _read_of(span.value, listed, situation)) for span, ids in named if not ids]
    uninterpreted = tuple(
        words
        for words, read in others
        if not read.criteria or read.uninterpreted or unexplained_words(read.rest, listed)
    )
    exclusions_read = tuple(read for words, read in others if words not in uninterpreted)
    return _ReadExclusions(frozenset(value for _, ids in named for value in ids), exclusions_read, uninterpreted)


def _read_of(text: str, records: Sequence[FactRecord], situation: Situation) -> ReadCriteria:
    """The criteria of a text over these records, with the days that it names."""
    return read_criteria(text, records, _days_in(text, situation), situation.today)


def _of_the_list_named(listed: Sequence[FactRecord], word_stems: frozenset[str]) -> list[FactRecord]:
    """Without those of a list whose name says less of what is said than that of another list does."""
    list_nouns = {own for record in listed if (own := nouns(record.fact.tool)) <= word_stems}
    return [record for record in listed if not any(nouns(record.fact.tool) < own for own in list_nouns)]


def _kind_meant(text: str, kinds: set[frozenset[str]], terms: frozenset[str]) -> frozenset[str] | None:
    """Of several kinds of things, the one that a text quantifies (``every open ...``), else the first plural, or None.

    ``terms``: the words by which tools call things, such as the second one of ``loan deals``.
    """
    words = text_words(text)
    places, other_terms = range(len(words)), terms - frozenset().union(*kinds)
    quantified = {at for at in places if not _QUANTIFIERS.isdisjoint(words[max(0, at - 3) : at])}
    plural = {at for at in places if words[at].endswith("s") and not words[at].endswith("ss")}
    for fitting in (quantified, plural):
        for at in places:
            named = [kind for kind in kinds if stem(words[at]) in kind <= stems(words[max(0, at - 2) : at + 1])]
            is_first_of_two = at + 1 in fitting and stem(words[at + 1]) in other_terms
            if named and (at in fitting or is_first_of_two):
                return max(named, key=lambda kind: (len(kind), sorted(kind)))
    return None


_QUANTIFIERS = frozenset({"every", "each", "all", "which", "any"})


_SAME_STATE = (
    frozenset("open pending outstanding undecided waiting unresolved".split()),
    frozenset("cancelled canceled".split()),
    frozenset("paid settled".split()),
)
NO_STATES = stems(languages.NO_STATES)
_PREDICATE_PATTERN = re.compile(
    r"\b(?:is|are|was|were)\s+(?:still |currently |now |already )?(?!there\b|here\b)(?P<state>[a-z]+)\s*(?:[?.,]|$)"
)


def are_same_state(state: str, other: str) -> bool:
    """Whether two words say the same of how a thing stands: ``open`` and ``pending``."""
    return state == other or any({state, other} <= words for words in _SAME_STATE)


def _replace_states_by_shown_ones(text: str, listed: Sequence[FactRecord]) -> str:
    """The text with the word that the records have for a state of which it uses another: ``open`` for ``pending``."""
    values = {value for record in listed for value in record.texts}
    for words in _SAME_STATE:
        known_states = sorted(words & values)
        for word in words - values if len(known_states) == 1 else ():
            text = re.sub(rf"\b{word}\b", known_states[0], text, flags=re.I)
    return text


def _asks_for_unknown(text: str, listed: Sequence[FactRecord], situation: Situation) -> str:
    """The state that a question asks for, if no record shows it and no list was narrowed by it: nothing fits."""
    match = _PREDICATE_PATTERN.search(text)
    if match is None or not listed or _is_no_state(match["state"], situation) or match["state"] in STOP:
        return ""
    is_shown = stem(match["state"]) in stems(word for one in listed for word in (*one.texts, *one.asked_by))
    return "" if is_shown else match["state"]


def unknown_state(text: str, listed: Sequence[FactRecord], situation: Situation) -> frozenset[str]:
    """The stem of the state that a question asks for and no record has, if the records' states are words, and a tool
    says that a thing may have it.
    """
    match = _PREDICATE_PATTERN.search(text)
    tells = any(value.isalpha() and value.islower() for record in listed for value in record.texts)
    is_known = match and any(stem(match["state"]) in situation.choices.get(record.noun, ()) for record in listed)
    is_state = match and tells and is_known and not _is_no_state(match["state"], situation)
    return frozenset((stem(match["state"]),)) if match and is_state else frozenset()


def _is_no_state(word: str, situation: Situation) -> bool:
    """Whether a word says what things are, as a noun in the plural does, or how they relate to a day or to others, or
    is of another language.
    """
    if situation.is_translated and says(situation.original, word):
        return True
    return stem(word) in NO_STATES or bool(re.search(r"[^sui]s$", word))


def _drop_repeats(records: Sequence[FactRecord]) -> list[FactRecord]:
    unique: dict[str, FactRecord] = {}
    for record in records:
        unique.setdefault(f"{sorted(record.noun)} {record.own_id or record.ref('')}", record)
    return list(unique.values())


class _Meant(NamedTuple):
    """Identifiers that a record has to refer to, by their shape: to one of each; and the ``owners``, of whom one is
    enough. ``columns``: where the rows of a tool can hold a shape.
    """

    named: dict[str, set[str]]
    owners: list[tuple[frozenset[str], str]]
    columns: dict[tuple[str, str], set[str]]
    addresses: dict[str, dict[str, str]]  # by identifier, see ``list_addresses``


def _meant_ids(text: str, situation: Situation) -> _Meant:
    """The identifiers of the task that a text means, and those of the things that it calls by a proper name."""
    mentioned = situation.identifiers
    pointing = bool(re.search(r"\b(?:its|their)\b", text, re.I))
    named: dict[str, set[str]] = {}
    for value in [value for value in mentioned if value in text] or (mentioned if pointing else []):
        named.setdefault(shape_of_id(value), set()).add(value)
    owner_ids = [(owner.noun, owner.own_id) for owner in named_owners(text, situation)]
    shapes = {*named, *(shape_of_id(value) for _, value in owner_ids)}
    columns: dict[tuple[str, str], set[str]] = {}
    for record in situation.records if shapes else ():
        for name, field_value in record.fields.items():
            if isinstance(field_value, str) and (shape := shape_of_id(field_value)) in shapes:
                columns.setdefault((record.fact.tool, shape), set()).add(name)
    values = (*(value for own in named.values() for value in own), *(value for _, value in owner_ids))
    return _Meant(named, owner_ids, columns, {value: list_addresses(value, situation) for value in values})


def list_addresses(value: str, situation: Situation) -> dict[str, str]:
    """The mail addresses of the thing with that identifier, by the columns in which other records refer to it by one:
    ``pilot_email`` for the ``email`` of a pilot.
    """
    addresses = {
        (record.noun, name): str(held)
        for record in list_records_meant((value,), situation)
        for name, held in record.fields.items()
        if find_of_kind(str(held), MentionKind.EMAIL)
    }
    if not addresses:
        return {}
    columns = {name for record in situation.records for name in record.fields if "@" in str(record.fields[name])}
    return {
        column: held
        for column in columns
        for (noun, name), held in addresses.items()
        if field_stems(column) == noun | field_stems(name)
    }


def _is_meant(record: FactRecord, meant_ids: _Meant) -> bool:
    """Whether a record refers to what the text identifies, and to one of the owners, where rows of its kind can."""
    others = {value for noun, value in meant_ids.owners if noun != record.noun}
    owned = not others or any(_refers_to_one({value}, record, meant_ids) for value in others)
    return owned and all(_refers_to_one(values, record, meant_ids) for values in meant_ids.named.values())


def _refers_to_one(values: set[str], record: FactRecord, meant_ids: _Meant) -> bool:
    """Whether a record has one of several identifiers of a shape, or was read by it, or its kind has no such column."""
    columns = meant_ids.columns.get((record.fact.tool, shape_of_id(next(iter(values)))), set())
    if columns:
        return not values.isdisjoint({str(record.fields.get(name)) for name in columns} | record.asked_by)
    pairs = [pair for value in values for pair in meant_ids.addresses[value].items() if pair[0] in record.fields]
    return not pairs or any(str(record.fields[name]).casefold() == held.casefold() for name, held in pairs)


@lru_cache(maxsize=20_000)
def shape_of_id(value: str) -> str:
    return re.sub(r"\d+", "9", value)


_COMPARED_PATTERN = re.compile(
    r"\b(?:over|above|more than|greater than|exceed(?:s|ing)?|larger than|higher than|bigger than|at least|no less than"
    r"|minimum of|under|below|less than|smaller than|lower than|cheaper than|at most|no more than"
    r"|(?<!add )(?<!adds )(?<!sum )up to|within|not exceeding|maximum of)\b",
    re.I,
)


def before_comparison(text: str) -> str:
    """The text up to its ``under`` or ``at least``: what the comparison is about."""
    match = _COMPARED_PATTERN.search(text)
    return text[: match.start()] if match else text


def is_compared(text: str, figure: Mention) -> bool:
    """Whether a text compares something with a figure: ``over 500``."""
    return any(0 <= figure.start - match.end() <= 1 for match in _COMPARED_PATTERN.finditer(text))


_FORMAT_WORDS = frozenset("json csv xml yaml html markdown".split())  # how an answer is to look, and nobody's name
_CURRENCY_WORDS = frozenset("usd eur gbp chf jpy cad aud sek nok dkk pln inr cny".split())
NAME = re.compile(r"\b[A-Z][\w&-]*(?:['’]s)?(?:\s+(?:[A-Z][\w&-]*))*")
_SUBJECT_PATTERN = re.compile(r"\s+(?:is|was|has|had|wants|needs)\b")


def names_in(text: str) -> list[str]:
    """The proper names of a text; what stands in quotation marks is no one's name."""
    for mention in find_of_kind(text, MentionKind.QUOTE):
        text = f"{text[: mention.start]}{'.' * (mention.end - mention.start)}{text[mention.end :]}"
    return proper_names(text)


def records_named(name: str, situation: Situation) -> list[FactRecord]:
    """The records of which one field equals that name."""
    return [record for record in situation.records if name.lower() in map(str.lower, record.texts)]


def named_owners(text: str, situation: Situation) -> list[FactRecord]:
    """The records whose proper name a text uses, and that have an identifier. A name of several words counts wherever
    it stands, also behind a capital letter that begins a sentence.
    """
    owners = [record for name in names_in(text) for record in records_named(name, situation) if record.own_id]
    with_name = [(record, str(record.fields.get("name", ""))) for record in situation.records if record.own_id]
    of_full_name = [record for record, name in with_name if " " in name and name in text]
    return [*owners, *(record for record in of_full_name if record not in owners)]


def unknown_names(situation: Situation, tools: Iterable[ToolSpec] = ()) -> list[str]:
    """The task's proper names that occur in no record, apart from words of tools' and records' own names."""
    known_words = frozenset().union(*(nouns(one.name) for one in tools), *(record.noun for record in situation.records))
    record_text = " ".join(text for record in situation.records for text in record.texts).lower()
    text = situation.text
    for told in (intent.clause.partition(" that ")[2] for intent in situation.reading.actions if intent.sends_message):
        text = text.replace(told, " ") if told else text  # what somebody is told need not be known
    names = [name for name in names_in(text) if name.lower() not in record_text]
    return [name for name in names if not stems(text_words(name)) <= known_words]


def proper_names(text: str) -> list[str]:
    """Capitalised names: two words or more, or one that does not begin a sentence."""
    names = []
    for match in NAME.finditer(text):
        words = [word for word in match[0].split() if word.lower() not in STOP | _FORMAT_WORDS | _CURRENCY_WORDS]
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?:;"
        words = words[1:] if begins and not _SUBJECT_PATTERN.match(text[match.end() :]) else words
        if words and not any(mark.isdigit() for mark in match[0]):
            names.append(re.sub(r"['’]s$", "", " ".join(words)))
    return names
