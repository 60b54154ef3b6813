"""Finds entities in a text without a model: people, vendors, products, amounts, percentages, dates, emails, ids."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from babel import Locale
from babel.numbers import list_currencies


class EntityKind(StrEnum):
    """The kind of an entity. If the same words fit several kinds, the first listed here applies."""

    EMAIL = "email"
    DATE = "date"
    AMOUNT = "amount"
    PERCENTAGE = "percentage"
    REFERENCE = "reference"
    PRODUCT = "product"
    VENDOR = "vendor"
    PERSON = "person"


class FoundEntity(NamedTuple):
    """An entity in a text, from ``start`` to ``end``.

    ``common_form``: the form that all spellings of one entity have in common; ``value``: the spelling for people.
    """

    kind: EntityKind
    value: str
    common_form: str
    start: int
    end: int

    @property
    def field(self) -> str:
        """The hash field under which the entity is stored: its kind and common form."""
        return f"{self.kind.value}:{self.common_form}"


# 1,234.56 · 1.234,56 · 1 234,56 · 1'234.50 · 12,34,567.89 · 1234.56 · 0,5
NUMBER_REGEX = r"(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,4})?|\d+(?:[.,]\d+)*)"
_SPACES_PATTERN = re.compile(r"[ \u00a0\u202f'’]")
_INDIAN_NUMBER_PATTERN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_GROUP_DIGITS = 3


def read_number(text: str) -> Decimal | None:
    """The number that a text spells; None for one that cannot be read, such as ``1.2.3``.

    If it has both a point and a comma, the last of them begins the fraction. A single point or comma before exactly
    three digits groups thousands, as in business amounts, except after a zero (``0.125``).
    """
    digits = _SPACES_PATTERN.sub("", text)
    marks = re.findall(r"[.,]", digits)
    if not marks:
        return Decimal(digits)
    if _INDIAN_NUMBER_PATTERN.fullmatch(digits):
        return Decimal(digits.replace(",", ""))
    last_mark = marks[-1]
    if len(set(marks)) == 1:
        return _parse_number_with_one_mark(digits, last_mark)
    grouping = "," if last_mark == "." else "."
    if marks.count(last_mark) > 1 or not _has_thousands_groups(digits.rpartition(last_mark)[0], grouping):
        return None
    return Decimal(digits.replace(grouping, "").replace(last_mark, "."))


def _parse_number_with_one_mark(digits: str, mark: str) -> Decimal | None:
    head, *groups = digits.split(mark)
    is_one_group = len(groups[0]) == _GROUP_DIGITS and head.strip("0") and len(head) <= _GROUP_DIGITS
    if len(groups) > 1 or is_one_group:
        return Decimal(head + "".join(groups)) if _has_thousands_groups(digits, mark) else None
    return Decimal(f"{head}.{groups[0]}")


def _has_thousands_groups(digits: str, mark: str) -> bool:
    head, *groups = digits.split(mark)
    return bool(head) and len(head) <= _GROUP_DIGITS and all(len(group) == _GROUP_DIGITS for group in groups)


def format_number(number: Decimal) -> str:
    """Formats the number without exponent or trailing zeros, so that equal numbers have equal texts."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "fi", "cs", "tr")
_MONTH_REGEX = r"(?P<month>[^\W\d_]{3,12})\.?"
_ORDINAL_SUFFIX_REGEX = r"(?:st|nd|rd|th|er|\.)"
_DATE_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})(?![\d-])",
        r"(?<![\w/])(?P<year>\d{4})/(?P<m>\d{1,2})/(?P<day>\d{1,2})(?![\d/])",
        r"(?<![\w.])(?P<day>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<year>\d{4})(?!\d)",
        r"(?P<year>\d{4})年(?P<m>\d{1,2})月(?P<day>\d{1,2})日",
        rf"(?<![\w.])(?P<day>\d{{1,2}}){_ORDINAL_SUFFIX_REGEX}?[ ](?:de |of )?{_MONTH_REGEX}"
        r"(?: de|,)?[ ](?P<year>\d{4})(?!\d)",
        rf"(?<!\w){_MONTH_REGEX}[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[ ](?P<year>\d{{4}})(?!\d)",
    )
)
_SLASHED_DATE_PATTERN = re.compile(r"(?<![\w/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4})(?![\d/])")
_MONTHS_A_YEAR = 12


