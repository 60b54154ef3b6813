"""The records in the facts: their names, their places, and the fields that say which record is meant."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from services.executor.core.figures.numbers import looks_like_id_text, number_bearing_tokens, read_figure
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import split_tool_name
from services.executor.core.tools.name_similarity import singular, words_of
from services.executor.core.tools.record_tree import (
    MISSING_ROWS_NOTE,
    NO_KEYS,
    RecordKeys,
    format_condition,
    is_id_name,
    is_keyed_table,
    own_id,
)
from services.executor.core.tools.schema_drift import ALIASES
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_MAKES = frozenset("create add register insert make new draft generate".split())
_OWN_NUMBERS = frozenset((word,) for word in "sku isbn vin".split())  # of things, not of others
_ARTICLES = frozenset("a an the all one".split())
_ENDS_NOUN = frozenset("by for of from in with to on at and".split())
_SAYS_NOTHING = frozenset(
    """data result results item items record records row rows entry entries value values list all details detail info
    information response content output object objects element elements full current single one total amount summary
    attribute field header body payload figure financial match hit candidate""".split()
)
_OF_THE_REQUEST = frozenset("status code http is ok success error version".split())
_ENDS_WELL = frozenset({"", "ok", "success", "succeeded"})
_OF_HTTP = range(100, 600)


class ParsedFact(Fact):
    """A fact whose result is parsed only once, so that its records are the very objects of the result."""

    @cached_property
    def result(self) -> Json:
        return loads(self.result_json)


@dataclass(frozen=True, eq=False)
class SeenRecord:
    """A record in a read's answer. ``path`` leads to it; ``rows`` to the list that it is a row of, if it is one."""

    fact: Fact
    path: str
    record: JsonObject
    names: tuple[tuple[str, ...], ...]  # what it is called, in words, the nearest first
    rows: str | None = None
    outer: "SeenRecord | None" = None  # the record that it stands in
    key: str | None = None  # under which it stands in a table keyed by id
    is_part: bool = False  # says more of the record that it stands in: its ``details``, its ``totals``

    @cached_property
    def id_field(self) -> str | None:
        """The field that identifies it: its ``id``, else its first field with an identifier's name; or None."""
        own = next((key for key in self.record if key.lower() == "id"), None)
        if own is not None and self.record[own] is not None:
            return own
        if self.key is not None or self.is_part:
            return None
        return next((key for key, value in self.record.items() if is_id_name(key) and _is_scalar(value)), None)

    @property
    def id(self) -> Json:
        if self.id_field:
            return self.record[self.id_field]
        return self.outer.id if self.is_part and self.outer and self.key is None else self.key

    @cached_property
    def identity(self) -> str:
        """A text that is the same each time the record was read."""
        head = self.names[0][-1] if self.names and self.names[0] else ""
        return f"{head} {dumps(self.id)}" if self.id is not None else dumps(self.record)

    @property
    def is_only_record(self) -> bool:
        """Whether it is the one record of its answer."""
        return self.outer is None and not self.is_row

    @cached_property
    def is_of_single_answer(self) -> bool:
        """Whether its answer is a single record, and this is that record or nested in it."""
        return self.outer.is_of_single_answer if self.outer else not self.is_row

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a list or a table, which may have fewer fields than the record itself."""
        return self.rows is not None or self.key is not None

    @property
    def is_fully_read(self) -> bool:
        return not self.fact.note.startswith(MISSING_ROWS_NOTE)

    def name_ends_in(self, kind: str) -> bool:
        """Whether the record's name ends in the kind: a ``purchase_order`` is an ``order``, an ``order_line`` not."""
        wanted = singular_words(kind)
        return any(name[-len(wanted) :] == wanted for name in self.names)

    def has_kind_in_name(self, kind: str) -> bool:
        """Whether the record's name contains the kind."""
        wanted = singular_words(kind)
        return any(name[place : place + len(wanted)] == wanted for name in self.names for place in range(len(name)))

    def find_field(self, names: Iterable[str]) -> str | None:
        """The record's name of the first of these fields for which it has a value: by name, then by the same words,
        then by alias.

        None if it has none, or its aliases have different values.
        """
        wanted = tuple(names)
        for name in wanted:
            if self.record.get(name) is not None:
                return name
        for ways in (*((name,) for name in wanted), *(field_aliases(name) for name in wanted)):
            if found := self._fields_with_names(ways):
                return found[0] if len({dumps(self.record[key]) for key in found}) == 1 else None
        return None

    def _fields_with_names(self, names: Iterable[str]) -> list[str]:
        """The fields with a value whose names have the words of one of these: ``totalAmount``, ``total_amount``."""
        wanted = {singular_words(name) for name in names}
        said = ((key, value) for key, value in self.record.items() if singular_words(key) in wanted)
        return [key for key, value in said if value is not None and _is_scalar(value)]


