"""What an argument of a tool is for, and every scalar of a read's answer with its path."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.dates import read_compact_day, read_possible_dates
from services.executor.core.figures.identifiers import IdentifierKind, kind_of_identifier
from services.executor.core.figures.vocabulary import CURRENCY_CODES, UNITS_BY_WORD, Unit
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import ToolWords, find_nouns_of_identifier, is_identifying_name, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from shared.domain.exact_json import Json, JsonObject, loads


class ArgumentKind(StrEnum):
    """What an argument is for. Only the first four kinds need a source: a field, a session's text or a calculation."""

    AMOUNT = "amount"
    IDENTIFIER = "identifier"
    ACCOUNT = "account"
    RECIPIENT = "recipient"
    DATE = "date"
    QUANTITY = "quantity"
    CHOICE = "choice"
    FREE_TEXT = "free text"
    OTHER = "other"


SOURCED_KINDS = frozenset({ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})
RECORD_KINDS = SOURCED_KINDS - {ArgumentKind.AMOUNT}  # of arguments that may name a record
FIGURE_KINDS = frozenset({ArgumentKind.AMOUNT, ArgumentKind.QUANTITY})
_DECIMAL_TEXT_PATTERN = re.compile(r"-?\d+\.\d\d")  # as servers write money that is no number to them
_MOST_WORDS_OF_DATA = 6  # a longer text is prose


class ArgumentHints(NamedTuple):
    """What an argument's name and schema say of its value: its kind, its unit, and the form of its number.

    ``is_in_minor_units``: in cents or the like; ``is_in_major_units``: its name has a currency code.
    ``is_plain_money``: its name says money (``total``), so no percentage fits. ``is_signed``: it is a difference, which
    may be below 0.
    """

    kind: ArgumentKind = ArgumentKind.OTHER
    is_in_minor_units: bool = False
    is_integer: bool = False
    is_plain_money: bool = False
    is_in_major_units: bool = False
    is_signed: bool = False
    unit: Unit | None = None


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE_TEXT_NAMES = _word_set(
    "body note notes description desc comment comments message text memo subject title summary reason content details "
    "instruction instructions remark remarks purpose caption justification explanation narrative html markdown query "
    "beschreibung notiz bemerkung nachricht betreff grund commentaire objet motif"
)
_ACCOUNT_NAMES = _word_set("iban bic swift account acct routing sortcode card wallet bank konto kontonummer compte rib")
_RECIPIENT_NAMES = _word_set(
    "to cc bcc recipient recipients email emails mail addressee payee beneficiary phone mobile fax telephone attendee "
    "attendees invitee invitees participants assignee approver approvers channel webhook callback url uri endpoint "
    "empfanger destinataire sender"
)
_IDENTIFIER_NAMES = _word_set(
    "id ids uuid guid number no num nr nummer numero ref reference code key sku isbn vin slug ticket tracking"
)
_NAMES_OF_NO_IDENTIFIER = _word_set(
    "currency country language lang locale zip postal post area state status color colour promo"
)
_WORDS_IN_DATE_NAMES = _word_set(
    "date day datetime timestamp deadline due month year week birthday dob when time start end begin until since "
    "expiry expires scheduled schedule at on from to datum termin jour heure hour quarter period ts epoch"
)
_WORDS_THAT_END_DATE_NAMES = _word_set("date datetime timestamp ts epoch deadline birthday dob datum expiry month year")
_EPOCH_SECONDS = range(946_684_800, 4_102_444_800)  # of the years 2000 to 2099
_QUANTITY_NAMES = _word_set(
    "count quantity qty limit offset page pages size nights guests seats hours minutes seconds days weeks "
    "months years units persons people rooms copies percent percentage pct ratio weight duration length width "
    "height distance age score rating priority rank version attempts retries interval anzahl menge nombre quantite"
)
_PLAIN_MONEY_WORDS = _word_set(
    "amount amt price total sum cost costs payment refund fee salary balance subtotal betrag preis summe montant prix"
)
_AMOUNT_WORDS = _PLAIN_MONEY_WORDS | _word_set(
    "rate budget wage credit debit charge deposit discount tax vat net gross premium payout cents minor bonus fine "
    "pence rappen centimes euros dollars "
    "penalty tip allowance reimbursement money payable paid owed due kosten gebuhr frais pay value worth limit"
)
_CURRENCY_CODES_IN_NAMES = _word_set("eur usd gbp chf jpy sek pln")
_MINOR_UNIT_WORDS = _word_set("cents cent minor pence rappen centimes")
_MONEY_WORD_PATTERN = re.compile(
    r"(?i)\b(?:amounts?|prices?|money|currency|cents|minor units?|EUR|USD|GBP|CHF|euros?|dollars?)\b"
)
_MINOR_UNIT_PHRASE_PATTERN = re.compile(
    r"(?i)\b(?:in|as) (?:euro |us )?cents\b|\bminor (?:currency )?units?\b|\bsmallest (?:currency )?unit"
)
_DIFFERENCE_WORDS = _word_set("delta diff difference adjustment change")
_WRITTEN_DATE_PATTERN = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}(?:[T ]\d\d?:\d\d.*)?")
_FINAL_YEAR_PATTERN = re.compile(r"\b(?:19|20|21)\d\d$")
_ISO_DATE_PATTERN = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:?\d\d.*)?|\d{4}-\d\d|\d\d?:\d\d(?::\d\d)?")
_KINDS_BY_FORMAT = {
    "email": ArgumentKind.RECIPIENT,
    "idn-email": ArgumentKind.RECIPIENT,
    "uri": ArgumentKind.RECIPIENT,
    "date": ArgumentKind.DATE,
    "date-time": ArgumentKind.DATE,
    "time": ArgumentKind.DATE,
    "duration": ArgumentKind.QUANTITY,
    "uuid": ArgumentKind.IDENTIFIER,
    "iban": ArgumentKind.ACCOUNT,
}
_KINDS_BY_IDENTIFIER = {
    IdentifierKind.EMAIL: ArgumentKind.RECIPIENT,
    IdentifierKind.IBAN: ArgumentKind.ACCOUNT,
    IdentifierKind.LINK: ArgumentKind.RECIPIENT,
}


