"""Currencies of ISO 4217 with their signs, words and minor units; units of measure in three languages."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.figures.vocabulary import fold
from shared.domain.exact_json import Json


class Unit(NamedTuple):
    """A unit of measure: its English name, what it measures, and how many of that measure's first unit it holds."""

    name: str
    measure: str
    size: Fraction


# The first word of each unit is its name.
_UNITS: Mapping[str, Mapping[str, Fraction | int | str]] = {
    "time": {
        "milliseconds ms msec millisecond millisekunde millisekunden milliseconde millisecondes": "1/1000",
        "seconds s sec secs second sekunde sekunden seconde secondes": 1,
        "minutes min mins minute minuten": 60,
        "hours h hr hrs hour stunde stunden std heure heures": 3600,
        "days day tag tage tagen jour jours": 86_400,
        "weeks week woche wochen semaine semaines": 604_800,
    },
    "month": {
        "months month monat monate monaten mois": 1,
        "years year jahr jahre jahren jahres yr yrs an ans annee annees": 12,
    },
    "mass": {
        "mg": "1/1000", "g gram grams gramm gramme grammes": 1, "kg kilo kilos kilogram kilograms": 1000,
        "tonnes tonne tonnen": 1_000_000, "lb lbs": "453.59237", "oz ounce ounces": "28.349523125",
    },
    "length": {
        "mm": "1/1000", "cm": "1/100", "m metre metres meter meters": 1,
        "km kilometre kilometres kilometer kilometers": 1000, "miles mile": "1609.344", "ft foot feet": "0.3048",
        "inches inch": "0.0254",
    },
    "volume": {"ml": "1/1000", "cl": "1/100", "l litre litres liter liters": 1},
    "data": {"kb": "1/1000", "mb": 1, "gb": 1000, "tb": 1_000_000},
    "percent": {"% percent percentage prozent pct": 1, "bps bp": "1/100"},
}  # fmt: skip
UNITS: Mapping[str, Unit] = {
    word: Unit(words.split()[0], measure, Fraction(size))
    for measure, sizes in _UNITS.items()
    for words, size in sizes.items()
    for word in words.split()
}
PERCENT = UNITS["%"]


# Active codes and the places that differ from two: ISO 4217 list one (six-group.com, "List one: current currency").
CURRENCIES = frozenset(
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF "
    "CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA "
    "MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD "
    "RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG".split()
)
_PLACES = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
    "CLF": 4,
}


class Money(NamedTuple):
    """The currencies that a sign or word can mean; ``is_minor`` for cents and their like."""

    codes: frozenset[str]
    is_minor: bool = False


_DOLLARS = "AUD BBD BMD BND BSD BZD CAD CLP COP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD TWD USD XCD"
_POUNDS = "GBP EGP FKP GIP LBP SHP SSP SYP"
_SIGNS = {
    "$": _DOLLARS, "€": "EUR", "£": _POUNDS, "¥": "JPY CNY", "₹": "INR", "₩": "KRW", "₺": "TRY", "₽": "RUB",
    "₴": "UAH", "₫": "VND", "₪": "ILS", "₱": "PHP", "US$": "USD", "A$": "AUD", "C$": "CAD", "CA$": "CAD",
    "NZ$": "NZD", "S$": "SGD", "HK$": "HKD", "R$": "BRL", "Fr.": "CHF", "SFr.": "CHF",
}  # fmt: skip
_WORDS = {
    "euro euros eur": "EUR", "dollar dollars buck bucks": _DOLLARS, "pound pounds quid pfund livre livres": _POUNDS,
    "franc francs franken": "CHF XOF XAF", "yen": "JPY", "yuan renminbi": "CNY", "rupee rupees": "INR PKR LKR NPR",
    "zloty zlotys zł": "PLN", "krona kronor krone kroner kr": "SEK NOK DKK", "peso pesos": "MXN PHP ARS CLP COP",
    "real reais": "BRL", "won": "KRW",
}  # fmt: skip
_MINOR_WORDS = {
    "cent cents ct cts": f"EUR {_DOLLARS}", "pence penny pennies p": "GBP", "rappen centime centimes": "CHF EUR",
}  # fmt: skip


def _each_word(table: Mapping[str, str], *, is_minor: bool = False) -> dict[str, Money]:
    return {word: Money(frozenset(codes.split()), is_minor) for words, codes in table.items() for word in words.split()}


# Signs as they stand, folded words, and codes in capitals.
MONEY: Mapping[str, Money] = {
    **_each_word(_SIGNS),
    **_each_word(_WORDS),
    **_each_word(_MINOR_WORDS, is_minor=True),
    **{code: Money(frozenset({code})) for code in CURRENCIES},
}
SIGNS = tuple(sorted(_SIGNS, key=len, reverse=True))
_CODE = re.compile(r"(?<![A-Z])[A-Z]{3}(?![A-Z])")
_WORD = re.compile(r"[^\W\d_]{3,}")


def places(code: str) -> int:
    """The decimal places of a currency's minor unit: 0 for JPY, 3 for KWD; 2 where none is named."""
    return _PLACES.get(code, 2)


def minor_places(money: Money | None) -> int:
    """The places of the minor unit, where the currency is settled; else two."""
    return places(next(iter(money.codes))) if money and len(money.codes) == 1 else 2


def is_currency(value: Json) -> bool:
    """Whether a value is nothing but a currency code."""
    return isinstance(value, str) and value.strip() in CURRENCIES


def one_currency(values: Iterable[Json]) -> str | None:
    """The code that fits all the amounts as written; empty where they do not settle it, None where none fits all."""
    fitting = CURRENCIES
    for value in values:
        fitting &= _possible_currencies(value) if isinstance(value, str) else CURRENCIES
    if not fitting:
        return None
    return next(iter(fitting)) if len(fitting) == 1 else ""


def _possible_currencies(text: str) -> frozenset[str]:
    if written := frozenset(_CODE.findall(text)) & CURRENCIES:
        return written
    if sign := next((sign for sign in SIGNS if sign in text), None):
        return MONEY[sign].codes
    words = (MONEY.get(fold(word)) for word in _WORD.findall(text))
    return next((money.codes for money in words if money and not money.is_minor), CURRENCIES)


def agree_in_currency(one: Money | None, other: Money | None) -> bool:
    """Whether two amounts can be of one currency; an amount without currency agrees with any."""
    return one is None or other is None or not one.codes.isdisjoint(other.codes)