def find_dates(text: str) -> Iterator[FoundEntity]:
    """Yields the dates in a text as ISO 8601; an ambiguous one (``03/04/2026``) as it is written."""
    for pattern in _DATE_PATTERNS:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["m"]) if parts.get("m") else list_month_numbers().get(parts["month"].casefold(), 0)
            yield from _build_date_entity(match, int(parts["year"]), month, int(parts["day"]))
    for match in _SLASHED_DATE_PATTERN.finditer(text):
        yield from _read_slashed_date(match)


def _read_slashed_date(match: re.Match[str]) -> Iterator[FoundEntity]:
    first_number = int(match["a"])
    second_number = int(match["b"])
    year = int(match["year"])
    if first_number > _MONTHS_A_YEAR or first_number == second_number:
        yield from _build_date_entity(match, year, second_number, first_number)
    elif second_number > _MONTHS_A_YEAR:
        yield from _build_date_entity(match, year, first_number, second_number)
    elif _is_calendar_date(year, first_number, second_number):
        yield FoundEntity(EntityKind.DATE, match[0], match[0], match.start(), match.end())


def _build_date_entity(match: re.Match[str], year: int, month: int, day: int) -> Iterator[FoundEntity]:
    if _is_calendar_date(year, month, day):
        iso_date = date(year, month, day).isoformat()
        yield FoundEntity(EntityKind.DATE, iso_date, iso_date, match.start(), match.end())


def _is_calendar_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


@cache
def list_month_numbers() -> dict[str, int]:
    """The number of each month, by its name or abbreviation in lower case without a full stop."""
    names: dict[str, int] = {}
    for language in _LANGUAGES:
        forms = Locale(language).months
        for form in (forms["format"], forms["stand-alone"]):
            for width in ("abbreviated", "wide"):
                for number, name in form[width].items():
                    names.setdefault(str(name).casefold().rstrip("."), int(number))
    return names