def kind_of_argument(name: str, schema: JsonObject, value: Json) -> ArgumentKind:
    """What the argument is for, by its schema, else by the last telling part of its name, else by its value's form."""
    if isinstance(value, bool) or "enum" in schema or "const" in schema or schema.get("type") == "boolean":
        return ArgumentKind.CHOICE
    if (kind := _KINDS_BY_FORMAT.get(str(schema.get("format", "")))) is not None:
        return kind
    steps = [part for part in re.split(r"[.\[\]]", name) if part and not part.isdecimal()] or [""]
    words = words_of(steps[-1])
    if read_compact_day(value) is not None and _may_name_day(words):
        return ArgumentKind.DATE
    is_number = isinstance(value, int | Decimal)
    kind = _kind_of_number(words, schema) if is_number else _kind_of_text(words, str(value or ""), schema)
    if kind is ArgumentKind.OTHER and len(steps) > 1:
        return _account_or_recipient_kind(frozenset(words_of(steps[-2]))) or kind  # ``payee.name``, ``recipients[0]``
    return kind


def hints_of_argument(name: str, schema: JsonObject, value: Json) -> ArgumentHints:
    """The argument's kind, and the unit and form of its number, from its name and description."""
    words = words_of(name.rsplit(".", 1)[-1])
    description = str(schema.get("description", ""))
    in_minor_units = is_minor_unit_name(name) or _MINOR_UNIT_PHRASE_PATTERN.search(description) is not None
    return ArgumentHints(
        kind=kind_of_argument(name, schema, value),
        is_in_minor_units=in_minor_units,
        is_in_major_units=not in_minor_units and has_currency_code(name),
        is_integer=schema.get("type") == "integer",
        is_plain_money=bool(_PLAIN_MONEY_WORDS.intersection(words)) and not _QUANTITY_NAMES.intersection(words),
        is_signed=not _DIFFERENCE_WORDS.isdisjoint(words),
        unit=_unit_of(words, description),
    )