@lru_cache(maxsize=4096)
def singular_words(name: str) -> tuple[str, ...]:
    """The words of a name, in the singular: get, purchase, order for ``get_purchase_orders``."""
    return tuple(map(singular, words_of(name)))


def field_aliases(name: str) -> tuple[str, ...]:
    """The other names of a field, from its canonical name or an alias."""
    variants = sorted(ALIASES.get(name, frozenset()))
    return (*variants, *(canonical for canonical, known in ALIASES.items() if name in known))


def latest_reads(facts: Iterable[Fact]) -> list[Fact]:
    """The reads; of reads with the same arguments only the last."""
    return list({fact.call: fact for fact in facts}.values())


def find_records(facts: Iterable[Fact], keys: RecordKeys) -> tuple[SeenRecord, ...]:
    """Every record of every successful answer, outermost first. ``keys``: the key fields that the tenant declares."""
    answered = ((fact, (noun_of_tool(fact.tool, keys),)) for fact in latest_reads(facts) if fact.ok)
    return tuple(record for fact, names in answered for record in _walk_records(keys, fact, fact.result, "", names))


def _walk_records(
    keys: RecordKeys,
    fact: Fact,
    value: Json,
    path: str,
    names: tuple[tuple[str, ...], ...],
    rows: str | None = None,
    within: SeenRecord | None = None,
    key: str | None = None,
    is_part: bool = False,
) -> Iterator[SeenRecord]:
    if isinstance(value, list):
        ids = Counter(own for item in value if isinstance(item, dict) and isinstance(own := own_id(item), str))
        for place, item in enumerate(value):
            if isinstance(item, dict):
                yield from _walk_records(keys, fact, item, _row_path(item, ids, place, path), names, path, within)
        return
    if not isinstance(value, dict):
        return
    if is_keyed_table(value):
        for own, inner in value.items():
            yield from _walk_records(keys, fact, inner, f"{path}.{own}" if path else own, names, None, within, own)
        return
    here = within
    is_row = rows is not None or key is not None
    if any(map(_is_scalar, value.values())) and (is_row or not _is_envelope(value, names, keys)):
        called_so = names if is_part or key is not None else _add_name_from_id(value, names, keys)
        shown = () if within or is_row else keys.kind_shown_by(fact.tool)
        if shown and (not path or any(shown in (keys.kind_of(one), singular_words(one)[:-1]) for one in value)):
            called_so = (shown, *called_so)
        here = SeenRecord(fact, path, value, called_so, rows, within, key, is_part and own_id(value) is None)
        yield here
    for field, inner in value.items():
        if isinstance(inner, dict | list):
            noun = _expand_noun(singular_words(field), names, keys)
            plain = not noun or set(noun) <= _SAYS_NOTHING
            part = plain and here is not None and isinstance(inner, dict)
            there, called_so = f"{path}.{field}" if path else field, names if plain else (noun,)
            yield from _walk_records(keys, fact, inner, there, called_so, None, here, None, part)


def _expand_noun(noun: "Noun", names: Iterable["Noun"], keys: RecordKeys) -> "Noun":
    """The noun in the longer form that one of the names has: the ``invoice`` of a rent invoice is a rent invoice."""
    if any(noun == kind for _, kind in keys.kinds):
        return noun
    return next((name for name in names if are_same_kind(noun, name) and {*noun[:-1]} < {*name[:-1]}), noun)


def _row_path(row: JsonObject, ids: Mapping[str, int], place: int, path: str) -> str:
    """The path to a row, by its own id if that is unique: such a path stays valid when rows come or go."""
    own = own_id(row)
    if not isinstance(own, str) or ids[own] > 1:
        return f"{path}[{place}]"
    key = next(key for key in row if key.lower() == "id")
    return f"{path}[{format_condition(key, '=', own)}]"


def makes_record(tool: str) -> bool:
    """Whether the tool's verb makes a new record: ``create_claim``."""
    return split_tool_name(tool)[0] in _MAKES


