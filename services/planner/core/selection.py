"""Which records and which of their fields a text means, and the things that it calls by a proper name."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.planner.core.criteria import ReadCriteria, read_criteria
from services.planner.core.explained import unexplained_words
from services.planner.core.mentions import Mention, MentionKind, find, identifiers_in
from services.planner.core.phrases import TextSpan, drop_spans, find_exclusions
from services.planner.core.records import FactRecord, own_id
from services.planner.core.request import ToolSpec
from services.planner.core.situation import ChosenRecords, Situation
from services.planner.core.words import STOP, nouns, stem, text_stems, text_words


def matching_records(text: str, situation: Situation) -> list[FactRecord]:
    return [*select_records(text, situation).records]


def select_records(text: str, situation: Situation) -> ChosenRecords:
    """The listed records that a text speaks of, narrowed by the criteria it states; each thing once."""
    found = situation.memo.selections.get(text)
    if found is None:
        found = situation.memo.selections[text] = _select_uncached(text, situation)
    return found


def _select_uncached(text: str, situation: Situation) -> ChosenRecords:
    exclusions = find_exclusions(text)
    meant = drop_spans(text, exclusions)
    listed = _listed_of_kind(meant, situation)
    said = _use_shown_states(meant, listed)
    kinds: dict[frozenset[str], list[FactRecord]] = {}
    for record in listed:
        kinds.setdefault(record.noun, []).append(record)
    read = {kind: read_criteria(said, of_kind, _days_in(said, situation)) for kind, of_kind in kinds.items()}
    left_out = {kind: _read_exclusions(exclusions, of_kind, situation) for kind, of_kind in kinds.items()}
    first = next(iter(read.values()), ReadCriteria((), said))
    unread = (*first.unread, *(words for one in [*left_out.values()][:1] for words in one.unread))
    if _asks_for_unknown(said, listed):
        return ChosenRecords((), first.rest, unread)
    ids = _meant_ids(said, situation)
    kept = [
        record
        for record in listed
        if read[record.noun].fits(record) and _is_meant(record, ids) and not left_out[record.noun].leaves_out(record)
    ]
    return ChosenRecords(tuple(_drop_repeats(kept)), first.rest, unread)


def _listed_of_kind(text: str, situation: Situation) -> list[FactRecord]:
    said = text_stems(text)
    listed = [record for record in situation.records if record.in_list and record.noun & said]
    listed = [record for record in listed if record.noun <= said] or listed
    kind = _kind_meant(text, {record.noun for record in listed})
    listed = _of_the_list_named([record for record in listed if record.noun == kind] if kind else listed, said)
    return listed or [record for record in situation.records if record.in_list]


def _days_in(text: str, situation: Situation) -> list[Mention]:
    """The days that a text names, those without a year as well, where they stand in it."""
    own = [mention for mention in find(text) if mention.kind is MentionKind.DATE]
    taken = {mention.start for mention in own}
    for mention in situation.of_kind(MentionKind.DATE):
        written = situation.text[mention.start : mention.end]
        place = text.find(written)
        if place >= 0 and place not in taken:
            own.append(mention._replace(start=place, end=place + len(written)))
    return own


class _ReadExclusions(NamedTuple):
    """``ids``: identifiers that are left out; ``others``: criteria of what is."""

    ids: frozenset[str]
    others: tuple[ReadCriteria, ...]
    unread: tuple[str, ...]

    def leaves_out(self, record: FactRecord) -> bool:
        known = own_id(record)
        return bool(known and str(known[1]) in self.ids) or any(one.fits(record) for one in self.others)


def _read_exclusions(
    exclusions: Sequence[TextSpan], listed: Sequence[FactRecord], situation: Situation
) -> _ReadExclusions:
    named = [(span, identifiers_in(span.value)) for span in exclusions]
    others = [
        (span, read_criteria(span.value, listed, _days_in(span.value, situation))) for span, ids in named if not ids
    ]
    unread = [
        span.value for span, read in others if not read.criteria or read.unread or unexplained_words(read.rest, listed)
    ]
    known = tuple(read for span, read in others if span.value not in unread)
    return _ReadExclusions(frozenset(one for _, ids in named for one in ids), known, tuple(unread))


def _of_the_list_named(listed: Sequence[FactRecord], said: frozenset[str]) -> list[FactRecord]:
    """Without those of a list whose name says less of what is said than that of another list does."""
    told = {own for record in listed if (own := nouns(record.fact.tool)) <= said}
    return [record for record in listed if not any(nouns(record.fact.tool) < own for own in told)]


def _kind_meant(text: str, kinds: set[frozenset[str]]) -> frozenset[str] | None:
    """Of several kinds of things, the one that a text quantifies (``every open ...``), else the first plural."""
    words = text_words(text)
    for fits in (_is_quantified, _is_plural):
        for place in range(len(words)):
            last = {stem(word) for word in words[max(0, place - 2) : place + 1]}
            named = [kind for kind in kinds if stem(words[place]) in kind and kind <= last]
            if named and fits(words, place):
                return max(named, key=lambda kind: (len(kind), sorted(kind)))
    return None


def _is_quantified(words: list[str], place: int) -> bool:
    return bool({"every", "each", "all", "which", "any"}.intersection(words[max(0, place - 3) : place]))


def _is_plural(words: list[str], place: int) -> bool:
    return words[place].endswith("s") and not words[place].endswith("ss")


_SAME_STATE = (
    frozenset("open pending outstanding undecided waiting unresolved".split()),
    frozenset("cancelled canceled".split()),
)
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were)\s+(?:still |currently |now |already )?(?!there\b|here\b)(?P<state>[a-z]+)\s*(?:[?.,]|$)"
)


def _use_shown_states(text: str, listed: Sequence[FactRecord]) -> str:
    """The text with the word that the records have for a state of which it uses another: ``open`` for ``pending``."""
    shown = {value for record in listed for value in record.fields.values() if isinstance(value, str)}
    for words in _SAME_STATE:
        known = sorted(words & shown)
        for word in words - shown if len(known) == 1 else ():
            text = re.sub(rf"\b{word}\b", known[0], text, flags=re.I)
    return text


def _asks_for_unknown(text: str, listed: Sequence[FactRecord]) -> bool:
    """Whether a question asks for a state that no record shows and that no list was narrowed by: nothing fits."""
    match = _PREDICATE.search(text)
    if match is None or not listed:
        return False
    shown = {stem(str(value)) for record in listed for value in record.fields.values() if isinstance(value, str)}
    shown |= {stem(str(value)) for record in listed for value in record.fact.arguments.values()}
    return stem(match["state"]) not in shown


def unknown_state(text: str, listed: Sequence[FactRecord]) -> frozenset[str]:
    """The stem of the state that a question asks for and no record is in, where the records tell of states in words."""
    match = _PREDICATE.search(text)
    values = (value for record in listed for value in record.fields.values() if isinstance(value, str))
    tells = any(value.isalpha() and value.islower() for value in values)
    return frozenset((stem(match["state"]),)) if match and tells else frozenset()


def _drop_repeats(records: Sequence[FactRecord]) -> list[FactRecord]:
    unique: dict[str, FactRecord] = {}
    for record in records:
        known = own_id(record)
        unique.setdefault(f"{sorted(record.noun)} {known[1] if known else record.ref('')}", record)
    return list(unique.values())


class _Meant(NamedTuple):
    """Identifiers that a record has to agree with, and the columns that can hold them; ``owners``: one is enough."""

    named: list[str]
    owners: list[tuple[frozenset[str], str]]
    columns: dict[str, set[str]]


def _meant_ids(text: str, situation: Situation) -> _Meant:
    """The identifiers of the task that a text means, and those of the things that it calls by a proper name."""
    mentioned = [mention.value for mention in situation.of_kind(MentionKind.ID)]
    pointing = bool(re.search(r"\b(?:its|their)\b", text, re.I))
    named = [value for value in mentioned if value in text] or (mentioned if pointing else [])
    known = [(owner.noun, str(field[1])) for owner in named_owners(text, situation) if (field := own_id(owner))]
    shapes = {_shape(value) for value in (*named, *(value for _, value in known))}
    columns: dict[str, set[str]] = {shape: set() for shape in shapes}
    for record in situation.records if shapes else ():
        for name, held in record.fields.items():
            if isinstance(held, str) and (shape := _shape(held)) in columns:
                columns[shape].add(name)
    return _Meant(named, known, columns)


def _is_meant(record: FactRecord, meant: _Meant) -> bool:
    """Whether a record refers to each identifier that the text means, and to one of the owners, if it can."""
    held = {shape: _texts_of_shape(record, columns, shape) for shape, columns in meant.columns.items()}
    others = {value for noun, value in meant.owners if noun != record.noun}
    owned = not others or any(_agrees_in_shape(value, held) for value in others)
    return owned and all(_agrees_in_shape(value, held) for value in meant.named)


def _texts_of_shape(record: FactRecord, columns: set[str], shape: str) -> frozenset[str]:
    """What a record has of a shape in the columns that can hold such an identifier."""
    texts = (str(record.fields[name]) for name in columns if name in record.fields)
    return frozenset(text for text in texts if _shape(text) == shape)


def _agrees_in_shape(value: str, held: Mapping[str, frozenset[str]]) -> bool:
    alike = held[_shape(value)]
    return not alike or value in alike


@lru_cache(maxsize=20_000)
def _shape(value: str) -> str:
    return re.sub(r"\d+", "9", value)


_COMPARED = re.compile(
    r"\b(?:over|above|more than|greater than|exceed(?:s|ing)?|larger than|higher than|bigger than|at least|no less than"
    r"|minimum of|under|below|less than|smaller than|lower than|cheaper than|at most|no more than"
    r"|(?<!add )(?<!adds )(?<!sum )up to|within|not exceeding|maximum of)\b",
    re.I,
)


def before_comparison(text: str) -> str:
    """What a comparison speaks of: the text up to its ``under`` or ``at least``."""
    match = _COMPARED.search(text)
    return text[: match.start()] if match else text


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


def records_named(name: str, situation: Situation) -> list[FactRecord]:
    """The records of which one field is this very name."""
    return [record for record in situation.records if name.lower() in _texts(record)]


def named_owners(text: str, situation: Situation) -> list[FactRecord]:
    """The records that a text names so, and that have an identifier."""
    return [record for name in names_in(text) for record in records_named(name, situation) if own_id(record)]


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
