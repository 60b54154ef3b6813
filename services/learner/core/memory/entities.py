"""Finds entities in a text without a model: people, vendors, products, money, dates, addresses, reference ids."""

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

    ``same``: the form that all spellings of one entity share; ``value``: the spelling for people.
    """

    kind: EntityKind
    value: str
    same: str
    start: int
    end: int

    @property
    def field(self) -> str:
        """The hash field under which the entity is stored: its kind and common form."""
        return f"{self.kind.value}:{self.same}"


# 1,234.56 · 1.234,56 · 1 234,56 · 1'234.50 · 12,34,567.89 · 1234.56 · 0,5
NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,4})?|\d+(?:[.,]\d+)*)"
_SPACES = re.compile(r"[ \u00a0\u202f'’]")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_GROUP_DIGITS = 3


def read_number(written: str) -> Decimal | None:
    """The number that a text spells; None for one that cannot be read, such as ``1.2.3``.

    If it has both a point and a comma, the last one begins the fraction. A single one before exactly three digits
    groups thousands, as in business amounts, except after a zero (``0.125``).
    """
    plain = _SPACES.sub("", written)
    marks = re.findall(r"[.,]", plain)
    if not marks:
        return Decimal(plain)
    if _INDIAN.fullmatch(plain):
        return Decimal(plain.replace(",", ""))
    last = marks[-1]
    if len(set(marks)) == 1:
        return _parse_with_one_mark(plain, last)
    grouping = "," if last == "." else "."
    if marks.count(last) > 1 or not _is_grouped(plain.rpartition(last)[0], grouping):
        return None
    return Decimal(plain.replace(grouping, "").replace(last, "."))


def _parse_with_one_mark(plain: str, mark: str) -> Decimal | None:
    head, *rest = plain.split(mark)
    if len(rest) > 1 or (len(rest[0]) == _GROUP_DIGITS and head.strip("0") and len(head) <= _GROUP_DIGITS):
        return Decimal(head + "".join(rest)) if _is_grouped(plain, mark) else None
    return Decimal(f"{head}.{rest[0]}")


def _is_grouped(whole: str, mark: str) -> bool:
    head, *rest = whole.split(mark)
    return bool(head) and len(head) <= _GROUP_DIGITS and all(len(group) == _GROUP_DIGITS for group in rest)


def number_as_text(number: Decimal) -> str:
    """The number without exponent or trailing zeros, so that equal numbers have equal texts."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "fi", "cs", "tr")
_MONTH = r"(?P<month>[^\W\d_]{3,12})\.?"
_NTH = r"(?:st|nd|rd|th|er|\.)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})(?![\d-])",
        r"(?<![\w/])(?P<year>\d{4})/(?P<m>\d{1,2})/(?P<day>\d{1,2})(?![\d/])",
        r"(?<![\w.])(?P<day>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<year>\d{4})(?!\d)",
        r"(?P<year>\d{4})年(?P<m>\d{1,2})月(?P<day>\d{1,2})日",
        rf"(?<![\w.])(?P<day>\d{{1,2}}){_NTH}?[ ](?:de |of )?{_MONTH}(?: de|,)?[ ](?P<year>\d{{4}})(?!\d)",
        rf"(?<!\w){_MONTH}[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[ ](?P<year>\d{{4}})(?!\d)",
    )
)
_SLASHED = re.compile(r"(?<![\w/])(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4})(?![\d/])")
_MONTHS_A_YEAR = 12