_CAPITALIZED_WORD_REGEX = r"(?:[A-ZÀ-ÖØ-ÞŁŚŽČĆŠĐŻ][\w&'’-]*|\d[A-Za-z]\w*)"
# A count of further words follows it.
_NAME_REGEX = rf"{_CAPITALIZED_WORD_REGEX}(?:[ ](?:&[ ]|and[ ]|de[ ]|van[ ]|von[ ])?{_CAPITALIZED_WORD_REGEX})"
_LEGAL_FORM_REGEX = (
    r"(?:Inc|Incorporated|Ltd|Limited|LLC|LLP|PLC|plc|Corp|Corporation|Company|Co|GmbH(?: & Co\.? KG)?|AG|KG|OHG|SE|eG|"
    r"S\.A\.S|SAS|SARL|S\.A\.R\.L|S\.A|SA|S\.p\.A|SpA|S\.r\.l|Srl|S\.L|SL|Lda|Ltda|B\.V|BV|N\.V|NV|Oyj|Oy|AB|A/S|ApS|ASA|AS|"
    r"Pty Ltd|Pvt Ltd|Pte Ltd|Sp\. z o\.o|S\.r\.o|s\.r\.o|a\.s|Kft|Zrt|K\.K|KK|Sdn Bhd|Bhd|Group|Holdings?)"
)
_COMPANY_PATTERN = re.compile(rf"(?<!\w)(?P<name>{_NAME_REGEX}{{0,4}}?),?[ ](?P<legal>{_LEGAL_FORM_REGEX})(?![\w])")
_LABELLED_NAME_PATTERN = re.compile(
    rf"(?i:\b(?:vendor|supplier|customer|client|company|payee|merchant|provider|manufacturer|account name)(?: name)?)"
    rf"(?:\s*[:=]\s*|\s+)(?P<name>{_NAME_REGEX}{{0,3}})"
)
_NAME_IN_DEAL_PATTERN = re.compile(
    r"(?i:\b(?:invoices?|bills?|quotes?|offers?|orders?|contracts?|payments?|deliver(?:y|ies)|statements?|purchases?|credits?))\b"
    rf"[^.;:\n]{{0,40}}?\b(?:from|with|by|of|to)[ ](?P<name>{_NAME_REGEX}{{0,3}})(?!\w|-\d)"
)
_PERSON_WITH_TITLE_PATTERN = re.compile(
    r"(?<!\w)(?P<title>Mrs?|Ms|Miss|Dr|Prof|Sir|Herr|Frau|Mme|Mlle|Monsieur|Madame|Sra?|Sig|Señora?|Dhr|Mevr)\.?[ ]"
    rf"(?P<name>{_NAME_REGEX}{{0,2}})"
)
_PERSON_IN_ROLE_PATTERN = re.compile(
    r"(?i:\b(?:employee|manager|approver|requester|requestor|contact|colleague|applicant|director|accountant|owner|"
    r"(?:submitted|approved|requested|signed|reported|paid|filed|raised) by|on behalf of))(?:\s*[:=]\s*|\s+)"
    rf"(?P<name>{_NAME_REGEX}{{1,2}})"
)
_PRODUCT_PATTERN = re.compile(
    rf"(?<!\w)(?P<name>{_NAME_REGEX}{{0,2}}?[ ]"
    r"(?:Plan|Tier|Edition|Suite|Licen[cs]e|Package|Subscription|Module|Bundle))(?!\w)"
)
# What begins a sentence or a line in capitals and belongs to no name.
_COMMON_WORDS = frozenset(
    """
    a an the this that these those our your their his her its my for from by of to with on in at and or if please
    when add adjust allocate analyze apply approve archive ask assess assign audit authorize bill book calculate
    cancel charge check clear close collect compare complete compute confirm contact convert create credit debit
    decide delete deny determine downgrade draft email escalate evaluate execute extend file find fix flag forward
    freeze generate get give grant handle help hold inform initiate inspect invoice issue list log look mail make
    mark match migrate move notify offboard onboard open order pay pause place post prepare process procure propose
    provide purchase pull push quote raise read recalculate receive reconcile record refund register reject remind
    remove renew report request reset resolve restore review revoke run schedule send set settle show sign split
    stop submit summarize suspend tell terminate transfer unlock update upgrade use validate verify void waive what
    which who why how where wire withdraw write customer client vendor supplier company invoice employee manager
    payment purchase dear hello hi mr mrs ms miss dr prof sir herr frau mme mlle re regarding yes no not all each
    every any some new old amount total date due net vat tax
    """.split()
)
_LONGEST_NAME = 60
_RECORD_CODE_PATTERN = re.compile(r"[A-Z]{1,6}-?\d[\w-]*")


def _find_names(text: str) -> Iterator[FoundEntity]:
    for match in _PRODUCT_PATTERN.finditer(text):
        yield from _build_name_entity(EntityKind.PRODUCT, match.start("name"), match["name"])
    for match in _COMPANY_PATTERN.finditer(text):
        yield from _build_company_entity(match)
    for pattern, kind in (
        (_PERSON_WITH_TITLE_PATTERN, EntityKind.PERSON),
        (_PERSON_IN_ROLE_PATTERN, EntityKind.PERSON),
        (_LABELLED_NAME_PATTERN, EntityKind.VENDOR),
        (_NAME_IN_DEAL_PATTERN, EntityKind.VENDOR),
    ):
        for match in pattern.finditer(text):
            yield from _build_name_entity(kind, match.start("name"), match["name"])


def strip_legal_form(value: str) -> str:
    """A company's name without its legal form."""
    match = re.fullmatch(rf"(?P<name>.+?),?[ ]{_LEGAL_FORM_REGEX}\.?", value)
    return match["name"] if match else value


def _build_company_entity(match: re.Match[str]) -> Iterator[FoundEntity]:
    for entity in _build_name_entity(EntityKind.VENDOR, match.start("name"), match["name"]):
        yield entity._replace(value=f"{entity.value} {match['legal']}", end=match.end())


