"""What an argument of a tool is for: an amount, an identifier, an account, a recipient, or something less strict."""

import re
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.identifiers import IdentifierForm, whole_form
from services.executor.core.figures.mentions import split_name
from services.executor.core.figures.vocabulary import CURRENCIES, UNITS, Unit
from shared.domain.exact_json import Json, JsonObject


class ArgumentKind(StrEnum):
    """What an argument is for. Only the first four must come from a field, the user's words or a calculation."""

    AMOUNT = "amount"
    IDENTIFIER = "identifier"
    ACCOUNT = "account"
    RECIPIENT = "recipient"
    DATE = "date"
    QUANTITY = "quantity"
    CHOICE = "choice"
    FREE_TEXT = "free text"
    OTHER = "other"


STRICT = frozenset({ArgumentKind.AMOUNT, ArgumentKind.IDENTIFIER, ArgumentKind.ACCOUNT, ArgumentKind.RECIPIENT})
LONGEST_FIELD = 6  # words; a longer text is prose


class ArgumentHints(NamedTuple):
    """What name and schema say of the value, beside its kind."""

    kind: ArgumentKind = ArgumentKind.OTHER
    is_in_minor_units: bool = False
    is_integer: bool = False
    is_plain_money: bool = False
    unit: Unit | None = None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE_TEXT = _words(
    "body note notes description desc comment comments message text memo subject title summary reason content details "
    "instruction instructions remark remarks purpose caption justification explanation narrative html markdown query "
    "beschreibung notiz bemerkung nachricht betreff grund commentaire objet motif"
)
_ACCOUNT = _words("iban bic swift account acct routing sortcode card wallet bank konto kontonummer compte rib")
_RECIPIENT = _words(
    "to cc bcc recipient recipients email emails mail addressee payee beneficiary phone mobile fax telephone attendee "
    "attendees invitee invitees participants assignee approver approvers channel webhook callback url uri endpoint "
    "empfanger destinataire sender"
)
_IDENTIFIER = _words(
    "id ids uuid guid number no num nr nummer numero ref reference code key sku isbn vin slug ticket tracking"
)
_NO_IDENTIFIER = _words("currency country language lang locale zip postal post area state status color colour promo")
_DATE = _words(
    "date day datetime timestamp deadline due month year week birthday dob when time start end begin until since "
    "expiry expires scheduled schedule at on from to datum termin jour heure hour quarter period"
)
_NAMES_OF_DATES = _words("date datetime timestamp deadline birthday dob datum expiry month year")
_QUANTITY = _words(
    "count quantity qty limit offset page pages size nights guests seats hours minutes seconds days weeks "
    "months years units persons people rooms copies percent percentage pct ratio weight duration length width "
    "height distance age score rating priority rank version attempts retries interval anzahl menge nombre quantite"
)
_PLAIN_MONEY = _words(
    "amount price total sum cost costs payment refund fee salary balance subtotal betrag preis summe montant prix"
)
_AMOUNT = _PLAIN_MONEY | _words(
    "rate budget wage credit debit charge deposit discount tax vat net gross premium payout cents minor bonus fine "
    "penalty tip allowance reimbursement money payable paid owed due kosten gebuhr frais pay value worth limit"
)
_MINOR = _words("cents minor pence rappen centimes")
_MONEY_SAID = re.compile(
    r"\b(?:amounts?|prices?|money|currency|cents|minor units?|EUR|USD|GBP|CHF|euros?|dollars?)\b", re.I
)
_MINOR_SAID = re.compile(
    r"\b(?:in|as) (?:euro |us )?cents\b|\bminor (?:currency )?units?\b|\bsmallest (?:currency )?unit", re.I
)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:?\d\d.*)?|\d{4}-\d\d|\d\d?:\d\d(?::\d\d)?")
_FORMATS = {
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
_SHAPES = {
    IdentifierForm.EMAIL: ArgumentKind.RECIPIENT,
    IdentifierForm.IBAN: ArgumentKind.ACCOUNT,
    IdentifierForm.LINK: ArgumentKind.RECIPIENT,
}


def kind_of_argument(name: str, schema: JsonObject, value: Json) -> ArgumentKind:
    """What the argument is for, by its schema, then its name, then what the value looks like.

    ``name`` may be a path, ``payee.account.iban``: its last part decides where it says something, else those before it.
    """
    if isinstance(value, bool) or "enum" in schema or "const" in schema or schema.get("type") == "boolean":
        return ArgumentKind.CHOICE
    if (kind := _FORMATS.get(str(schema.get("format", "")))) is not None:
        return kind
    steps = [part for part in re.split(r"[.\[\]]", name) if part and not part.isdecimal()] or [""]
    words = split_name(steps[-1])
    is_number = isinstance(value, int | Decimal)
    kind = _kind_of_number(words, schema) if is_number else _kind_of_text(words, str(value or ""), schema)
    if kind is ArgumentKind.OTHER and len(steps) > 1:
        return _kind_by_parent(split_name(steps[-2]), kind)
    return kind


def hints_of(name: str, schema: JsonObject, value: Json) -> ArgumentHints:
    """The kind, and the unit and the writing that name and description settle."""
    words = split_name(name.rsplit(".", 1)[-1])
    said = str(schema.get("description", ""))
    return ArgumentHints(
        kind=kind_of_argument(name, schema, value),
        is_in_minor_units=bool(_MINOR.intersection(words)) or _MINOR_SAID.search(said) is not None,
        is_integer=schema.get("type") == "integer",
        is_plain_money=bool(_PLAIN_MONEY.intersection(words)) and not _QUANTITY.intersection(words),
        unit=_unit_of(words, said),
    )


@lru_cache(maxsize=4096)
def is_free_text_name(name: str) -> bool:
    """Whether a field of this name holds prose: ``body``, ``internal_note``, ``comments[0]``; not ``note_id``."""
    words = split_name(name.partition("[")[0])
    return bool(words) and words[-1] in _FREE_TEXT


@lru_cache(maxsize=4096)
def identifies_a_record(name: str) -> bool:
    """Whether a field of this name tells one record from another: ``id``, ``claimId``, ``invoice_number``, ``ref``."""
    words = split_name(name)
    if not words or words[-1] not in _IDENTIFIER:
        return len(words) == 1 and words[0].endswith("id") and words[0] in _JOINED_IDS
    return _NO_IDENTIFIER.isdisjoint(words[:-1]) and not _RECIPIENT.intersection(words)


_JOINED_IDS = _words(
    "orderid userid customerid invoiceid claimid accountid taskid employeeid ticketid bookingid paymentid"
)


def _kind_of_number(words: tuple[str, ...], schema: JsonObject) -> ArgumentKind:
    given = frozenset(words)
    last = words[-1] if words else ""
    if last in ("id", "ids") or (last in _IDENTIFIER and given.isdisjoint(_QUANTITY) and "of" not in given):
        return _by_first_words(given) or ArgumentKind.IDENTIFIER
    if given & _ACCOUNT and not given & _AMOUNT:
        return ArgumentKind.ACCOUNT
    if last in _NAMES_OF_DATES and last not in _PLAIN_MONEY:
        return ArgumentKind.DATE
    quantities = given & _QUANTITY - _AMOUNT
    if quantities:
        return ArgumentKind.QUANTITY
    if given & (_AMOUNT - {"limit", "due", "value"}) or _has_currency_code(given):
        return ArgumentKind.AMOUNT
    says_money = _MONEY_SAID.search(str(schema.get("description", ""))) is not None
    return ArgumentKind.AMOUNT if says_money or {"credit", "limit"} <= given else ArgumentKind.QUANTITY


def _by_first_words(given: frozenset[str]) -> ArgumentKind | None:
    if given & _ACCOUNT:
        return ArgumentKind.ACCOUNT
    return ArgumentKind.RECIPIENT if given & _RECIPIENT - {"to"} else None


def _has_currency_code(given: frozenset[str]) -> bool:
    return any(
        word.upper() in CURRENCIES for word in given if word in ("eur", "usd", "gbp", "chf", "jpy", "sek", "pln")
    )


def _kind_of_text(words: tuple[str, ...], value: str, schema: JsonObject) -> ArgumentKind:
    given = frozenset(words)
    last = words[-1] if words else ""
    if last in _FREE_TEXT:
        return ArgumentKind.FREE_TEXT
    if (kind := _SHAPES.get(whole_form(value) or IdentifierForm.CODE)) is not None:
        return kind
    if last == "currency" or (value in CURRENCIES and "currency" in given):
        return ArgumentKind.CHOICE
    if _ISO_DATE.fullmatch(value) or last in _NAMES_OF_DATES or (given & _DATE and _is_written_day(value)):
        return ArgumentKind.DATE
    if given & _ACCOUNT:
        return ArgumentKind.ACCOUNT
    if last in _IDENTIFIER and _NO_IDENTIFIER.isdisjoint(given):
        return ArgumentKind.RECIPIENT if given & _RECIPIENT else ArgumentKind.IDENTIFIER
    if len(value.split()) > LONGEST_FIELD:
        return ArgumentKind.FREE_TEXT
    if given & _RECIPIENT:
        return ArgumentKind.RECIPIENT
    return _kind_of_short_text(words, value, schema)


def _is_written_day(value: str) -> bool:
    """``12-Mar-2026`` and ``March 12, 2026``: a month is named; plain figures are left to the argument's name."""
    return any(mark.isalpha() for mark in value) and bool(read_possible_dates(value))


def _kind_of_short_text(words: tuple[str, ...], value: str, schema: JsonObject) -> ArgumentKind:
    given = frozenset(words)
    digits = sum(mark.isdecimal() for mark in value)
    if given & _AMOUNT and digits and not given & _QUANTITY - _AMOUNT:
        return ArgumentKind.AMOUNT
    if given & _QUANTITY and digits:
        return ArgumentKind.QUANTITY
    if given & _DATE and digits:
        return ArgumentKind.DATE
    if whole_form(value) is IdentifierForm.CODE:
        is_figure = value.replace(".", "", 1).isdecimal() and schema.get("type") == "number"
        return ArgumentKind.QUANTITY if is_figure else ArgumentKind.IDENTIFIER
    return ArgumentKind.OTHER


def _kind_by_parent(words: tuple[str, ...], otherwise: ArgumentKind) -> ArgumentKind:
    """``payee.name`` and ``recipients[0]`` are recipients."""
    given = frozenset(words)
    if given & _ACCOUNT:
        return ArgumentKind.ACCOUNT
    return ArgumentKind.RECIPIENT if given & _RECIPIENT else otherwise


def _unit_of(words: tuple[str, ...], said: str) -> Unit | None:
    """The unit in the name, ``duration_minutes``, or else in the description, "in minutes"."""
    for word in reversed(words[1:] or words):
        if word in UNITS:
            return UNITS[word]
    match = re.search(r"\bin ([a-z]+)\b", said.lower())
    return UNITS.get(match[1]) if match else None