def find_dates(text: str) -> Iterator[FoundEntity]:
    """Yields the dates in a text as ISO 8601; an ambiguous one (``03/04/2026``) as it is written."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["m"]) if parts.get("m") else month_numbers().get(parts["month"].casefold(), 0)
            yield from _find_date(match, int(parts["year"]), month, int(parts["day"]))
    for match in _SLASHED.finditer(text):
        yield from _read_slashed(match)


def _read_slashed(match: re.Match[str]) -> Iterator[FoundEntity]:
    first, second, year = int(match["a"]), int(match["b"]), int(match["year"])
    if first > _MONTHS_A_YEAR or first == second:
        yield from _find_date(match, year, second, first)
    elif second > _MONTHS_A_YEAR:
        yield from _find_date(match, year, first, second)
    elif _is_date(year, first, second):
        yield FoundEntity(EntityKind.DATE, match[0], match[0], match.start(), match.end())


def _find_date(match: re.Match[str], year: int, month: int, day: int) -> Iterator[FoundEntity]:
    if _is_date(year, month, day):
        said = date(year, month, day).isoformat()
        yield FoundEntity(EntityKind.DATE, said, said, match.start(), match.end())


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


@cache
def month_numbers() -> dict[str, int]:
    """The number of each month, by its name or abbreviation in lower case without a full stop."""
    names: dict[str, int] = {}
    for language in _LANGUAGES:
        forms = Locale(language).months
        for form in (forms["format"], forms["stand-alone"]):
            for width in ("abbreviated", "wide"):
                for number, name in form[width].items():
                    names.setdefault(str(name).casefold().rstrip("."), int(number))
    return names


_CAPITAL = r"(?:[A-ZÀ-ÖØ-ÞŁŚŽČĆŠĐŻ][\w&'’-]*|\d[A-Za-z]\w*)"
_NAME = rf"{_CAPITAL}(?:[ ](?:&[ ]|and[ ]|de[ ]|van[ ]|von[ ])?{_CAPITAL})"  # a count of further words follows it
_LEGAL = (
    r"(?:Inc|Incorporated|Ltd|Limited|LLC|LLP|PLC|plc|Corp|Corporation|Company|Co|GmbH(?: & Co\.? KG)?|AG|KG|OHG|SE|eG|"
    r"S\.A\.S|SAS|SARL|S\.A\.R\.L|S\.A|SA|S\.p\.A|SpA|S\.r\.l|Srl|S\.L|SL|Lda|Ltda|B\.V|BV|N\.V|NV|Oyj|Oy|AB|A/S|ApS|ASA|AS|"
    r"Pty Ltd|Pvt Ltd|Pte Ltd|Sp\. z o\.o|S\.r\.o|s\.r\.o|a\.s|Kft|Zrt|K\.K|KK|Sdn Bhd|Bhd|Group|Holdings?)"
)
_COMPANY = re.compile(rf"(?<!\w)(?P<name>{_NAME}{{0,4}}?),?[ ](?P<legal>{_LEGAL})(?![\w])")
_LABELLED = re.compile(
    rf"(?i:\b(?:vendor|supplier|customer|client|company|payee|merchant|provider|manufacturer|account name)(?: name)?)"
    rf"(?:\s*[:=]\s*|\s+)(?P<name>{_NAME}{{0,3}})"
)
_DEALT_WITH = re.compile(
    r"(?i:\b(?:invoices?|bills?|quotes?|offers?|orders?|contracts?|payments?|deliver(?:y|ies)|statements?|purchases?|credits?))\b"
    rf"[^.;:\n]{{0,40}}?\b(?:from|with|by|of|to)[ ](?P<name>{_NAME}{{0,3}})(?!\w|-\d)"
)
_PERSON_WITH_TITLE = re.compile(
    r"(?<!\w)(?P<title>Mrs?|Ms|Miss|Dr|Prof|Sir|Herr|Frau|Mme|Mlle|Monsieur|Madame|Sra?|Sig|Señora?|Dhr|Mevr)\.?[ ]"
    rf"(?P<name>{_NAME}{{0,2}})"
)
_IN_A_ROLE = re.compile(
    r"(?i:\b(?:employee|manager|approver|requester|requestor|contact|colleague|applicant|director|accountant|owner|"
    r"(?:submitted|approved|requested|signed|reported|paid|filed|raised) by|on behalf of))(?:\s*[:=]\s*|\s+)"
    rf"(?P<name>{_NAME}{{1,2}})"
)
_PRODUCT = re.compile(
    rf"(?<!\w)(?P<name>{_NAME}{{0,2}}?[ ]"
    r"(?:Plan|Tier|Edition|Suite|Licen[cs]e|Package|Subscription|Module|Bundle))(?!\w)"
)
# What begins a sentence or a line in capitals and belongs to no name.
_NO_NAME = frozenset(
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
_CODE = re.compile(r"[A-Z]{1,6}-?\d[\w-]*")


def find_names(text: str) -> Iterator[FoundEntity]:
    for match in _PRODUCT.finditer(text):
        yield from _find_name(EntityKind.PRODUCT, match.start("name"), match["name"])
    for match in _COMPANY.finditer(text):
        yield from _find_company(match)
    for pattern, kind in (
        (_PERSON_WITH_TITLE, EntityKind.PERSON),
        (_IN_A_ROLE, EntityKind.PERSON),
        (_LABELLED, EntityKind.VENDOR),
        (_DEALT_WITH, EntityKind.VENDOR),
    ):
        for match in pattern.finditer(text):
            yield from _find_name(kind, match.start("name"), match["name"])


def name_without_legal_form(value: str) -> str:
    """A company's name without its legal form."""
    found = re.fullmatch(rf"(?P<name>.+?),?[ ]{_LEGAL}\.?", value)
    return found["name"] if found else value