def noun_of_tool(tool: str, keys: RecordKeys) -> tuple[str, ...]:
    """The words of a tool's name for what it is about: without the verb, and up to the first preposition.

    Trailing words such as ``item``, which say nothing, are dropped, unless they are a kind whose key is declared.
    """
    words = [*map(singular, split_tool_name(tool)[1:])]
    said = [*takewhile(lambda word: word not in _ENDS_NOUN, words)]
    if said[1:] and said[0] in _ARTICLES:
        said = said[1:]
    declared = {kind for _, kind in keys.kinds}
    while said and said[-1] in _SAYS_NOTHING and tuple(said) not in declared:
        said.pop()
    return tuple(said)


def _add_name_from_id(record: JsonObject, names: tuple["Noun", ...], keys: RecordKeys) -> tuple["Noun", ...]:
    """The record's names; without an ``id``, also a name from its first identifier: with an ``order_id``, an order. A
    record with a ``sku`` or a declared key before its ``supplier_id`` is no supplier.
    """
    if own_id(record) is not None:
        return names
    key = next((key for key in record if keys.is_id_or_key(key) or singular_words(key)[-1:] in _OWN_NUMBERS), "")
    return (*names, singular_words(key)[:-1]) if is_id_name(key) and len(singular_words(key)) > 1 else names


def _is_envelope(value: JsonObject, names: tuple[tuple[str, ...], ...], keys: RecordKeys) -> bool:
    """Whether an answer only wraps a list, or wraps one record beside fields about the request's status."""
    if any(map(keys.is_id_or_key, value)):
        return False
    if _wraps_record(value, keys):
        return True
    lists = [singular_words(key) for key, inner in value.items() if isinstance(inner, list)]
    return any(set(own) <= _SAYS_NOTHING or own[-1:] == name[-1:] for own in lists for name in names or ((),))


def _wraps_record(value: Json, keys: RecordKeys) -> bool:
    """Whether an object has only status fields of the request and one record, under a name that says nothing."""
    if not isinstance(value, dict):
        return False
    told = {key: inner for key, inner in value.items() if _is_scalar(inner)}
    if not all(
        set(singular_words(key)) <= _OF_THE_REQUEST and may_be_request_status(inner) for key, inner in told.items()
    ):
        return False
    held = [inner for key, inner in value.items() if key not in told]
    if len(held) != 1 or not all(set(singular_words(key)) <= _SAYS_NOTHING for key in value if key not in told):
        return False
    inner = held[0]
    return isinstance(inner, dict) and (any(map(keys.is_id_or_key, inner)) or _wraps_record(inner, keys))


def may_be_request_status(value: Json) -> bool:
    """Whether a value may be the status of a request: null, true or false, 0, an HTTP status, "ok"."""
    if isinstance(value, str):
        return value.casefold() in _ENDS_WELL
    return value is None or isinstance(value, bool) or value == 0 or value in _OF_HTTP


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


def is_named_in_task(record: SeenRecord, task: str) -> bool:
    """Whether the task names the record: by its id, its number or its name."""
    named = ((key, value) for key, value in record.record.items() if key == record.id_field or names_own_record(key))
    return any(isinstance(value, str) and value.strip() and occurs_in(value, task) for _, value in named)


def occurs_in(value: str, text: str) -> bool:
    """Whether the text contains these words or this identifier; a plain figure never counts."""
    wanted = value.strip()
    said, tokens = _folded_text_and_tokens(text)
    if wanted.casefold() not in said or read_figure(wanted) is not None:
        return False
    if " " not in wanted and any(mark.isdigit() for mark in wanted):
        return wanted.casefold() in tokens
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text, re.IGNORECASE) is not None


@lru_cache(maxsize=16)
def _folded_text_and_tokens(text: str) -> tuple[str, frozenset[str]]:
    """The text in lower case, and its words that have digits."""
    return text.casefold(), frozenset(token.casefold() for token in number_bearing_tokens(text))


