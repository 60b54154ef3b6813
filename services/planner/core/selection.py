"""Which records and which of their fields a text means."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache

from services.planner.core.mentions import Kind, find
from services.planner.core.named import owners
from services.planner.core.records import Record, number, own_id
from services.planner.core.situation import MINOR, Situation, names
from services.planner.core.words import ID_WORDS, STOP, field_stems, nouns, parts, stem, stems, text_stems, text_words

SUMS = stems(("amount", "total", "price", "cost", "value", "sum"))


def matching(text: str, situation: Situation) -> list[Record]:
    """The listed records that a text speaks of, narrowed by the criteria it states; each thing once."""
    said = text_stems(text)
    listed = [record for record in situation.records if record.in_list and record.noun & said]
    listed = [record for record in listed if record.noun <= said] or listed
    kind = _kind_meant(text, {record.noun for record in listed})
    listed = _of_the_list_named([record for record in listed if record.noun == kind] if kind else listed, said)
    if not listed:
        listed = [record for record in situation.records if record.in_list]
    if _asks_for_unknown(text, listed):
        return []
    kept = [record for record in listed if _fits(record, text, _of_its_kind(record, listed), situation)]
    return _once(kept)


def _of_the_list_named(listed: Sequence[Record], said: frozenset[str]) -> list[Record]:
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


_PREDICATE = re.compile(
    r"\b(?:is|are|was|were)\s+(?:still |currently |now |already )?(?!there\b|here\b)(?P<state>[a-z]+)\s*(?:[?.,]|$)"
)


def _asks_for_unknown(text: str, listed: Sequence[Record]) -> bool:
    """Whether a question asks for a state that no record shows and that no list was narrowed by: nothing fits."""
    match = _PREDICATE.search(text)
    if match is None or not listed:
        return False
    shown = {stem(str(value)) for record in listed for value in record.fields.values() if isinstance(value, str)}
    shown |= {stem(str(value)) for record in listed for value in record.fact.arguments.values()}
    return stem(match["state"]) not in shown


def _of_its_kind(record: Record, listed: Sequence[Record]) -> list[Record]:
    """What a criterion is read from: a word that stands in records of another kind says nothing about this one."""
    return [other for other in listed if other.noun == record.noun]


def _once(records: Sequence[Record]) -> list[Record]:
    unique: dict[str, Record] = {}
    for record in records:
        known = own_id(record)
        unique.setdefault(f"{sorted(record.noun)} {known[1] if known else record.ref('')}", record)
    return list(unique.values())


def _fits(record: Record, text: str, listed: Sequence[Record], situation: Situation) -> bool:
    """Whether a record agrees with every criterion: a value of some column that the text names, and its figures."""
    for column in {name for other in listed for name in other.fields}:
        values = {str(other.fields.get(column)) for other in listed}
        spoken = {value for value in values if _spoken(value, text)}
        if spoken and str(record.fields.get(column)) not in spoken:
            return False
    return compares(record, text) is not False and _known(record, text, situation)


def _spoken(value: str, text: str) -> bool:
    return (
        value.lower() not in STOP
        and not value.replace(".", "").isdigit()
        and (names(text, value) or (value.isalpha() and stem(value) in _participles(text)))
    )


def _participles(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"\b\w+(?:ed|ing)\b", text.lower()))


def _known(record: Record, text: str, situation: Situation) -> bool:
    """An identifier of the task that some record refers to must be this record's too, if its column can hold it."""
    mentioned = [mention.value for mention in situation.of_kind(Kind.ID)]
    pointing = bool(re.search(r"\b(?:its|their)\b", text, re.I))
    meant = [value for value in mentioned if value in text] or (mentioned if pointing else [])
    return all(_agrees(record, value, situation) for value in meant) and _is_owned(record, text, situation)


def _is_owned(record: Record, text: str, situation: Situation) -> bool:
    """Whether a record refers to one of the things that a text names by a proper name, if it can."""
    known = [own_id(owner) for owner in owners(text, situation) if owner.noun != record.noun]
    values = {str(field[1]) for field in known if field}
    return not values or any(_agrees(record, value, situation) for value in values)


def _agrees(record: Record, value: str, situation: Situation) -> bool:
    """Whether a record's columns that can hold an identifier of this shape hold this one, or there is none."""
    shape = _shape(value)
    columns = {name for other in situation.records for name, held in other.fields.items() if _shape(str(held)) == shape}
    alike = [held for name in columns if name in record.fields and _shape(held := str(record.fields[name])) == shape]
    return not alike or value in alike


@lru_cache(maxsize=20_000)
def _shape(value: str) -> str:
    return re.sub(r"\d+", "9", value)


_COMPARED: tuple[tuple[str, Callable[[Decimal, Decimal], bool]], ...] = (
    (r"(?:over|above|more than|greater than|exceed(?:s|ing)?|larger than|higher than|bigger than)", lambda a, b: a > b),
    (r"(?:at least|no less than|minimum of)", lambda a, b: a >= b),
    (r"(?:under|below|less than|smaller than|lower than|cheaper than)", lambda a, b: a < b),
    (
        r"(?:at most|no more than|(?<!add )(?<!adds )(?<!sum )up to|within|not exceeding|maximum of)",
        lambda a, b: a <= b,
    ),
)


def before_comparison(text: str) -> str:
    """What a comparison speaks of: the text up to its ``under`` or ``at least``."""
    places = [match.start() for words, _ in _COMPARED if (match := re.search(rf"\b{words}\b", text, re.I))]
    return text[: min(places)] if places else text


def compares(record: Record, text: str) -> bool | None:
    """Whether a record's amount satisfies a stated comparison; None if none is stated or it has no amount."""
    for words, holds in _COMPARED:
        match = re.search(rf"\b{words}\s+(?:than\s+)?(.{{1,24}})", text, re.I)
        mention = next((m for m in find(match[1]) if m.kind in (Kind.MONEY, Kind.NUMBER)), None) if match else None
        if match and mention and mention.start <= 2:
            field = amount_field(record, text[: match.start()])
            amount = scaled(record, field) if field else None
            return None if amount is None else holds(amount, mention.number)
    return None


def numeric_fields(record: Record) -> list[str]:
    skip = ID_WORDS | {"year", "version", "phone"}
    return [
        name
        for name, value in record.fields.items()
        if number(value) is not None
        and not skip.intersection(parts(name))
        and not re.fullmatch(r"\d{4}-\d\d-.*", str(value))
    ]


def amount_field(record: Record, text: str) -> str | None:
    """The figure of a record that a text means: the field with most of its words, else its amount, or its only one."""
    fields = numeric_fields(record)
    said = text_stems(text)
    scored = [(len(field_stems(name) & said), -len(field_stems(name) - said), name) for name in fields]
    top = max(scored, default=None, key=lambda item: item[:2])
    if top and top[0] > 0:
        return top[2]
    sums = [name for name in fields if field_stems(name) & SUMS]
    return sums[0] if sums else fields[0] if len(fields) == 1 else None


def scaled(record: Record, field: str) -> Decimal | None:
    """A field's figure in major units."""
    amount = number(record.fields[field])
    return amount / 100 if amount is not None and MINOR.intersection(parts(field)) else amount
