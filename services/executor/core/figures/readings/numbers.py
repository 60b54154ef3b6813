"""Numbers and amounts in a text, however they are written: digits, words, fractions, with currency or unit."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from services.executor.core.figures.readings.tokens import SpelledNumber, WrittenToken
from services.executor.core.figures.readings.vocabulary import Money, Unit, currency_codes, fold, money_words, units

Number = Decimal | Fraction


class NumberMention(NamedTuple):
    """A number where it stands. ``values``: every number that the writing can mean, likeliest first."""

    start: int
    end: int
    text: str
    values: tuple[Number, ...]
    money: Money | None = None
    unit: Unit | None = None
    is_spelled: bool = False


_GAPS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_BODY = rf"\d{{1,3}}(?:[{_GAPS}]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*(?:[.,]\d+)?"
_SCALES = {
    "k": 3, "thousand": 3, "thousands": 3, "tausend": 3, "tsd": 3, "mille": 3, "hundred": 2, "hundert": 2,
    "mn": 6, "million": 6, "millions": 6, "millionen": 6, "mio": 6, "bn": 9, "mrd": 9, "milliarde": 9,
    "milliarden": 9, "milliard": 9, "milliards": 9,
}  # fmt: skip
_ENGLISH_BILLION = {"billion": 9, "billions": 9}
_WORDS_OF_HALVES = {
    "half": 2,
    "halb": 2,
    "halbe": 2,
    "halben": 2,
    "halbes": 2,
    "halfte": 2,
    "moitie": 2,
    "demi": 2,
    "demie": 2,
}
_PARTS = {
    **_WORDS_OF_HALVES, "halves": 2, "third": 3, "thirds": 3, "drittel": 3, "tiers": 3, "quarter": 4, "quarters": 4,
    "viertel": 4, "quart": 4, "quarts": 4, "fifth": 5, "fifths": 5, "funftel": 5, "cinquieme": 5, "tenth": 10,
    "tenths": 10, "zehntel": 10, "dixieme": 10,
}  # fmt: skip
_ONE = frozenset("a an one the by um ein eine einem einen die un une la le d le".split())
_JOINS = frozenset("and und et".split())
_WHOLE_WORDS = {
    "anderthalb": Fraction(3, 2), "eineinhalb": Fraction(3, 2), "zweieinhalb": Fraction(5, 2),
    "dreieinhalb": Fraction(7, 2),
    "twice": Fraction(2), "double": Fraction(2), "doppelt": Fraction(2), "triple": Fraction(3), "dozen": Fraction(12),
    "dutzend": Fraction(12), "douzaine": Fraction(12),
}  # fmt: skip
_AFTER = re.compile(rf"[{_GAPS}]?-?[{_GAPS}]?([^\W\d_]+\.?|[%$€£¥₹₩₺₽₴₫₪₱])")
_SLASH = re.compile(r"(?<![\w/.,-])(?:(\d+) )?(\d{1,2})/(\d{1,2})(?![\w/]|[.,]\d)")
_RANGE = re.compile(r"(?<![\w.,:/@#-])([1-9]\d{0,2})-([1-9]\d{0,2})(?![\w-]|[.,:/]\d)")
_BEFORE_UNIT = re.compile(r"\s+(?:of\s+)?an?(?=\s+(?:minute|hour|day|week|month|year)\b)", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|and|und|et)?\s*")
_MACHINE = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,2})?", re.ASCII)
_MOST_DIGITS = 40
_TWO_WORDS_OF_PERCENT = re.compile(r"\s+(?:per\s+cent|pour\s+cent|p\.\s?100)\b", re.I)


@cache
def _digits() -> re.Pattern[str]:
    """A number in digits with the currency before it. What hangs on a word, a hyphen or a colon is no number."""
    signs = "|".join(re.escape(sign) for sign in sorted(money_words(), key=len, reverse=True) if not sign.islower())
    return re.compile(
        rf"(?P<open>(?<![\w.,:/@#+*-])|(?<=\s)\+|(?<=[$€£¥]))"
        rf"(?P<minus>[-\N{{MINUS SIGN}}])?(?:(?P<before>(?<!\w)(?:{signs})|[$€£¥₹₩₺₽₴₫₪₱])[{_GAPS}]?)?"
        rf"(?P<later>[-\N{{MINUS SIGN}}])?(?P<body>{_BODY})(?P<part>[½¼¾⅓⅔⅛])?"
    )


def read_machine_number(text: str) -> Decimal | None:
    """A number as programs write it, ``-1234.50``; None for ``007``, ``1,234`` and all else."""
    return Decimal(text) if len(text) <= _MOST_DIGITS and _MACHINE.fullmatch(text) else None


def find_numbers_in_digits(text: str, language: str) -> Iterator[NumberMention]:
    """The numbers written in digits. ``language`` settles which mark parts the thousands where both readings fit."""
    yield from _slash_fractions(text)
    yield from _ranges(text)
    for match in _digits().finditer(text):
        if (mention := _read_match(text, match, language)) is not None:
            yield mention
    for place, mark in enumerate(text):
        if mark in "½¼¾⅓⅔⅛" and not text[place - 1 : place].isdecimal():
            yield NumberMention(place, place + 1, mark, (_vulgar(mark),))


def _slash_fractions(text: str) -> Iterator[NumberMention]:
    for match in _SLASH.finditer(text):
        whole, over, under = (int(group or 0) for group in match.groups())
        if 0 < over < under:
            yield NumberMention(*match.span(), match[0], (whole + Fraction(over, under),))


def _ranges(text: str) -> Iterator[NumberMention]:
    """``10-12 people``: two numbers. ``4411-22`` is a code."""
    for match in _RANGE.finditer(text):
        end, shift, money, unit = _read_suffix(text, match.end())
        low, high = (int(group) * 10**shift for group in match.groups())
        if low < high and not _hangs_on(text, end):
            yield NumberMention(*match.span(1), match[1], (Decimal(low),), money, unit)
            yield NumberMention(match.start(2), end, text[match.start(2) : end], (Decimal(high),), money, unit)


def _read_match(text: str, match: re.Match[str], language: str) -> NumberMention | None:
    values: tuple[Number, ...] = read_digits(match["body"], language)
    if not values or len(match["body"]) > _MOST_DIGITS:
        return None
    if match["part"]:
        values = tuple(Fraction(value) + _vulgar(match["part"]) for value in values)
    end, shift, money, unit = _read_suffix(text, match.end())
    if _hangs_on(text, end):
        return None
    sign = -1 if match["minus"] or match["later"] else 1
    money = money_words()[match["before"]] if match["before"] else money
    scaled = tuple(_multiply(value, sign * 10**shift) for value in values)
    return NumberMention(match.start(), end, text[match.start() : end], scaled, money, unit)


def _multiply(value: Number, factor: int) -> Number:
    return value * factor


def _vulgar(mark: str) -> Fraction:
    return Fraction(unicodedata.numeric(mark)).limit_denominator(10)


def _hangs_on(text: str, end: int) -> bool:
    """Whether the number runs on into a token: ``12`` of ``12-EXP``, ``12a``, ``1.2.3`` or ``12:30``."""
    after = text[end : end + 2]
    if not after:
        return False
    if after[0].isalnum() or after[0] in "_@":
        return True
    return after[0] in ".,-/:#'’" and after[1:].isalnum()


def _read_suffix(text: str, end: int) -> tuple[int, int, Money | None, Unit | None]:
    """The scale, the currency and the unit that follow, and where they end."""
    shift = 0
    word, after = _next_word(text, end)
    attached = text[end : end + 1] == word[:1] != ""
    if (scale := _scale(word, attached)) is not None:
        shift, end = scale, after
    if shift:
        word, after = _next_word(text, end)
    if percent := _TWO_WORDS_OF_PERCENT.match(text, end):
        return percent.end(), shift, None, units()["%"]
    if money := _money(word):
        return after, shift, money, None
    if money := _money(word.rstrip(".")):
        return after - 1, shift, money, None
    if word and (unit := units().get(fold(word.rstrip(".")))):
        return after - word.endswith("."), shift, None, unit
    return end, shift, None, None


def _scale(word: str, attached: bool) -> int | None:
    if word.rstrip(".") == "M":
        return _SCALES["million"]
    plain = fold(word.rstrip("."))
    if plain == "k" and not attached:
        return None
    return _SCALES.get(plain) or _ENGLISH_BILLION.get(plain)


def _money(word: str) -> Money | None:
    if not word:
        return None
    if word in currency_codes():
        return money_words()[word]
    plain = fold(word)
    return money_words().get(word if not word.isalpha() else plain) if plain != "p" or word == "p" else None


def _next_word(text: str, end: int) -> tuple[str, int]:
    match = _AFTER.match(text, end)
    return (match[1], match.end()) if match else ("", end)


def read_digits(body: str, language: str) -> tuple[Decimal, ...]:
    """Every number that digits with points, commas, gaps or apostrophes can mean, likeliest first; none for ``1.2.3``.

    ``1.234`` is two numbers, and so is ``1,234`` outside English; ``1.234,5`` and ``12 400`` are one.
    """
    marks = [mark for mark in body if not mark.isdecimal()]
    groups = re.split(r"\D", body)
    if not marks:
        return (Decimal(body),) if body == "0" or not body.startswith("0") else ()
    last = marks[-1]
    is_decimal = last in ".," and marks.count(last) == 1 and _are_groups(groups[:-1], marks[:-1])
    is_grouped = _are_groups(groups, marks)
    decimal = Decimal("".join(groups[:-1]) + "." + groups[-1]) if is_decimal else None
    grouped = Decimal("".join(groups)) if is_grouped else None
    if len(marks) > 1 or last not in ".,":
        return tuple(value for value in (grouped, decimal) if value is not None)[:1]
    if last == "," and language == "en" and grouped is not None:
        return (grouped,)
    first, second = (decimal, grouped) if (last == ".") == (language == "en") else (grouped, decimal)
    return tuple(value for value in (first, second) if value is not None)


def _are_groups(groups: Sequence[str], marks: Sequence[str]) -> bool:
    """Whether the marks part thousands: one kind of mark, three digits in each group (two in Indian writing)."""
    if not marks:
        return len(groups) == 1 and (groups[0] == "0" or not groups[0].startswith("0"))
    head, *rest = groups
    if len(set(marks)) != 1 or not 1 <= len(head) <= 3 or head.startswith("0") or len(rest[-1]) != 3:
        return False
    middle = {len(group) for group in rest[:-1]}
    return middle <= {3} or (marks[0] == "," and middle == {2} and len(head) <= 2)


def find_numbers_in_words(
    text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]
) -> Iterator[NumberMention]:
    """The numbers in words, with fractions: ``five hundred euros``, ``two and a half``, ``a third``, ``half``."""
    begins = {number.first: number for number in spelled}
    place = 0
    while place < len(tokens):
        value, after = _read_words(tokens, begins, place)
        if value is None:
            place += 1
            continue
        start, end = tokens[place].start, tokens[after - 1].end
        if isinstance(value, Fraction) and (article := _BEFORE_UNIT.match(text, end)):
            end = article.end()  # "half an hour"
        end, shift, money, unit = _read_suffix(text, end)
        yield NumberMention(start, end, text[start:end], (_multiply(value, 10**shift),), money, unit, is_spelled=True)
        place = after


def join_major_and_minor(text: str, numbers: Sequence[NumberMention]) -> Iterator[NumberMention]:
    """``five euros and fifty cents``: one amount."""
    for major, minor in pairwise(numbers):
        is_pair = major.money and minor.money and minor.money.is_minor and not major.money.is_minor
        if is_pair and _JOINED.fullmatch(text[major.end : minor.start]):
            value = Fraction(major.values[0]) + Fraction(minor.values[0]) / 100
            exact = Decimal(value.numerator) / Decimal(value.denominator)
            yield NumberMention(major.start, minor.end, text[major.start : minor.end], (exact,), major.money)


def _read_words(
    tokens: Sequence[WrittenToken], begins: dict[int, SpelledNumber], place: int
) -> tuple[Number | None, int]:
    word = tokens[place].folded
    number = begins.get(place)
    if number is not None and not number.is_ordinal:
        return _with_fraction(tokens, number.value, number.after)
    if word.isdecimal():
        value, after = _with_fraction(tokens, Decimal(word), place + 1)
        return (value, after) if after > place + 1 else (None, place)
    if word in _WHOLE_WORDS:
        return _WHOLE_WORDS[word], place + 1
    if word in _ONE and (part := _part(tokens, place + 1)) and not _is_half_hour(tokens, place + 1):
        return Fraction(1, part), place + 2
    if word in _WORDS_OF_HALVES and not _is_half_hour(tokens, place):
        return Fraction(1, 2), place + 1
    return None, place


def _with_fraction(tokens: Sequence[WrittenToken], value: Decimal, after: int) -> tuple[Number, int]:
    """``two thirds`` is 2/3, ``two and a half`` is 5/2."""
    if (part := _part(tokens, after)) and part > 2 and value == int(value) and value < part:
        return Fraction(int(value), part), after + 1
    rest = [token.folded for token in tokens[after : after + 3]]
    if rest[:1] and rest[0] in _JOINS:
        skipped = 2 if rest[1:2] and rest[1] in _ONE else 1
        if part := _part(tokens, after + skipped):
            return Fraction(value) + Fraction(1, part), after + skipped + 1
    return value, after


def _part(tokens: Sequence[WrittenToken], place: int) -> int:
    return _PARTS.get(tokens[place].folded, 0) if place < len(tokens) else 0


def _is_half_hour(tokens: Sequence[WrittenToken], place: int) -> bool:
    """``half past nine``, ``a quarter to``: the clock's; ``third of May``, ``next quarter`` are the calendar's."""
    after = tokens[place + 1].folded if place + 1 < len(tokens) else ""
    return after in ("past", "to", "nach", "vor")
