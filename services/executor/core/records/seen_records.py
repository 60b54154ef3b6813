"""The records in the facts: their names, their places, and the fields that say which record is meant."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from services.executor.core.figures.numbers import find_tokens_with_digits, looks_like_id_text, read_figure
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import split_tool_name
from services.executor.core.tools.name_similarity import singular, words_of
from services.executor.core.tools.record_tree import (
    MISSING_ROWS_NOTE,
    NO_RECORD_KEYS,
    RecordKeys,
    format_condition,
    get_own_id,
    is_id_name,
    is_keyed_table,
)
from services.executor.core.tools.schema_drift import COLUMN_ALIASES
from shared.domain.exact_json import Json, JsonObject, dumps, loads

_VERBS_OF_MAKING = frozenset("create add register insert make new draft generate".split())
_NOUNS_FOR_PRODUCT_NUMBERS = frozenset((word,) for word in "sku isbn vin".split())  # of things, not of others
_ARTICLES = frozenset("a an the all one".split())
_WORDS_AFTER_NOUN = frozenset("by for of from in with to on at and".split())
_EMPTY_WORDS = frozenset(
    """data result results item items record records row rows entry entries value values list all details detail info
    information response content output object objects element elements full current single one total amount summary
    attribute field header body payload figure financial match hit candidate""".split()
)
_STATUS_WORDS = frozenset("status code http is ok success error version".split())
_WORDS_OF_SUCCESS = frozenset({"", "ok", "success", "succeeded"})
_HTTP_STATUSES = range(100, 600)


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
        """The field that identifies the record: ``id``, else the first with an identifier's name; or None."""
        id_name = next((key for key in self.record if key.lower() == "id"), None)
        if id_name is not None and self.record[id_name] is not None:
            return id_name
        if self.key is not None or self.is_part:
            return None
        return next((key for key, value in self.record.items() if is_id_name(key) and _is_scalar(value)), None)

    @property
    def id(self) -> Json:
        """The record's id; without one, of a part the outer record's, of an entry of a table its key; else None."""
        if self.id_field:
            return self.record[self.id_field]
        return self.outer.id if self.is_part and self.outer and self.key is None else self.key

    @cached_property
    def identity(self) -> str:
        """A text that is the same each time the record was read; its JSON, if it has no id."""
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
    def is_of_complete_list(self) -> bool:
        return not self.fact.note.startswith(MISSING_ROWS_NOTE)

    def has_name_ending_in(self, kind: str) -> bool:
        """Whether the record's name ends in the kind: a ``purchase_order`` is an ``order``, an ``order_line`` not."""
        kind_words = singular_words(kind)
        return any(name[-len(kind_words) :] == kind_words for name in self.names)

    def has_kind_in_name(self, kind: str) -> bool:
        kind_words = singular_words(kind)
        size = len(kind_words)
        return any(name[start : start + size] == kind_words for name in self.names for start in range(len(name)))

    def find_field(self, names: Iterable[str]) -> str | None:
        """The record's own name of one of these fields that has a value there: the first exact name; else the first in
        the same words (``totalAmount`` for ``total_amount``); else the first by an alias. None if it has none, or if
        the fields that match so have different values.
        """
        names_in_order = tuple(names)
        for name in names_in_order:
            if self.record.get(name) is not None:
                return name
        for spellings in (*((name,) for name in names_in_order), *(field_aliases(name) for name in names_in_order)):
            if fields := self._fields_with_names(spellings):
                return fields[0] if len({dumps(self.record[key]) for key in fields}) == 1 else None
        return None

    def _fields_with_names(self, names: Iterable[str]) -> list[str]:
        """The fields with a value whose names have the words of one of these: ``totalAmount``, ``total_amount``."""
        spellings = {singular_words(name) for name in names}
        fields = ((key, value) for key, value in self.record.items() if singular_words(key) in spellings)
        return [key for key, value in fields if value is not None and _is_scalar(value)]


@lru_cache(maxsize=4096)
def singular_words(name: str) -> tuple[str, ...]:
    """The words of a name, in the singular: get, purchase, order for ``get_purchase_orders``."""
    return tuple(map(singular, words_of(name)))


def field_aliases(name: str) -> tuple[str, ...]:
    """The other names of a field, from its canonical name or an alias."""
    variants = sorted(COLUMN_ALIASES.get(name, frozenset()))
    return (*variants, *(canonical for canonical, aliases in COLUMN_ALIASES.items() if name in aliases))


