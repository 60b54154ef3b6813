"""Which record the subject of a condition means: the thing itself, one to which it refers, or one that is named."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.planner.core.mentions import identifiers_in
from services.planner.core.records import FactRecord, Scalar
from services.planner.core.relations import find_known
from services.planner.core.selection import names_in, records_named
from services.planner.core.situation import Situation
from services.planner.core.words import (
    are_related,
    concept,
    content_words,
    field_stems,
    is_identifier,
    parts,
    share_word,
    stem,
    stems,
    text_words,
)

_OF_PATTERN = re.compile(r"\s+of\s+", re.I)
_OWNS_PATTERN = re.compile(r"['’]s?\s+(?=\S)", re.I)
_ITS_PATTERN = re.compile(r"(?:its|their|his|her|whose)\b", re.I)
_BY = frozenset({"by", "to"})


class MeantRecord(NamedTuple):
    """A record, and those of its fields that are meant; all of them if there are none."""

    record: FactRecord
    fields: tuple[str, ...] = ()

    @property
    def told(self) -> list[tuple[str, Scalar]]:
        """The names and values of the fields that are meant."""
        return [(name, value) for name, value in self.record.fields.items() if not self.fields or name in self.fields]


def find_meant(subject: str, owners: Sequence[FactRecord], situation: Situation) -> tuple[MeantRecord, ...]:
    """What a subject such as ``its vendor``, ``the owner of K-1`` or ``the state of the claim`` means; empty if that is
    not known.

    ``owners``: the records of which ``it`` and ``its`` speak.
    """
    segments = [part for text in _OF_PATTERN.split(subject)[::-1] for part in _OWNS_PATTERN.split(text)]
    first, *further = segments
    meant, rest = _find_first_records(first, owners, situation)
    steps = [*([rest] if rest else []), *map(content_words, further)]
    if not all(steps):
        return ()
    for place, words in enumerate(steps):
        is_plain = place == 0 and bool(rest) and not _ITS_PATTERN.match(first.strip())  # "the crate" may be itself
        taken = [step for one in meant if (step := _step_from(one, words, situation, may_be_itself=is_plain))]
        meant = tuple(taken) or (_find_only(words, situation) if is_plain else ())
    return meant


def _find_first_records(
    text: str, owners: Sequence[FactRecord], situation: Situation
) -> tuple[tuple[MeantRecord, ...], tuple[str, ...]]:
    """The records from which the steps begin, and the words of the first step."""
    if ids := identifiers_in(text):
        record = find_known(ids[0], situation) if len(ids) == 1 else None
        return ((MeantRecord(record),) if record else ()), ()
    for name in names_in(f"that {text}"):
        named = {record.own_id: record for record in records_named(name, situation) if record.own_id}
        left = content_words(text.replace(name, " "))
        if named:
            is_one = len(named) == 1 and all(share_word((stem(one),), next(iter(named.values())).noun) for one in left)
            return (tuple(MeantRecord(record) for record in named.values()) if is_one else ()), ()
    return tuple(MeantRecord(record) for record in owners), content_words(text)


def _step_from(
    meant: MeantRecord, words: tuple[str, ...], situation: Situation, *, may_be_itself: bool
) -> MeantRecord | None:
    """The record to which a record refers by these words, itself where they are what it is, or its fields of them.

    None if it has none of these, or if the words name several records, or a field that has no further step.
    """
    record = meant.record
    if meant.fields:
        return None
    others = [name for name in record.fields if name != record.own_field]
    links = [one for one in others if _refers_to_another(one) and _names_all(words, concept(one, frozenset()) - _BY)]
    if links:
        targets = {str(record.fields[name]) for name in links}
        target = find_known(targets.pop(), situation) if len(targets) == 1 else None
        return MeantRecord(target) if target else None
    if may_be_itself and all(share_word((stem(word),), record.noun) for word in words):
        return MeantRecord(record)
    named = [one for one in others if all(share_word((stem(word),), field_stems(one) | record.noun) for word in words)]
    exact = [name for name in named if field_stems(name) <= stems(words) | record.noun]
    return MeantRecord(record, tuple(exact or named)) if named else _referring(record, words, situation)


def _refers_to_another(name: str) -> bool:
    return is_identifier(name) or parts(name)[-1:] == ("by",)


def _names_all(words: Iterable[str], own: frozenset[str]) -> bool:
    """Whether words are those of a name, each a form of one of it."""
    said = [*words]
    return (
        bool(own)
        and all(share_word((stem(word),), own) for word in said)
        and all(any(are_related(stem(word), part) for word in said) for part in own)
    )


def _referring(record: FactRecord, words: tuple[str, ...], situation: Situation) -> MeantRecord | None:
    """The only known record of such a kind that refers to this one; None if there is none or several."""
    own = "" if _is_plural(words) else record.own_id
    return _only_one(
        other
        for other in situation.records
        if own
        and other.noun == stems(words)
        and any(str(value) == own for name, value in other.fields.items() if is_identifier(name))
    )


def _find_only(words: tuple[str, ...], situation: Situation) -> tuple[MeantRecord, ...]:
    """The only known record of the kind that words name, and of which they say nothing that it does not."""
    said = frozenset[str]() if _is_plural(words) else stems(words)
    fitting = [record for record in situation.records if record.noun and record.noun <= said]
    told = [(one, {word for text in one.texts for word in text_words(text)}) for one in fitting]
    meant = _only_one(
        one for one, own in told if all(share_word((stem(word),), one.noun) or word in own for word in words)
    )
    return (meant,) if meant else ()


def _is_plural(words: Sequence[str]) -> bool:
    return words[-1].endswith("s") and not words[-1].endswith(("ss", "us", "is"))


def _only_one(records: Iterable[FactRecord]) -> MeantRecord | None:
    by_id: dict[str, FactRecord] = {}
    for record in records:
        key = record.own_id or record.ref("")
        by_id[key] = record if key not in by_id or by_id[key].in_list else by_id[key]
    return MeantRecord(next(iter(by_id.values()))) if len(by_id) == 1 else None