@lru_cache(maxsize=4096)
def is_minor_unit_name(name: str) -> bool:
    """Whether a field of this name is in cents or the like: ``amount_cents``, or ``net_ct`` with a word for money."""
    words = frozenset(words_of(name.rsplit(".", 1)[-1]))
    return not _MINOR_UNIT_WORDS.isdisjoint(words) or ("ct" in words and not _AMOUNT_WORDS.isdisjoint(words))


@lru_cache(maxsize=4096)
def has_currency_code(name: str) -> bool:
    """Whether a name contains a currency code: ``amount_eur``."""
    return not _CURRENCY_CODES_IN_NAMES.isdisjoint(words_of(name.rsplit(".", 1)[-1]))


@lru_cache(maxsize=4096)
def may_hold_amount(name: str, kind: ArgumentKind) -> bool:
    """Whether a number under this name may be an amount: ``rent``, ``new_limit``; not a count such as ``nights``."""
    if kind is not ArgumentKind.QUANTITY:
        return kind is ArgumentKind.AMOUNT
    return (_QUANTITY_NAMES - _AMOUNT_WORDS).isdisjoint(words_of(name.rsplit(".", 1)[-1]))


@lru_cache(maxsize=4096)
def is_free_text_name(name: str) -> bool:
    """Whether a field of this name holds prose: ``body``, ``internal_note``, ``comments[0]``; not ``note_id``."""
    words = words_of(name.partition("[")[0])
    return bool(words) and words[-1] in _FREE_TEXT_NAMES


def _kind_of_number(words: Sequence[str], schema: JsonObject) -> ArgumentKind:
    word_set = frozenset(words)
    last_word = words[-1] if words else ""
    is_counted = "of" in word_set or not word_set.isdisjoint(_QUANTITY_NAMES)  # "number of nights"
    if last_word in ("id", "ids") or (last_word in _IDENTIFIER_NAMES and not is_counted):
        return _account_or_recipient_kind(word_set) or ArgumentKind.IDENTIFIER
    if word_set & _ACCOUNT_NAMES and not word_set & _AMOUNT_WORDS:
        return ArgumentKind.ACCOUNT
    if last_word in _WORDS_THAT_END_DATE_NAMES:
        return ArgumentKind.DATE
    if word_set & _QUANTITY_NAMES - _AMOUNT_WORDS:
        return ArgumentKind.QUANTITY
    if word_set & (_AMOUNT_WORDS - {"limit", "due", "value"} | _CURRENCY_CODES_IN_NAMES):
        return ArgumentKind.AMOUNT
    says_money = _MONEY_WORD_PATTERN.search(str(schema.get("description", ""))) is not None
    return ArgumentKind.AMOUNT if says_money else ArgumentKind.QUANTITY


def _may_name_day(words: Sequence[str]) -> bool:
    """As ``_may_name_time``, for a day in eight digits: ``due``, ``payable_on``, ``from_date``; not ``rent_due``."""
    word_set = frozenset(words)
    if not _may_name_time(word_set):
        return False
    has_date_word = "on" in words[-1:] or not word_set.isdisjoint(_WORDS_THAT_END_DATE_NAMES)
    return has_date_word or word_set <= _WORDS_IN_DATE_NAMES | {"first", "last", "payable"}