def keep_latest_reads(facts: Iterable[Fact]) -> list[Fact]:
    """The reads; of reads of one tool with the same arguments only the last."""
    return list({fact.call: fact for fact in facts}.values())


def find_records(facts: Iterable[Fact], keys: RecordKeys) -> tuple[SeenRecord, ...]:
    """Every record of every successful answer, outermost first. ``keys``: the key fields that the tenant declares."""
    records: list[SeenRecord] = []
    for fact in keep_latest_reads(facts):
        if fact.ok:
            records += _walk_records(keys, fact, fact.result, "", (noun_of_tool(fact.tool, keys),))
    return tuple(records)


def _walk_records(
    keys: RecordKeys,
    fact: Fact,
    value: Json,
    path: str,
    names: tuple[tuple[str, ...], ...],
    rows: str | None = None,
    outer: SeenRecord | None = None,
    key: str | None = None,
    is_part: bool = False,
) -> Iterator[SeenRecord]:
    """Yields the record that ``value`` is, then those in it; of a list, a table keyed by id or an envelope only the
    latter. ``path`` leads to ``value``. ``names``: the kinds that it may be called by, as words, the nearest first.
    """
    if isinstance(value, list):
        ids = Counter(row_id for row in value if isinstance(row, dict) and isinstance(row_id := get_own_id(row), str))
        for index, row in enumerate(value):
            if isinstance(row, dict):
                yield from _walk_records(keys, fact, row, _row_path(row, ids, index, path), names, path, outer)
        return
    if not isinstance(value, dict):
        return
    if is_keyed_table(value):
        for row_id, row in value.items():
            row_path = f"{path}.{row_id}" if path else row_id
            yield from _walk_records(keys, fact, row, row_path, names, None, outer, row_id)
        return
    record = outer
    is_row = rows is not None or key is not None
    if any(map(_is_scalar, value.values())) and (is_row or not _is_envelope(value, names, keys)):
        record_names = names if is_part or key is not None else _add_name_from_id(value, names, keys)
        shown_kind = () if outer or is_row else keys.kind_shown_by(fact.tool)
        kinds = {kind for field in value for kind in (keys.kind_of(field), singular_words(field)[:-1])}
        if shown_kind and (not path or shown_kind in kinds):
            record_names = (shown_kind, *record_names)
        record = SeenRecord(fact, path, value, record_names, rows, outer, key, is_part and get_own_id(value) is None)
        yield record
    for field, inner in value.items():
        if isinstance(inner, dict | list):
            noun = _expand_noun(singular_words(field), names, keys)
            is_unnamed = set(noun) <= _EMPTY_WORDS
            is_inner_part = is_unnamed and record is not None and isinstance(inner, dict)
            inner_path = f"{path}.{field}" if path else field
            inner_names = names if is_unnamed else (noun,)
            yield from _walk_records(keys, fact, inner, inner_path, inner_names, None, record, None, is_inner_part)


def _expand_noun(noun: "Noun", names: Iterable["Noun"], keys: RecordKeys) -> "Noun":
    """The noun, or its longer form in ``names``: the ``invoice`` of a rent invoice is a rent invoice."""
    if any(noun == kind for _, kind in keys.kinds):
        return noun
    return next((name for name in names if are_same_kind(noun, name) and {*noun[:-1]} < {*name[:-1]}), noun)


def _row_path(row: JsonObject, id_counts: Mapping[str, int], index: int, path: str) -> str:
    """The path to a row, by its own id if that is unique: such a path stays valid when rows come or go."""
    row_id = get_own_id(row)
    if not isinstance(row_id, str) or id_counts[row_id] > 1:
        return f"{path}[{index}]"
    key = next(key for key in row if key.lower() == "id")
    return f"{path}[{format_condition(key, '=', row_id)}]"


def makes_record(tool: str) -> bool:
    """Whether the tool's verb makes a new record: ``create_claim``."""
    return split_tool_name(tool)[0] in _VERBS_OF_MAKING


def noun_of_tool(tool: str, keys: RecordKeys) -> tuple[str, ...]:
    """The words of a tool's name for what it is about: without the verb, and up to the first preposition.

    Trailing words such as ``item``, which say nothing, are dropped, unless they are a kind whose key is declared.
    """
    words = [*map(singular, split_tool_name(tool)[1:])]
    noun_words = [*takewhile(lambda word: word not in _WORDS_AFTER_NOUN, words)]
    if noun_words[1:] and noun_words[0] in _ARTICLES:
        noun_words = noun_words[1:]
    declared_kinds = {kind for _, kind in keys.kinds}
    while noun_words and noun_words[-1] in _EMPTY_WORDS and tuple(noun_words) not in declared_kinds:
        noun_words.pop()
    return tuple(noun_words)


