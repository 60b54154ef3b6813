"""Numbers and amounts as people and tool servers write them: ``1,234.50``, ``1.234,50 €``, ``20 %``, ``one third``."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple

from services.executor.core.finance.figures import figure, number_bearing_tokens
from services.executor.core.finance.number_words import begins_number, number_in_words
from shared.domain.exact_json import Json

Number = Decimal | Fraction
_LONGEST = 60  # characters; whatever is longer is no number
_MOST_POWER = 50  # of ten; a number beyond it is no figure of any business

_CODE_WORDS = {
    "euro": "EUR", "euros": "EUR", "dollar": "$", "dollars": "$", "pound": "£", "pounds": "£", "yen": "JPY",
    "yuan": "CNY", "rupee": "INR", "rupees": "INR", "franc": "CHF", "francs": "CHF",
}  # fmt: skip
_UNIT_WORDS = {
    "cent": "cents", "cents": "cents", "penny": "cents", "pence": "cents", "minor": "cents",
    "second": "seconds", "seconds": "seconds", "sec": "seconds", "secs": "seconds",
    "minute": "minutes", "minutes": "minutes", "min": "minutes", "mins": "minutes",
    "hour": "hours", "hours": "hours", "hr": "hours", "hrs": "hours", "h": "hours",
    "day": "days", "days": "days", "week": "weeks", "weeks": "weeks", "month": "months", "months": "months",
    "year": "years", "years": "years",
}  # fmt: skip
_SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "mio": 6, "million": 6, "bn": 9, "billion": 9}
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10,
}  # fmt: skip
_SIGNS = {"½": Fraction(1, 2), "⅓": Fraction(1, 3), "⅔": Fraction(2, 3), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
# What a word of the task says without a numeral: "compounded monthly", "half of it", "twice the fee".
_IMPLIED = {
    "monthly": 12, "quarterly": 4, "yearly": 1, "annually": 1, "annual": 1, "semiannually": 2, "weekly": 52,
    "daily": 365, "twice": 2, "double": 2, "doubled": 2, "triple": 3, "thrice": 3, "week": 7, "fortnight": 14,
    "dozen": 12, "year": 12, "quarter": 3,
}  # fmt: skip

_WORDS = "|".join(sorted({*_CODE_WORDS, *_UNIT_WORDS}, key=len, reverse=True))
_MONEY = r"(?:(?-i:[A-Z]{3})(?=\W|\d|$)|(?:US|C|A|HK|S|NZ)?\$|[€£¥])"
_DIGITS = (
    r"(?:(?P<english>[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?)"
    r"|(?P<european>[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,})"
    r"|(?P<spaced>[1-9]\d{0,2}(?:[ '’]\d{3})+(?:[.,]\d+)?)"
    r"|(?P<comma>(?:0|[1-9]\d*),\d{1,2})"
    r"|(?P<plain>(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+))"
)
_WRITTEN = re.compile(
    rf"(?P<minus>-)?\s*(?:{_MONEY})?\s*(?P<late>-)?\s*{_DIGITS}\s*(?P<scale>{'|'.join(_SCALES)})?"
    rf"\s*-?(?P<suffix>%|per\s?cent|percent|pct|{_MONEY}|(?:{_WORDS})\b)?",
    re.I,
)
_PERCENT = re.compile(r"(.*?)\s*(?:%|per\s?cent|percent|pct)", re.I | re.DOTALL)
_STROKE = re.compile(r"(?:(\d{1,6})\s+)?(\d{1,6})\s?/\s?([1-9]\d{0,5})")
_PART = re.compile(rf"(?:(?P<whole>[\w -]+?)\s+and\s+)?(?:(?P<count>[a-z0-9]+)[\s-]+)?(?P<part>{'|'.join(_PARTS)})s?"
                   r"(?:\s+of)?", re.I)  # fmt: skip
_SPELLINGS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " "})
_SPELLED = re.compile(
    rf"(?<![\w.,:/-])-?(?:{_MONEY})?\s?-?{_DIGITS}(?:[\s-]*(?:%|(?:{'|'.join(_SCALES)}|per\s?cent|percent|pct)\b|{_MONEY}"
    rf"|(?:{_WORDS})\b))?(?!\w|[.,:/-]\d)",
    re.I,
)
_HYPHENED = re.compile(r"(?<![\w.,/-])(\d+(?:\.\d+)?)(?=-[a-z]{3,}|x\b)|(?<![\w-])(\d+)[-–](\d+)(?![\w-])")
_WORD_RUN = re.compile(r"[A-Za-z]+(?:[\s-]+[A-Za-z]+){0,7}|[½⅓⅔¼¾]")
_FRACTION_STROKE = re.compile(r"(?<![\w/.-])\d{1,4}/[1-9]\d{0,3}(?![\w/.-])")
_WORD = re.compile(r"[A-Za-z]+")


class WrittenAmount(NamedTuple):
    """A number as it is written. ``style``: whether it is a percentage (20 for 20 %), or a fraction of something."""

    number: Number
    style: Literal["", "percent", "fraction"] = ""
    unit: str = ""


def read_amount(value: Json) -> WrittenAmount | None:
    """What a JSON value or a text states where it is a number and nothing else; None for identifiers, dates, prose."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    if not isinstance(value, str):
        return WrittenAmount(Decimal(value)) if abs(Decimal(value).adjusted()) <= _MOST_POWER else None
    return _read_text(value) if len(value) <= _LONGEST else None