def names_own_record(key: str) -> bool:
    """Whether a field names its own record, as ``code`` does, and not another one, as ``vendor_id`` does."""
    return key.lower() in ("name", "number", "code", "title") or key.lower().endswith(("_number", "_code", "_no"))


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the text contains the phrase as whole words, in the singular or the plural."""
    said, wanted = (" ".join(words_of(one)) for one in (text, phrase))
    return f" {wanted} " in f" {said} " or f" {wanted}s " in f" {said} "


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
COMMON_KINDS = frozenset(min(group) for group in _SAME_KIND)  # by their ``name_of_kind``
_MARKS = frozenset("no nr num number ref reference code key uuid guid".split())
_IDS = frozenset("id ids".split())
_ALWAYS_MARKS = frozenset("no nr ref reference uuid guid".split())
_NAMES = frozenset("name title email".split())
# What mostly names the request itself, and no record: ``tenant_id``, ``request_id``.
_REQUEST_WORDS = frozenset(
    "idempotency request correlation trace session nonce token message thread conversation tenant".split()
)
_ANY_RECORD = frozenset("record object target entity resource row element".split())
_DIGITS = re.compile(r"\d+")


class RecordReference(NamedTuple):
    """A value that may name a record. ``noun``: the kind that its field names, empty if none.

    ``is_id``: its field is an identifier by its name. ``must_exist``: it can hardly be anything but a record. ``key``:
    its field's name in comparable form, where the tenant declares it a key of that kind. ``by_kind``: its field is
    named after a kind with declared keys, and may hold the value of any of them.
    """

    noun: Noun
    text: str
    value: Json
    is_number: bool
    is_id: bool
    must_exist: bool
    key: str = ""
    by_kind: bool = False

    @property
    def looks_like_id(self) -> bool:
        return not self.is_number and looks_like_id_text(self.text)


def references_in(
    value: Json, about: Noun = (), keys: RecordKeys = NO_KEYS, of_tool: Noun = ()
) -> Iterator[RecordReference]:
    """Yields every value, at any depth, that may name a record. ``about``: the kind to which a plain ``id`` belongs;
    ``of_tool``: what the called tool is about, which may name a kind in more words.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _references_under(key, inner, about, keys, of_tool or about)
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item, about, keys, of_tool or about)


def reference_of(
    key: str, value: Json, about: Noun = (), keys: RecordKeys = NO_KEYS, of_tool: Noun = ()
) -> RecordReference | None:
    """The reference that one field is; None if its value cannot name a record."""
    told = (about, of_tool)
    text = comparable_id(value)
    if text is None:
        return None
    if declared := keys.kind_of(key):
        return RecordReference(
            declared, text, value, text.isdigit(), is_id=True, must_exist=True, key=keys.key_named(key)
        )
    is_number = text.isdigit()
    noun, last = singular_words(key), singular_words(key)[-1:]
    if not noun or describes_request(noun, keys):
        return None
    if is_id_name(key) or last[0] in _IDS:
        own = noun[:-1] if last[0] in _IDS else (*noun[:-1], noun[-1].removesuffix("id"))
        own = () if set(own) <= _ANY_RECORD else _expand_noun(own, told, keys)
        return RecordReference(own or about, text, value, is_number, True, must_exist=True)
    if last[0] in _MARKS:
        own = _expand_noun(noun[:-1], told, keys) or about
        plain = is_number or looks_like_id_text(text)
        sure = (
            plain and (last[0] in _ALWAYS_MARKS or are_same_kind(own, about)) and (noun[:-1] != () or last[0] != "code")
        )
        return RecordReference(own, text, value, is_number, True, must_exist=sure)
    if not is_number and looks_like_id_text(text) and any(noun == kind for _, kind in keys.kinds):
        return RecordReference(noun, text, value, is_number, is_id=True, must_exist=True, by_kind=True)
    sure = are_same_kind(noun, about) and (is_number or looks_like_id_text(text))
    return RecordReference(
        _expand_noun(noun, told, keys), text, value, is_number, last in _OWN_NUMBERS, must_exist=sure
    )


def may_describe_request(noun: Noun) -> bool:
    """Whether a field of these words usually describes the request itself, such as ``tenant_id``."""
    return noun[:1] != () and noun[0] in _REQUEST_WORDS


def describes_request(noun: Noun, keys: RecordKeys) -> bool:
    """Whether a field of these words describes the request itself, and names no record that a tool here reads."""
    return may_describe_request(noun) and not has_read_tool(noun[:1], keys)


def has_read_tool(noun: Noun, keys: RecordKeys, *, in_full: bool = False) -> bool:
    """Whether a tool here reads records of that name; ``in_full``: of exactly that name."""
    return (
        noun in _nouns_of_readers(keys.read_tools)
        if in_full
        else noun[-1:] in _last_noun_words_of_readers(keys.read_tools)
    )


