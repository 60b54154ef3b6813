"""Currencies of ISO 4217 and the decimal places of their minor units."""

import re
from collections.abc import Iterable

from shared.domain.exact_json import Json

# Active codes and the places that differ from two: ISO 4217 list one (six-group.com, "List one: current currency").
_CODES = frozenset(
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
_DOLLARS = "AUD BBD BMD BND BSD BZD CAD CLP COP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD TWD USD XCD"
_SIGNS = {  # a sign that several currencies share only says which ones it can be
    "$": frozenset(_DOLLARS.split()),
    "¥": frozenset({"JPY", "CNY"}),
    "€": frozenset({"EUR"}),
    "£": frozenset({"GBP", "EGP", "FKP", "GIP", "LBP", "SHP", "SSP", "SYP"}),
}
_CODE = re.compile(r"(?<![A-Z])[A-Z]{3}(?![A-Z])")


def places(code: str) -> int:
    """The decimal places of a currency's minor unit: 0 for JPY, 3 for KWD; 2 where none is named."""
    return _PLACES.get(code, 2)


def is_currency(value: Json) -> bool:
    """Whether a value is nothing but a currency code."""
    return isinstance(value, str) and value.strip() in _CODES


def one_currency(values: Iterable[Json]) -> str | None:
    """The code that fits all the amounts as written; empty where they do not settle it, None where none fits all."""
    fitting = _CODES
    for value in values:
        fitting &= _possible(value)
    if not fitting:
        return None
    return next(iter(fitting)) if len(fitting) == 1 else ""


def _possible(value: Json) -> frozenset[str]:
    if not isinstance(value, str):
        return _CODES
    written = frozenset(_CODE.findall(value)) & _CODES
    return written or next((codes for sign, codes in _SIGNS.items() if sign in value), _CODES)