def _find_company(match: re.Match[str]) -> Iterator[FoundEntity]:
    for found in _find_name(EntityKind.VENDOR, match.start("name"), match["name"]):
        legal = match["legal"]
        yield found._replace(value=f"{found.value} {legal}", end=match.end())


def _find_name(kind: EntityKind, start: int, written: str) -> Iterator[FoundEntity]:
    """Yields the name without common words at its ends; nothing if no name is left."""
    words = written.split(" ")
    while words and _is_common_word(words[0]):
        start += len(words.pop(0)) + 1
    while words and _is_common_word(words[-1]):
        words.pop()
    name = " ".join(words).rstrip("'’-&")
    if name and len(name) <= _LONGEST_NAME and not _CODE.fullmatch(name) and any(map(str.isalpha, name)):
        bare = name.removesuffix("'s").removesuffix("’s")
        yield FoundEntity(kind, bare, " ".join(bare.casefold().split()), start, start + len(bare))


def _is_common_word(word: str) -> bool:
    plain = word.casefold().strip("'’-&,")
    return plain in _NO_NAME or plain in month_numbers() or _CODE.fullmatch(word) is not None


TEXT_LOOKED_AT = 4_000
MOST = 40  # entities of one task
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?![\w@])")
_REFERENCE = re.compile(
    r"(?<![\w./@-])(?=[A-Z0-9-]{0,30}\d)[A-Z][A-Z0-9]{0,9}(?:[-_/][A-Z0-9]{1,12}){1,4}(?![\w-])|(?<![\w./@-])[A-Z]{2,4}\d{4,14}(?!\w)"
)
_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


def find_entities(text: str) -> tuple[FoundEntity, ...]:
    """The entities in a text, each once, in order and without overlap."""
    shown = text[:TEXT_LOOKED_AT]
    kept: list[FoundEntity] = []
    for found in sorted(
        _find_overlapping_entities(shown), key=lambda one: (_ORDER[one.kind], one.start - one.end, one.start)
    ):
        if not any(found.start < other.end and other.start < found.end for other in kept):
            kept.append(found)
    kept.sort(key=lambda one: one.start)
    return tuple(_merge_by_field(kept))[:MOST]


def names_of(found: FoundEntity) -> tuple[str, ...]:
    """The names by which later tasks may call the entity."""
    short = name_without_legal_form(found.value)
    return (found.value, short) if short != found.value else (found.value,)


def _find_overlapping_entities(text: str) -> Iterator[FoundEntity]:
    for match in _EMAIL.finditer(text):
        address = match[0].rstrip(".").lower()
        yield FoundEntity(EntityKind.EMAIL, address, address, match.start(), match.end())
    yield from find_dates(text)
    yield from find_amounts(text)
    yield from find_percentages(text)
    for match in _REFERENCE.finditer(text):
        yield FoundEntity(EntityKind.REFERENCE, match[0], match[0].casefold(), match.start(), match.end())
    yield from find_names(text)


