"""Which fields say which record is meant, and of what kind it is: by the field's name and by the look of its value."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.executor.core.figures.numbers import figure
from services.executor.core.figures.record_tree import names_a_record
from services.executor.core.records.called_records import words
from shared.domain.exact_json import Json

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAP = re.compile(r"[^a-z0-9]+")


def says(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words, in the singular or the plural."""
    plain, wanted = f" {_plain(text)} ", _plain(phrase)
    return f" {wanted} " in plain or f" {wanted}s " in plain


def _plain(text: str) -> str:
    return _GAP.sub(" ", _HUMP.sub(" ", text).lower()).strip()


Noun = tuple[str, ...]

# Words for one kind of thing: a claim that a server calls an expense is still the claim.
_SAME_KIND = tuple(
    frozenset(group.split())
    for group in (
        "claim expense reimbursement",
        "employee staff user person worker member colleague",
        "customer client",
        "order purchase po",
        "invoice bill",
        "vendor supplier",
        "transaction txn",
        "product item sku",
        "incident outage",
        "ticket issue",
        "appointment booking reservation",
    )
)
_MARKS = frozenset("no nr num number ref reference code key uuid guid".split())
_IDS = frozenset("id ids".split())
_ALWAYS_MARKS = frozenset("no nr ref reference uuid guid".split())
_NAMES = frozenset("name title email".split())
_NO_RECORDS = frozenset(
    "idempotency request correlation trace session nonce token message thread conversation tenant".split()
)
_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?")
_DIGITS = re.compile(r"\d+")


class RecordReference(NamedTuple):
    """A value that may tell which record is meant. ``noun``: the kind that its field names; empty where it names none.

    ``is_id``: its field is an identifier by its name. ``must_exist``: it cannot well be anything but a record.
    """

    noun: Noun
    text: str
    value: Json
    is_number: bool
    is_id: bool
    must_exist: bool

    @property
    def looks_like_id(self) -> bool:
        return not self.is_number and is_like_an_id(self.text)


def references_in(value: Json, about: Noun = ()) -> Iterator[RecordReference]:
    """Every value, however deep, that may tell a record. ``about``: the kind that a plain ``id`` is of."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _references_under(key, inner, about)
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item, about)


def reference_of(key: str, value: Json, about: Noun = ()) -> RecordReference | None:
    """What one field says; None for a value that tells no record, whatever its name."""
    text = as_id(value)
    if text is None:
        return None
    is_number = text.isdigit()
    noun, last = words(key), words(key)[-1:]
    if not noun or noun[0] in _NO_RECORDS:
        return None
    if names_a_record(key) or last[0] in _IDS:
        own = noun[:-1] if last[0] in _IDS else (*noun[:-1], noun[-1].removesuffix("id"))
        return RecordReference(own or about, text, value, is_number, True, must_exist=True)
    if last[0] in _MARKS:
        own = noun[:-1] or about
        plain = is_number or is_like_an_id(text)
        sure = plain and (last[0] in _ALWAYS_MARKS or agree(own, about)) and (noun[:-1] != () or last[0] != "code")
        return RecordReference(own, text, value, is_number, True, must_exist=sure)
    sure = agree(noun, about) and (is_number or is_like_an_id(text))
    return RecordReference(noun, text, value, is_number, False, must_exist=sure)


def as_id(value: Json) -> str | None:
    """A text or a whole number as the text that it is compared by."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip().casefold() or None


def rank_of(key: str, kind: Noun) -> int | None:
    """How a record's own field names it: 0 an id, 1 a number or reference, 2 a name; None: it names something else."""
    noun, last = words(key), words(key)[-1:]
    if noun in (("id",), ("uuid",), ("guid",)):
        return 0
    if not noun:
        return None
    if last == ("id",) or names_a_record(key):
        return 0 if agree(noun[:-1] or (noun[-1].removesuffix("id"),), kind) else None
    if last[0] in _MARKS:
        return 1 if not noun[:-1] or agree(noun[:-1], kind) else None
    if last[0] in _NAMES:
        return 2 if not noun[:-1] or agree(noun[:-1], kind) else None
    return 1 if agree(noun, kind) and noun[-1] == kind[-1] else None


def agree(one: Noun, other: Noun) -> bool:
    """Whether two nouns are of one kind: ``claim`` and ``expense_claim`` are, and ``claim`` and ``expense``."""
    return bool(one and other) and same_kind(one[-1], other[-1])


def speaks_of(noun: Noun, kind: Noun) -> bool:
    """Whether the kind is an aspect of the noun: a ``claim_status`` of the ``claim``."""
    return bool(noun) and any(same_kind(noun[-1], word) for word in kind)


def same_kind(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _SAME_KIND)


def is_like_an_id(text: str) -> bool:
    """A text such as ``C-1``: one word with a digit that is no figure and no date."""
    text = text.strip()
    if not text or " " in text or _DATE.fullmatch(text):
        return False
    return figure(text) is None and any(mark.isdigit() for mark in text)


def shape_of(text: str) -> str:
    """What ids of one kind have in common: ``c-#`` of ``C-17``; empty for a bare number."""
    return _DIGITS.sub("#", text.casefold()) if is_like_an_id(text) else ""


def _references_under(key: str, inner: Json, about: Noun) -> Iterator[RecordReference]:
    if isinstance(inner, dict):
        yield from references_in(inner, words(key) or about)
    elif isinstance(inner, list):
        for item in inner:
            yield from _references_under(key, item, about)
    elif found := reference_of(key, inner, about):
        yield found