def _add_name_from_id(record: JsonObject, names: tuple["Noun", ...], keys: RecordKeys) -> tuple["Noun", ...]:
    """The record's names; without an ``id``, also a name from its first identifier: with an ``order_id``, an order.

    A record with a ``sku`` or a declared key before its ``supplier_id`` is no supplier.
    """
    if get_own_id(record) is not None:
        return names
    key = next(
        (key for key in record if keys.is_id_or_key(key) or singular_words(key)[-1:] in _NOUNS_FOR_PRODUCT_NUMBERS), ""
    )
    return (*names, singular_words(key)[:-1]) if is_id_name(key) and len(singular_words(key)) > 1 else names


def _is_envelope(value: JsonObject, names: tuple[tuple[str, ...], ...], keys: RecordKeys) -> bool:
    """Whether an answer only wraps a list, or wraps one record beside fields about the request's status."""
    if any(map(keys.is_id_or_key, value)):
        return False
    if _wraps_record(value, keys):
        return True
    list_names = [singular_words(key) for key, inner in value.items() if isinstance(inner, list)]
    last_words = {name[-1:] for name in names} or {()}
    return any(set(list_name) <= _EMPTY_WORDS or list_name[-1:] in last_words for list_name in list_names)


def _wraps_record(value: Json, keys: RecordKeys) -> bool:
    """Whether an object has only status fields of the request and one record, under a name that says nothing."""
    if not isinstance(value, dict):
        return False
    status_fields = {key: inner for key, inner in value.items() if _is_scalar(inner)}
    for key, status in status_fields.items():
        if not set(singular_words(key)) <= _STATUS_WORDS or not may_be_request_status(status):
            return False
    inner_fields = [(key, inner) for key, inner in value.items() if key not in status_fields]
    if len(inner_fields) != 1 or not set(singular_words(inner_fields[0][0])) <= _EMPTY_WORDS:
        return False
    inner = inner_fields[0][1]
    return isinstance(inner, dict) and (any(map(keys.is_id_or_key, inner)) or _wraps_record(inner, keys))


def may_be_request_status(value: Json) -> bool:
    """Whether a value may be the status of a request: null, true or false, 0, an HTTP status, "ok"."""
    if isinstance(value, str):
        return value.casefold() in _WORDS_OF_SUCCESS
    return value is None or isinstance(value, bool) or value == 0 or value in _HTTP_STATUSES


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, dict | list)


def is_named_in_task(record: SeenRecord, task: str) -> bool:
    """Whether the task names the record: by its id, its number or its name."""
    names = (value for key, value in record.record.items() if key == record.id_field or names_own_record(key))
    return any(isinstance(name, str) and name.strip() and is_name_in_text(name, task) for name in names)


def is_name_in_text(value: str, text: str) -> bool:
    """Whether the text has the name of a record: these words, or this identifier; a plain figure is none."""
    phrase = value.strip()
    folded_text, tokens = _folded_text_and_tokens(text)
    if phrase.casefold() not in folded_text or read_figure(phrase) is not None:
        return False
    if " " not in phrase and any(character.isdigit() for character in phrase):
        return phrase.casefold() in tokens
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None


@lru_cache(maxsize=16)
def _folded_text_and_tokens(text: str) -> tuple[str, frozenset[str]]:
    """The text in lower case, and its words that have digits."""
    return text.casefold(), frozenset(token.casefold() for token in find_tokens_with_digits(text))


def names_own_record(key: str) -> bool:
    """Whether a field names its own record, as ``code`` does, and not another one, as ``vendor_id`` does."""
    return key.lower() in ("name", "number", "code", "title") or key.lower().endswith(("_number", "_code", "_no"))


def contains_phrase(text: str, phrase: str) -> bool:
    """Whether the text contains the phrase as whole words, in the singular or the plural."""
    text_words, phrase_words = (" ".join(words_of(text_or_phrase)) for text_or_phrase in (text, phrase))
    return f" {phrase_words} " in f" {text_words} " or f" {phrase_words}s " in f" {text_words} "