def _build_name_entity(kind: EntityKind, start: int, text: str) -> Iterator[FoundEntity]:
    """Yields the name without common words at its ends; nothing if no name is left."""
    words = text.split(" ")
    while words and _is_common_word(words[0]):
        start += len(words.pop(0)) + 1
    while words and _is_common_word(words[-1]):
        words.pop()
    name = " ".join(words).rstrip("'’-&")
    if name and len(name) <= _LONGEST_NAME and not _RECORD_CODE_PATTERN.fullmatch(name) and any(map(str.isalpha, name)):
        bare_name = name.removesuffix("'s").removesuffix("’s")
        yield FoundEntity(kind, bare_name, " ".join(bare_name.casefold().split()), start, start + len(bare_name))


def _is_common_word(word: str) -> bool:
    lower_word = word.casefold().strip("'’-&,")
    return (
        lower_word in _COMMON_WORDS
        or lower_word in list_month_numbers()
        or _RECORD_CODE_PATTERN.fullmatch(word) is not None
    )


MOST_CHARACTERS_SEARCHED = 4_000
MOST_ENTITIES = 40  # entities of one task
_EMAIL_PATTERN = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?![\w@])")
_REFERENCE_PATTERN = re.compile(
    r"(?<![\w./@-])(?=[A-Z0-9-]{0,30}\d)[A-Z][A-Z0-9]{0,9}(?:[-_/][A-Z0-9]{1,12}){1,4}(?![\w-])|(?<![\w./@-])[A-Z]{2,4}\d{4,14}(?!\w)"
)
_KIND_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


def find_entities(text: str) -> tuple[FoundEntity, ...]:
    """The entities in a text, each once, in order and without overlap."""
    searched_text = text[:MOST_CHARACTERS_SEARCHED]
    chosen: list[FoundEntity] = []
    overlapping = list(_find_overlapping_entities(searched_text))
    overlapping.sort(key=lambda entity: (_KIND_ORDER[entity.kind], entity.start - entity.end, entity.start))
    for entity in overlapping:
        if not any(entity.start < other.end and other.start < entity.end for other in chosen):
            chosen.append(entity)
    chosen.sort(key=lambda entity: entity.start)
    return tuple(_merge_by_field(chosen))[:MOST_ENTITIES]


def list_entity_names(entity: FoundEntity) -> tuple[str, ...]:
    """The names by which later tasks may call the entity."""
    short_name = strip_legal_form(entity.value)
    return (entity.value, short_name) if short_name != entity.value else (entity.value,)


def _find_overlapping_entities(text: str) -> Iterator[FoundEntity]:
    for match in _EMAIL_PATTERN.finditer(text):
        address = match[0].rstrip(".").lower()
        yield FoundEntity(EntityKind.EMAIL, address, address, match.start(), match.end())
    yield from find_dates(text)
    yield from find_money_amounts(text)
    yield from _find_percentages(text)
    for match in _REFERENCE_PATTERN.finditer(text):
        yield FoundEntity(EntityKind.REFERENCE, match[0], match[0].casefold(), match.start(), match.end())
    yield from _find_names(text)


