"""Currencies of ISO 4217 and the decimal places of their minor units."""

import re

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
_SIGNS = {"€": "EUR", "£": "GBP"}  # the dollar's and the yen's sign are shared by several currencies
_CODE = re.compile(r"(?<![A-Z])[A-Z]{3}(?![A-Z])")


def places(code: str) -> int:
    """The decimal places of a currency's minor unit: 0 for JPY, 3 for KWD; 2 where none is named."""
    return _PLACES.get(code, 2)


def is_currency(value: Json) -> bool:
    """Whether a value is nothing but a currency code."""
    return isinstance(value, str) and value.strip() in _CODES


def currency_of(value: Json) -> str:
    """The code that an amount is written with (``"12 USD"``, ``"€5"``) or that it is; empty where none is said."""
    if not isinstance(value, str):
        return ""
    written = [code for code in _CODE.findall(value) if code in _CODES]
    return written[0] if written else next((code for sign, code in _SIGNS.items() if sign in value), "")