@lru_cache(maxsize=64)
def _nouns_of_readers(readers: frozenset[str]) -> frozenset[Noun]:
    return frozenset(noun_of_tool(reader, NO_KEYS) for reader in readers) - {()}


@lru_cache(maxsize=64)
def _last_noun_words_of_readers(readers: frozenset[str]) -> frozenset[Noun]:
    return frozenset(noun[-1:] for noun in _nouns_of_readers(readers))


def comparable_id(value: Json) -> str | None:
    """A text or a whole number in the form in which ids are compared; None for other values."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip().casefold() or None


@lru_cache(maxsize=8_192)
def rank_as_own_name(key: str, kind: Noun) -> int | None:
    """How a field names its own record: 0 as an id, 1 as a number or reference, 2 as a name; None if it does not."""
    noun, last = singular_words(key), singular_words(key)[-1:]
    if noun in (("id",), ("uuid",), ("guid",)):
        return 0
    if not noun:
        return None
    if last == ("id",) or is_id_name(key):
        return 0 if are_same_kind(noun[:-1] or (noun[-1].removesuffix("id"),), kind) else None
    if last[0] in _MARKS:
        return 1 if not noun[:-1] or are_same_kind(noun[:-1], kind) else None
    if last[0] in _NAMES:
        return 2 if not noun[:-1] or are_same_kind(noun[:-1], kind) else None
    return 1 if are_same_kind(noun, kind) and noun[-1] == kind[-1] else None


def are_same_kind(one: Noun, other: Noun) -> bool:
    """Whether two nouns are of one kind: ``claim`` and ``expense_claim`` are, and so are ``claim`` and ``expense``."""
    return bool(one and other) and are_kind_synonyms(one[-1], other[-1])


def is_of_kind(noun: Noun, kind: Noun) -> bool:
    """Whether a noun is a declared kind with all its words: a ``line_item`` is no ``item``."""
    return are_same_kind(noun, kind) and noun[:-1] == kind[:-1]


def is_aspect_of(noun: Noun, kind: Noun) -> bool:
    """Whether ``kind`` is an aspect of the noun, as ``claim_status`` is one of ``claim``."""
    return bool(noun) and any(are_kind_synonyms(noun[-1], word) for word in kind)


def name_of_kind(noun: Noun) -> str:
    """One word for all nouns of a kind, the same for ``expense_claim`` and ``expense``; empty for no noun."""
    last = noun[-1] if noun else ""
    return next((min(group) for group in _SAME_KIND if last in group), last)


@lru_cache(maxsize=4_096)
def are_kind_synonyms(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _SAME_KIND)


def is_id_text(value: Json) -> bool:
    return isinstance(value, str) and looks_like_id_text(value)


def id_pattern_of(text: str) -> str:
    """The pattern that ids of one kind share, ``c-#`` for ``C-17``; empty for a plain number."""
    return _DIGITS.sub("#", text.casefold()) if looks_like_id_text(text) else ""


def _references_under(key: str, inner: Json, about: Noun, keys: RecordKeys, of_tool: Noun) -> Iterator[RecordReference]:
    if isinstance(inner, dict):
        noun = _expand_noun(singular_words(key), (of_tool,), keys)
        within = about if set(noun) <= _SAYS_NOTHING | _ANY_RECORD else noun
        for own in inner if is_keyed_table(inner) else ():
            yield RecordReference(within, own.strip().casefold(), own, own.isdigit(), is_id=True, must_exist=False)
        yield from references_in(inner, within, keys, of_tool)
    elif isinstance(inner, list):
        for item in inner:
            if isinstance(item, dict | list):
                yield from _references_under(key, item, about, keys, of_tool)
            elif found := reference_of(key, item, about, keys, of_tool):
                yield found
    elif found := reference_of(key, inner, about, keys, of_tool):
        # ``rooms: 5`` is a count of rooms, unless a room with that number was read
        yield found._replace(must_exist=False) if _is_count(key, inner, found) else found


def _is_count(key: str, value: Json, reference: RecordReference) -> bool:
    """Whether a whole number stands under a plural that no tenant declares a key."""
    last = words_of(key)[-1] if words_of(key) else ""
    return isinstance(value, int) and not (reference.is_id or reference.key) and singular(last) != last