def _merge_by_field(entities: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
    """Yields one entity for each hash field under which entities are stored, in its longest spelling."""
    by_field: dict[str, FoundEntity] = {}
    for entity in entities:
        chosen = by_field.get(entity.field)
        by_field[entity.field] = entity if chosen is None or len(entity.value) > len(chosen.value) else chosen
    return iter(by_field.values())


_CURRENCY_CODES = frozenset(list_currencies())
_CODES_THAT_ARE_WORDS = frozenset({"ALL", "TOP", "TRY", "CUP", "MOP", "PEN"})  # "ALL 3 invoices" names no currency
_SIGNS_BY_CURRENCY = {  # signs that name one currency; one that several share stays a sign
    "BRL": "R$ BR$",
    "CAD": "C$",
    "CHF": "Fr.",
    "CNY": "CN¥ 元",
    "CZK": "Kč",
    "DKK": "Dkr",
    "EUR": "€",
    "GBP": "£ £GB",
    "HUF": "Ft",
    "ILS": "₪",
    "INR": "₹",
    "JPY": "JP¥",
    "KRW": "₩",
    "NGN": "₦",
    "NOK": "Nkr",
    "PHP": "₱",
    "PLN": "zł",
    "RUB": "₽",
    "THB": "฿",
    "TRY": "₺",
    "UAH": "₴",
    "VND": "₫",
}
_CURRENCY_BY_SIGN = {sign: code for code, signs in _SIGNS_BY_CURRENCY.items() for sign in signs.split()}
_CURRENCY_BY_SIGN |= {"$": "$", "¥": "¥", "￥": "¥", "kr": "kr", "A$": "AUD", "S$": "SGD"}
for _code in ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"):  # US$ in English, $US in French
    _CURRENCY_BY_SIGN |= dict.fromkeys((f"{_code[:2]}$", f"${_code[:2]}", f"$\u00a0{_code[:2]}"), _code)
_CURRENCY_BY_WORD = dict.fromkeys(("dollar", "dollars"), "$") | dict.fromkeys(("euro", "euros"), "EUR")
_CURRENCY_BY_WORD |= dict.fromkeys(("pound", "pounds"), "GBP") | {"yen": "JPY", "rupees": "INR", "francs": "CHF"}
_MULTIPLIERS = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "million": 1_000_000, "thousand": 1_000}
_MULTIPLIERS |= {"bn": 1_000_000_000, "b": 1_000_000_000, "billion": 1_000_000_000}
_MULTIPLIER_REGEX = r"(?:\s?(?P<times>thousand|million|billion|bn|mn|[kKmMB])(?![^\W\d_]))?"
_CURRENCY_SIGN_REGEX = "|".join(sorted(map(re.escape, _CURRENCY_BY_SIGN), key=len, reverse=True))
_CURRENCY_WORD_REGEX = "|".join(sorted(_CURRENCY_BY_WORD, key=len, reverse=True))
_SIGN_BEFORE_NUMBER_PATTERN = re.compile(
    rf"(?<![\w.,])(?P<sign>(?:{_CURRENCY_SIGN_REGEX})|[A-Z]{{3}})[ \u00a0]?"
    rf"(?P<number>{NUMBER_REGEX}){_MULTIPLIER_REGEX}(?!\d|[.,]\d|%)"
)
_SIGN_AFTER_NUMBER_PATTERN = re.compile(
    rf"(?<![\w.,-])(?P<number>{NUMBER_REGEX}){_MULTIPLIER_REGEX}[ \u00a0\u202f]?"
    rf"(?P<sign>(?:{_CURRENCY_SIGN_REGEX})|[A-Z]{{3}}|(?i:{_CURRENCY_WORD_REGEX}))(?!\w)"
)
_PERCENT_PATTERN = re.compile(
    rf"(?<![\w.,])(?P<number>{NUMBER_REGEX})[ \u00a0\u202f]?"
    r"(?:%|(?i:per ?cent|prozent|pour ?cent|por ciento|procent)(?!\w))"
)


def find_money_amounts(text: str) -> Iterator[FoundEntity]:
    """Yields the amounts of money with a currency."""
    for pattern in (_SIGN_BEFORE_NUMBER_PATTERN, _SIGN_AFTER_NUMBER_PATTERN):
        for match in pattern.finditer(text):
            currency = _find_currency(match["sign"], is_before_number=pattern is _SIGN_BEFORE_NUMBER_PATTERN)
            number = read_number(match["number"])
            if currency and number is not None:
                multiplier = _MULTIPLIERS.get((match["times"] or "").lower(), 1)
                common_form = f"{format_number(number * multiplier)} {currency}".casefold()
                yield FoundEntity(EntityKind.AMOUNT, match[0], common_form, match.start(), match.end())


def _find_percentages(text: str) -> Iterator[FoundEntity]:
    for match in _PERCENT_PATTERN.finditer(text):
        number = read_number(match["number"])
        if number is not None:
            percentage = f"{format_number(number)}%"
            yield FoundEntity(EntityKind.PERCENTAGE, percentage, percentage, match.start(), match.end())


def _find_currency(sign: str, *, is_before_number: bool) -> str:
    if sign in _CURRENCY_BY_SIGN:
        return _CURRENCY_BY_SIGN[sign]
    if sign in _CURRENCY_CODES and not (is_before_number and sign in _CODES_THAT_ARE_WORDS):
        return sign
    return _CURRENCY_BY_WORD.get(sign.lower(), "")
