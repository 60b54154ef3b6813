"""All that a text names, found without a model: people, vendors, products, money, dates, addresses, reference ids."""

import re
from collections.abc import Iterable, Iterator

from babel.numbers import list_currencies

from services.learner.core.entities.dates import dates
from services.learner.core.entities.kinds import EntityKind, FoundEntity
from services.learner.core.entities.names import names, short_name
from services.learner.core.entities.numbers import NUMBER, plain, read_number

TEXT_LOOKED_AT = 4_000
MOST = 40  # entities of one task
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}(?![\w@])")
_REFERENCE = re.compile(
    r"(?<![\w./@-])(?=[A-Z0-9-]{0,30}\d)[A-Z][A-Z0-9]{0,9}(?:[-_/][A-Z0-9]{1,12}){1,4}(?![\w-])|(?<![\w./@-])[A-Z]{2,4}\d{4,14}(?!\w)"
)
_ORDER = {kind: place for place, kind in enumerate(EntityKind)}


def find_entities(text: str) -> tuple[FoundEntity, ...]:
    """Each once, in the order of appearance; no two of them of the same words."""
    shown = text[:TEXT_LOOKED_AT]
    kept: list[FoundEntity] = []
    for found in sorted(_all(shown), key=lambda one: (_ORDER[one.kind], one.start - one.end, one.start)):
        if not any(found.start < other.end and other.start < found.end for other in kept):
            kept.append(found)
    kept.sort(key=lambda one: one.start)
    return tuple(_merge(kept))[:MOST]


def names_of(found: FoundEntity) -> tuple[str, ...]:
    """The ways in which a later task may write it."""
    short = short_name(found.value)
    return (found.value, short) if short != found.value else (found.value,)


def _all(text: str) -> Iterator[FoundEntity]:
    for match in _EMAIL.finditer(text):
        address = match[0].rstrip(".").lower()
        yield FoundEntity(EntityKind.EMAIL, address, address, match.start(), match.end())
    yield from dates(text)
    yield from amounts(text)
    yield from percentages(text)
    for match in _REFERENCE.finditer(text):
        yield FoundEntity(EntityKind.REFERENCE, match[0], match[0].casefold(), match.start(), match.end())
    yield from names(text)


def _merge(found: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
    """One of each, in its longest writing; a name that is the same as a company's is that company."""
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


def amounts(text: str) -> Iterator[FoundEntity]:
    """Amounts with a currency; a number without one is none."""
    for pattern in (_BEFORE, _AFTER):
        for match in pattern.finditer(text):
            currency = _currency(match["sign"], alone=pattern is _BEFORE)
            number = read_number(match["number"])
            if currency and number is not None:
                times = _TIMES.get((match["times"] or "").lower(), 1)
                same = f"{plain(number * times)} {currency}".casefold()
                yield FoundEntity(EntityKind.AMOUNT, match[0], same, match.start(), match.end())


def percentages(text: str) -> Iterator[FoundEntity]:
    for match in _PERCENT.finditer(text):
        number = read_number(match["number"])
        if number is not None:
            said = f"{plain(number)}%"
            yield FoundEntity(EntityKind.PERCENTAGE, said, said, match.start(), match.end())


def _currency(sign: str, *, alone: bool) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign in _CODES and not (alone and sign in _ALSO_WORDS):
        return sign
    return _WORDS.get(sign.lower(), "")