def _may_name_time(words: frozenset[str]) -> bool:
    """Whether a field named by these words may hold a time: no word is for an account, an identifier, a count or an
    amount, and they are more than a mere ``to``.
    """
    if words & (
        _ACCOUNT_NAMES | _IDENTIFIER_NAMES | _QUANTITY_NAMES - _WORDS_IN_DATE_NAMES | _AMOUNT_WORDS - {"due", "payable"}
    ):
        return False
    return words not in ({"to"}, {"from"}, {"at"}, {"period"})


def read_epoch(name: str, value: Json, zone: tzinfo | None) -> datetime | None:
    """The moment of epoch seconds or milliseconds in a field whose name says a time, as ``slot_ts``; else None.

    It is given in ``zone``, by default UTC.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    seconds = value if value in _EPOCH_SECONDS else value // 1000
    words = frozenset(words_of(name))
    if seconds not in _EPOCH_SECONDS or words.isdisjoint(_WORDS_IN_DATE_NAMES) or not _may_name_time(words):
        return None
    return datetime.fromtimestamp(seconds, zone or UTC)


def _account_or_recipient_kind(words: frozenset[str]) -> ArgumentKind | None:
    if words & _ACCOUNT_NAMES:
        return ArgumentKind.ACCOUNT
    return ArgumentKind.RECIPIENT if words & _RECIPIENT_NAMES else None


def _kind_of_text(words: Sequence[str], value: str, schema: JsonObject) -> ArgumentKind:
    word_set = frozenset(words)
    last_word = words[-1] if words else ""
    if last_word in _FREE_TEXT_NAMES:
        return ArgumentKind.FREE_TEXT
    if (kind := _KINDS_BY_IDENTIFIER.get(kind_of_identifier(value) or IdentifierKind.CODE)) is not None:
        return kind
    if last_word == "currency" or (value in CURRENCY_CODES and "currency" in word_set):
        return ArgumentKind.CHOICE
    names_month = any(map(str.isalpha, value)) and (
        word_set & _WORDS_IN_DATE_NAMES or _FINAL_YEAR_PATTERN.search(value)
    )
    may_be_day = names_month or _WRITTEN_DATE_PATTERN.fullmatch(value)
    is_day = _ISO_DATE_PATTERN.fullmatch(value) or last_word in _WORDS_THAT_END_DATE_NAMES
    if is_day or (may_be_day and read_possible_dates(value)):
        return ArgumentKind.DATE
    if word_set & _ACCOUNT_NAMES:
        return ArgumentKind.ACCOUNT
    if last_word in _IDENTIFIER_NAMES and _NAMES_OF_NO_IDENTIFIER.isdisjoint(word_set):
        return ArgumentKind.RECIPIENT if word_set & _RECIPIENT_NAMES else ArgumentKind.IDENTIFIER
    if len(value.split()) > _MOST_WORDS_OF_DATA:
        return ArgumentKind.FREE_TEXT
    if word_set & _RECIPIENT_NAMES:
        return ArgumentKind.RECIPIENT
    return _kind_of_short_text(words, value, schema)


def _kind_of_short_text(words: Sequence[str], value: str, schema: JsonObject) -> ArgumentKind:
    word_set = frozenset(words)
    digits = sum(mark.isdecimal() for mark in value)
    if word_set & _AMOUNT_WORDS and digits and not word_set & _QUANTITY_NAMES - _AMOUNT_WORDS:
        return ArgumentKind.AMOUNT
    if word_set & _QUANTITY_NAMES and digits:
        return ArgumentKind.QUANTITY
    if word_set & _WORDS_IN_DATE_NAMES and digits:
        return ArgumentKind.DATE
    if _DECIMAL_TEXT_PATTERN.fullmatch(value):
        return ArgumentKind.AMOUNT
    if kind_of_identifier(value) is IdentifierKind.CODE:
        is_figure = value.replace(".", "", 1).isdecimal() and schema.get("type") == "number"
        return ArgumentKind.QUANTITY if is_figure else ArgumentKind.IDENTIFIER
    return ArgumentKind.OTHER


def _unit_of(words: Sequence[str], description: str) -> Unit | None:
    """The unit in the argument's name, ``hours_spent``, else in its description, "in minutes"; or None."""
    is_plural = len(words) > 1 and len(words[0]) > 3 and words[0].endswith("s")  # no "min" of ``min_amount``
    for word in reversed(words if is_plural else words[1:] or words):
        if word in UNITS_BY_WORD:
            return UNITS_BY_WORD[word]
    match = re.search(r"\bin ([a-z]+)\b", description.lower())
    return UNITS_BY_WORD.get(match[1]) if match else None