Noun = tuple[str, ...]
# Words for one kind of thing: a claim that a server calls an expense is still the claim.
_KIND_SYNONYMS = tuple(
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
COMMON_KINDS = frozenset(min(group) for group in _KIND_SYNONYMS)  # by their ``name_of_kind``
_WORDS_FOR_NUMBER = frozenset("no nr num number ref reference code key uuid guid".split())
_ID_WORDS = frozenset("id ids".split())
_WORDS_FOR_REFERENCE = frozenset("no nr ref reference uuid guid".split())
_WORDS_FOR_NAME = frozenset("name title email".split())
# What mostly names the request itself, and no record: ``tenant_id``, ``request_id``.
_REQUEST_WORDS = frozenset(
    "idempotency request correlation trace session nonce token message thread conversation tenant".split()
)
_WORDS_FOR_ANY_RECORD = frozenset("record object target entity resource row element".split())
_DIGITS_PATTERN = re.compile(r"\d+")


class RecordReference(NamedTuple):
    """A value that may name a record. ``text``: the value in comparable form; ``noun``: the kind that its field names,
    else that of the record around it, else empty. ``is_id``: its field is an identifier by its name. ``must_exist``: it
    can hardly be anything but a record. ``key``: its field's name in comparable form, where the tenant declares it a
    key of that kind, else empty. ``may_hold_any_key``: its field is named after a kind with declared keys, and may hold
    the value of any of them.
    """

    noun: Noun
    text: str
    value: Json
    is_number: bool
    is_id: bool
    must_exist: bool
    key: str = ""
    may_hold_any_key: bool = False

    @property
    def looks_like_id(self) -> bool:
        return not self.is_number and looks_like_id_text(self.text)


def references_in(
    fields: JsonObject, kind: Noun = (), keys: RecordKeys = NO_RECORD_KEYS, tool_kind: Noun = ()
) -> Iterator[RecordReference]:
    """Yields every value, at any depth, that may name a record.

    ``kind``: that to which a plain ``id`` belongs; ``tool_kind``: what the called tool is about, which may name a kind
    in more words.
    """
    for key, inner in fields.items():
        yield from _field_references(key, inner, kind, keys, tool_kind or kind)


def reference_of(
    key: str, value: Json, kind: Noun = (), keys: RecordKeys = NO_RECORD_KEYS, tool_kind: Noun = ()
) -> RecordReference | None:
    """One field as a reference (``kind``, ``tool_kind``: as in ``references_in``); None if it can name no record."""
    nouns_in_full = (kind, tool_kind)
    text = comparable_id(value)
    if text is None:
        return None
    is_number, may_be_id = text.isdigit(), text.isdigit() or looks_like_id_text(text)
    if declared_kind := keys.kind_of(key):
        return RecordReference(
            declared_kind, text, value, is_number, True, must_exist=True, key=keys.get_first_name_of_key(key)
        )
    noun, last = singular_words(key), singular_words(key)[-1:]
    if not noun or (may_describe_request(noun) and not has_read_tool(noun[:1], keys)):
        return None
    if is_id_name(key) or last[0] in _ID_WORDS:
        own_noun = noun[:-1] if last[0] in _ID_WORDS else (*noun[:-1], noun[-1].removesuffix("id"))
        own_noun = () if set(own_noun) <= _WORDS_FOR_ANY_RECORD else _expand_noun(own_noun, nouns_in_full, keys)
        return RecordReference(own_noun or kind, text, value, is_number, True, must_exist=True)
    if last[0] in _WORDS_FOR_NUMBER:
        own_noun = _expand_noun(noun[:-1], nouns_in_full, keys) or kind
        is_of_record = last[0] in _WORDS_FOR_REFERENCE or are_same_kind(own_noun, kind)
        must_exist = may_be_id and is_of_record and noun != ("code",)
        return RecordReference(own_noun, text, value, is_number, True, must_exist=must_exist)
    if not is_number and may_be_id and any(noun == declared for _, declared in keys.kinds):
        return RecordReference(noun, text, value, is_number, is_id=True, must_exist=True, may_hold_any_key=True)
    must_exist = may_be_id and are_same_kind(noun, kind)
    own_noun = _expand_noun(noun, nouns_in_full, keys)
    return RecordReference(own_noun, text, value, is_number, last in _NOUNS_FOR_PRODUCT_NUMBERS, must_exist=must_exist)


def may_describe_request(noun: Noun) -> bool:
    """Whether a field of these words usually describes the request itself, such as ``tenant_id``."""
    return noun[:1] != () and noun[0] in _REQUEST_WORDS


def has_read_tool(noun: Noun, keys: RecordKeys, *, in_full: bool = False) -> bool:
    """Whether a read tool is named after the noun, by its last word; ``in_full``: by all its words."""
    return (noun if in_full else noun[-1:]) in _nouns_of_readers(keys.read_tools, in_full)


@lru_cache(maxsize=128)
def _nouns_of_readers(readers: frozenset[str], in_full: bool) -> frozenset[Noun]:
    """The nouns of these tools; unless ``in_full``, only their last words."""
    nouns = (noun_of_tool(reader, NO_RECORD_KEYS) for reader in readers)
    return frozenset(noun if in_full else noun[-1:] for noun in nouns if noun)


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
    if last[0] in _WORDS_FOR_NUMBER:
        return 1 if not noun[:-1] or are_same_kind(noun[:-1], kind) else None
    if last[0] in _WORDS_FOR_NAME:
        return 2 if not noun[:-1] or are_same_kind(noun[:-1], kind) else None
    return 1 if are_same_kind(noun, kind) and noun[-1] == kind[-1] else None


def are_same_kind(one: Noun, other: Noun) -> bool:
    """Whether two nouns end in one word or in synonyms: ``claim``, ``expense_claim`` and ``expense`` are one kind."""
    return bool(one and other) and are_kind_synonyms(one[-1], other[-1])


def is_same_kind_as_any(noun: Noun, kinds: Iterable[Noun]) -> bool:
    return any(are_same_kind(noun, kind) for kind in kinds)


def is_kind_in_full(noun: Noun, kind: Noun) -> bool:
    """Whether a noun is of a kind with all words before its last one: a ``line_item`` is no ``item``."""
    return are_same_kind(noun, kind) and noun[:-1] == kind[:-1]


def has_aspect(noun: Noun, aspect: Noun) -> bool:
    """Whether ``aspect`` has the last word of ``noun`` among its words, as ``claim_status`` has that of ``claim``."""
    return bool(noun) and any(are_kind_synonyms(noun[-1], word) for word in aspect)


def name_of_kind(noun: Noun) -> str:
    """One word for all nouns of a kind, the same for ``expense_claim`` and ``expense``; empty for no noun."""
    last = noun[-1] if noun else ""
    return next((min(group) for group in _KIND_SYNONYMS if last in group), last)


@lru_cache(maxsize=4_096)
def are_kind_synonyms(one: str, other: str) -> bool:
    return one == other or any(one in group and other in group for group in _KIND_SYNONYMS)


def is_id_text(value: Json) -> bool:
    return isinstance(value, str) and looks_like_id_text(value)


def get_shape_of_id(text: str) -> str:
    """The pattern that ids of one kind share, ``c-#`` for ``C-17``; empty for a text that is no such id."""
    return _DIGITS_PATTERN.sub("#", text.casefold()) if looks_like_id_text(text) else ""


def _field_references(
    key: str, inner: Json, kind: Noun, keys: RecordKeys, tool_kind: Noun
) -> Iterator[RecordReference]:
    if isinstance(inner, dict):
        noun = _expand_noun(singular_words(key), (tool_kind,), keys)
        inner_kind = kind if set(noun) <= _EMPTY_WORDS | _WORDS_FOR_ANY_RECORD else noun
        for row_id in inner if is_keyed_table(inner) else ():
            text = row_id.strip().casefold()
            yield RecordReference(inner_kind, text, row_id, row_id.isdigit(), is_id=True, must_exist=False)
        yield from references_in(inner, inner_kind, keys, tool_kind)
    elif isinstance(inner, list):
        for item in inner:
            if isinstance(item, dict | list):
                yield from _field_references(key, item, kind, keys, tool_kind)
            elif reference := reference_of(key, item, kind, keys, tool_kind):
                yield reference
    elif reference := reference_of(key, inner, kind, keys, tool_kind):
        # ``rooms: 5`` is a count of rooms, unless a room with that number was read
        yield reference._replace(must_exist=False) if _is_count_under_plural(key, inner, reference) else reference


def _is_count_under_plural(key: str, value: Json, reference: RecordReference) -> bool:
    """Whether a field is a count by its plural name, ``rooms: 4``: it holds a whole number, and is no id and no key."""
    last = words_of(key)[-1] if words_of(key) else ""
    return isinstance(value, int) and not (reference.is_id or reference.key) and singular(last) != last