def _merge_by_field(found: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
    """One entity for each stored field, in its longest spelling."""
    by_field: dict[str, FoundEntity] = {}
    for one in found:
        known = by_field.get(one.field)
        by_field[one.field] = one if known is None or len(one.value) > len(known.value) else known
    return iter(by_field.values())


_CODES = frozenset(list_currencies())
_ALSO_WORDS = frozenset({"ALL", "TOP", "TRY", "CUP", "MOP", "PEN"})  # "ALL 3 invoices" names no currency
_OF_ONE = {  # signs that name one currency; one that several share stays a sign
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
_SIGNS = {sign: code for code, signs in _OF_ONE.items() for sign in signs.split()}
_SIGNS |= {"$": "$", "¥": "¥", "￥": "¥", "kr": "kr", "A$": "AUD", "S$": "SGD"}
for _code in ("USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"):  # US$ in English, $US in French
    _SIGNS |= dict.fromkeys((f"{_code[:2]}$", f"${_code[:2]}", f"$\u00a0{_code[:2]}"), _code)
_WORDS = dict.fromkeys(("dollar", "dollars"), "$") | dict.fromkeys(("euro", "euros"), "EUR")
_WORDS |= dict.fromkeys(("pound", "pounds"), "GBP") | {"yen": "JPY", "rupees": "INR", "francs": "CHF"}
_TIMES = {"k": 1_000, "m": 1_000_000, "mn": 1_000_000, "million": 1_000_000, "thousand": 1_000}
_TIMES |= {"bn": 1_000_000_000, "b": 1_000_000_000, "billion": 1_000_000_000}
_SCALE = r"(?:\s?(?P<times>thousand|million|billion|bn|mn|[kKmMB])(?![^\W\d_]))?"
_SIGN = "|".join(sorted(map(re.escape, _SIGNS), key=len, reverse=True))
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_BEFORE = re.compile(
    rf"(?<![\w.,])(?P<sign>(?:{_SIGN})|[A-Z]{{3}})[ \u00a0]?(?P<number>{NUMBER}){_SCALE}(?!\d|[.,]\d|%)"
)
_AFTER = re.compile(
    rf"(?<![\w.,-])(?P<number>{NUMBER}){_SCALE}[ \u00a0\u202f]?"
    rf"(?P<sign>(?:{_SIGN})|[A-Z]{{3}}|(?i:{_WORD}))(?!\w)"
)
_PERCENT = re.compile(
    rf"(?<![\w.,])(?P<number>{NUMBER})[ \u00a0\u202f]?(?:%|(?i:per ?cent|prozent|pour ?cent|por ciento|procent)(?!\w))"
)


def find_amounts(text: str) -> Iterator[FoundEntity]:
    """Yields the amounts of money with a currency."""
    for pattern in (_BEFORE, _AFTER):
        for match in pattern.finditer(text):
            currency = _find_currency(match["sign"], alone=pattern is _BEFORE)
            number = read_number(match["number"])
            if currency and number is not None:
                times = _TIMES.get((match["times"] or "").lower(), 1)
                same = f"{number_as_text(number * times)} {currency}".casefold()
                yield FoundEntity(EntityKind.AMOUNT, match[0], same, match.start(), match.end())


def find_percentages(text: str) -> Iterator[FoundEntity]:
    for match in _PERCENT.finditer(text):
        number = read_number(match["number"])
        if number is not None:
            said = f"{number_as_text(number)}%"
            yield FoundEntity(EntityKind.PERCENTAGE, said, said, match.start(), match.end())


def _find_currency(sign: str, *, alone: bool) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign in _CODES and not (alone and sign in _ALSO_WORDS):
        return sign
    return _WORDS.get(sign.lower(), "")