class FieldContentKind(StrEnum):
    """Whether a field's value is data, or text that somebody wrote (``FREE_TEXT``). ``PROSE``: the whole answer is one
    text, of which nobody knows whether the tool made it or somebody wrote it.
    """

    STRUCTURED = "structured"
    FREE_TEXT = "free text"
    PROSE = "prose"


class EnclosingRecord(NamedTuple):
    """The innermost object with an identifier around a value: its path and the identifier."""

    path: str
    identifier: str


class ReadField(NamedTuple):
    """One scalar of the answer to the read ``fact_id``. ``parent`` and ``name`` make up its path.

    ``is_free``: it is within somebody's text. ``is_whole``, for the result of a search: the value that was searched for
    is the field's whole value.
    """

    fact_id: str
    parent: str
    name: str
    record: EnclosingRecord | None
    value: Json
    is_free: bool = False
    is_whole: bool = True

    @property
    def path(self) -> str:
        return _join_path(self.parent, self.name)

    @property
    def field_name(self) -> str:
        """The name of the field, without list positions."""
        return self.path.rpartition(".")[2].partition("[")[0]

    @property
    def kind(self) -> FieldContentKind:
        if self.is_free:
            return FieldContentKind.FREE_TEXT
        if not isinstance(self.value, str):
            return FieldContentKind.STRUCTURED
        is_text = self.value.count(" ") >= _MOST_WORDS_OF_DATA or "\n" in self.value
        if not self.name or self.is_tool_text:
            return FieldContentKind.PROSE if is_text or " " in self.value.strip() else FieldContentKind.STRUCTURED
        return FieldContentKind.FREE_TEXT if is_text or is_free_text_name(self.name) else FieldContentKind.STRUCTURED

    @property
    def is_tool_text(self) -> bool:
        """Whether the field holds a tool's whole answer as one text, as MCP puts it."""
        return self.name == "text" and _TOOL_TEXT_PATTERN.fullmatch(self.path) is not None


_MOST_NESTING = 100
_JSON_BRACKETS = ("{", "[")
_TOOL_TEXT_PATTERN = re.compile(r"(?:content\[\d+\]\.)?text")
_OWN_ID_NAMES = ("id", "uuid")
_INDEX_OR_DATE_PATTERN = re.compile(r"\d{1,4}(?:[-./]\d{1,2}){0,2}")  # a list position, a year or a month is no key


def read_fields(fact_id: str, answer: Json, tool: str = "") -> Iterator[ReadField]:
    """Yields every scalar of an answer, also within JSON in strings, and every key that is an identifier.

    JSON within somebody's text counts as free text. ``tool`` is the read that gave the answer: its nouns tell a
    record's own id from the ids of others.
    """
    return _walk_fields(ReadField(fact_id, "", "", None, answer), _MOST_NESTING, words_of_tool(tool))


def fields_of_facts(facts: Iterable[Fact]) -> Iterator[ReadField]:
    """Yields the fields of all successful reads."""
    return (field for fact in facts if fact.ok for field in read_fields(fact.ref, fact.result, fact.tool))