def add_currency_code(value: Json) -> str:
    """A written amount with its currency as a code or sign: ``12 euros`` as ``12 EUR``."""
    if not isinstance(value, str):
        return ""
    named = [_CODE_WORDS[word] for word in _WORD.findall(value.lower()) if word in _CODE_WORDS]
    return f"{value} {named[0]}" if named else value


def to_fraction(number: Number) -> Fraction:
    return Fraction(number)


def find_writings(text: str) -> Iterator[str]:
    """Every piece of a text that states a number, as it stands there."""
    spelled = text.translate(_SPELLINGS)
    yield from number_bearing_tokens(spelled)
    yield from (match[0] for match in _SPELLED.finditer(spelled))
    yield from (part for match in _HYPHENED.finditer(spelled) for part in match.groups() if part)
    yield from (match[0] for match in _FRACTION_STROKE.finditer(spelled))
    for match in _WORD_RUN.finditer(spelled):
        yield from _find_spelled_out(match[0])


@lru_cache(maxsize=64)  # a task's text is asked about by each operand
def find_amounts(text: str) -> dict[Fraction, tuple[str, ...]]:
    """The numbers that a text states, and how it writes each of them."""
    found: dict[Fraction, dict[str, None]] = {}
    for writing in find_writings(text):
        for number in _read_numbers(writing):
            found.setdefault(number, {})[writing.strip()] = None
    return {number: tuple(writings) for number, writings in found.items()}


def read_implied_word(word: str) -> WrittenAmount | None:
    """The number that a word stands for without a numeral: ``monthly`` for 12 times a year."""
    number = _IMPLIED.get(word.casefold())
    return WrittenAmount(Decimal(number)) if number is not None else None


def _read_numbers(writing: str) -> list[Fraction]:
    amount = read_amount(writing) or read_implied_word(writing)
    return [to_fraction(amount.number)] if amount is not None else []


@lru_cache(maxsize=16_384)  # the same amounts are read by conditions, sums and the audit
def _read_text(text: str) -> WrittenAmount | None:
    plain = text.translate(_SPELLINGS).strip()
    if not plain:
        return None
    if (number := figure(plain)) is not None:
        return WrittenAmount(number, "percent" if plain.endswith("%") else "", "")
    if match := _WRITTEN.fullmatch(plain):
        return _written_amount(match)
    percent = _PERCENT.fullmatch(plain)
    if percent:
        inner = _read_text(percent[1])
        return WrittenAmount(inner.number, "percent") if inner is not None and not inner.style else None
    return _read_fraction(plain) or _read_words(plain)


def _written_amount(match: re.Match[str]) -> WrittenAmount | None:
    if match["minus"] and match["late"]:
        return None
    digits = _plain_digits(match)
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 0
    number = Decimal(f"{'-' if match['minus'] or match['late'] else ''}{digits}E{scale}")
    suffix = (match["suffix"] or "").lower()
    style: Literal["", "percent"] = "percent" if suffix.startswith(("%", "per", "pct")) else ""
    return WrittenAmount(number, style, _UNIT_WORDS.get(suffix, ""))


def _plain_digits(match: re.Match[str]) -> str:
    if match["english"]:
        return match["english"].replace(",", "")
    if match["european"]:
        return match["european"].replace(".", "").replace(",", ".")
    if match["spaced"]:
        return re.sub("[ '’]", "", match["spaced"]).replace(",", ".")
    return (match["comma"] or match["plain"]).replace(",", ".")


def _read_fraction(text: str) -> WrittenAmount | None:
    if text in _SIGNS:
        return WrittenAmount(_SIGNS[text], "fraction")
    if match := _STROKE.fullmatch(text):
        whole, over, under = match.groups()
        return WrittenAmount(Fraction(int(whole or 0)) + Fraction(int(over), int(under)), "fraction")
    match = _PART.fullmatch(text)
    if match is None:
        return None
    count = _read_count(match["count"] or "one")
    whole_part = _read_count(match["whole"]) if match["whole"] else 0
    if count is None or whole_part is None:
        return None
    return WrittenAmount(whole_part + Fraction(count, _PARTS[match["part"].lower()]), "fraction")


def _read_count(word: str) -> int | None:
    if word.lower() in ("a", "an"):
        return 1
    return int(word) if word.isascii() and word.isdigit() else number_in_words(word)


def _read_words(text: str) -> WrittenAmount | None:
    words = text.split()
    unit = _UNIT_WORDS.get(words[-1].lower(), "")
    is_counted = len(words) > 1 and (unit or words[-1].lower() in _CODE_WORDS)
    number = number_in_words(" ".join(words[:-1]) if is_counted else text)
    return WrittenAmount(Decimal(number), "", unit if is_counted else "") if number is not None else None


def _find_spelled_out(run: str) -> Iterator[str]:
    """The numbers in a run of words, each as long as it goes: ``two hundred`` states no 2. A mere ``one`` is none."""
    words = run.split()
    first = 0
    while first < len(words):
        ends = range(len(words), first, -1) if _may_begin(words[first]) else ()
        last = next((end for end in ends if _read_numbers(" ".join(words[first:end]))), None)
        if last is not None and words[first:last] not in (["one"], ["One"]):
            yield " ".join(words[first:last])
        first = last or first + 1


def _may_begin(word: str) -> bool:
    first = word.lower().split("-")[0]
    return first in ("a", "an") or first in _PARTS or first in _IMPLIED or word in _SIGNS or begins_number(first)