def _walk_fields(field: ReadField, depth: int, tool_words: ToolWords) -> Iterator[ReadField]:
    """Yields the fields below a value; an object's own ones before those of the objects and lists in it."""
    field = _parse_nested_json(field)
    if isinstance(field.value, dict | list):
        children = _child_fields(field, field.value, tool_words) if depth else []
        for child in sorted(children, key=lambda child: not _is_plain_scalar(child.value)):
            yield from _walk_fields(child, depth - 1, tool_words)
    elif field.value is not None and not isinstance(field.value, bool):
        yield field


def _is_plain_scalar(value: Json) -> bool:
    """Whether a value is certainly a number or a text, and not JSON in a string."""
    if isinstance(value, str):
        return value.lstrip()[:1] not in _JSON_BRACKETS
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _parse_nested_json(field: ReadField) -> ReadField:
    text = field.value
    if not isinstance(text, str) or _is_plain_scalar(text):
        return field
    try:
        value = loads(text)
    except ValueError:
        return field
    is_free = field.is_free or (is_free_text_name(field.name) and not field.is_tool_text)
    return field._replace(value=value, is_free=is_free) if isinstance(value, dict | list) else field


def _child_fields(parent: ReadField, value: JsonObject | list[Json], tool_words: ToolWords) -> list[ReadField]:
    """What an object or list holds, and of an object also the keys that are ids of records: ``{"EXP-1006": {...}}``."""
    if isinstance(value, list):
        return [parent._replace(name=f"{parent.name}[{index}]", value=inner) for index, inner in enumerate(value)]
    record = _identify_record(value, parent.path, parent.name, tool_words) or parent.record
    fields = [
        ReadField(parent.fact_id, parent.path, key, record, inner, parent.is_free) for key, inner in value.items()
    ]
    named_records = [field for field in fields if isinstance(field.value, dict) and _is_key_shaped_like_id(field.name)]
    ids = [field._replace(record=EnclosingRecord(field.path, field.name), value=field.name) for field in named_records]
    return [*fields, *ids]


def _join_path(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent and name and not name.startswith("[") else f"{parent}{name}"


def _identify_record(item: JsonObject, path: str, name: str, tool_words: ToolWords) -> EnclosingRecord | None:
    """The object as a record, if a field or its key identifies it; else None.

    A field ``id`` counts first, then the key of a table, then the id of what the tool reads, then an id that may be
    another record's, such as a booking's ``guest_id``.
    """
    ids = [key for key, value in item.items() if _may_identify_own_record(key) and type(value) in (str, int)]
    own_key = next((key for key in ids if key.lower() in _OWN_ID_NAMES), "")
    if not own_key and _is_key_shaped_like_id(name) and not _INDEX_OR_DATE_PATTERN.fullmatch(name):
        return EnclosingRecord(path, name)
    own_key = own_key or max(ids, key=lambda key: _rate_identifier(key, tool_words), default="")
    identifier = str(item[own_key]) if own_key else name if _is_key_shaped_like_id(name) else ""
    return EnclosingRecord(path, identifier) if identifier else None


def _rate_identifier(key: str, tool_words: ToolWords) -> int:
    """How surely (0 to 3) an id is of what the tool is about: ``standing_order_id`` for ``list_standing_orders``."""
    subject = find_nouns_of_identifier(key, frozenset())
    return 2 * (subject == tool_words.nouns) + (tool_words.head in subject)


def _may_identify_own_record(name: str) -> bool:
    """Whether a field of this name may identify the record that it stands in: it is named as an identifier, and not
    as a recipient's, such as ``assignee_id``. Another record's passes, too, such as ``guest_id`` in a booking.
    """
    return is_identifying_name(name) and _RECIPIENT_NAMES.isdisjoint(words_of(name))


@lru_cache(maxsize=1024)
def _is_key_shaped_like_id(key: str) -> bool:
    """Whether a table's key is written as a record's identifier: a usual form with a digit, as ``EXP-1006``."""
    return "[" not in key and any(mark.isdecimal() for mark in key) and kind_of_identifier(key) is not None
