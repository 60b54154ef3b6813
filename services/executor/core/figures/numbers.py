"""Reads numbers and amounts in any notation: digits, words, fractions, with currency or unit.

``find_numbers`` and ``read_amount`` take any notation. ``read_figure`` takes only that of programs and English: by it
a plan's values are compared with their sources.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from services.executor.core.figures.vocabulary import (
    CURRENCIES_BY_WORD,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    PERCENT_UNIT,
    UNITS_BY_WORD,
    PossibleCurrencies,
    SpelledNumber,
    Unit,
    WrittenToken,
    fold_word,
    likely_languages,
    read_spelled_numbers,
    split_words,
)
from shared.domain.exact_json import Json

Number = Decimal | Fraction
_SMALL_NUMBERS_BELOW = 10  # such a number in words is a figure only before a unit: "one of them", "no more than two"


class NumberMention(NamedTuple):
    """A number with its position in a text. ``values``: every number that the notation can mean, likeliest first."""

    start: int
    end: int
    text: str
    values: tuple[Number, ...]
    money: PossibleCurrencies | None = None
    unit: Unit | None = None
    is_spelled: bool = False

    @property
    def is_small_number_word(self) -> bool:
        """Whether it is a small number in words, as in "one of the two records"."""
        return self.is_spelled and -_SMALL_NUMBERS_BELOW < self.values[0] < _SMALL_NUMBERS_BELOW


class WrittenAmount(NamedTuple):
    """A number as written. ``style``: a percentage or a fraction; ``unit``: a unit of measure, or ``cents``."""

    number: Number
    style: Literal["", "percent", "fraction"] = ""
    unit: str = ""


class _Suffix(NamedTuple):
    """What follows a number and belongs to it, up to ``end``: a power of ten, a currency, a unit."""

    end: int
    shift: int = 0
    money: PossibleCurrencies | None = None
    unit: Unit | None = None


_GAPS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_NUMBER_BODY = rf"\d{{1,3}}(?:[{_GAPS}]\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'’]\d+)*(?:[.,]\d+)?"
_NUMBER_AFTER_CODE_PATTERN = re.compile(rf"\d{{1,3}}[{_GAPS}](\d{{3}}[.,]\d{{3}})")  # or one number: 401 412,900
_POWERS_BY_SCALE = {
    "k": 3, "thousand": 3, "thousands": 3, "tausend": 3, "tsd": 3, "mille": 3, "hundred": 2, "hundert": 2,
    "mn": 6, "million": 6, "millions": 6, "millionen": 6, "mio": 6, "bn": 9, "mrd": 9, "milliarde": 9,
    "milliarden": 9, "milliard": 9, "milliards": 9, "billion": 9, "billions": 9,
}  # fmt: skip
_WORDS_FOR_HALF = frozenset("half halb halbe halben halbes halfte moitie demi demie".split())
_DENOMINATORS_BY_WORD = {
    word: number
    for words, number in (
        (" ".join([*_WORDS_FOR_HALF, "halves"]), 2), ("third thirds drittel tiers", 3),
        ("quarter quarters viertel quart quarts", 4), ("fifth fifths funftel cinquieme", 5), ("sixth sixths", 6),
        ("seventh sevenths", 7), ("eighth eighths achtel", 8), ("ninth ninths", 9),
        ("tenth tenths zehntel dixieme", 10),
    )
    for word in words.split()
}  # fmt: skip
_ARTICLES = frozenset("a an one the by um ein eine einem einen die un une la le d".split())
_INDEFINITE_ARTICLES = frozenset("a an one ein eine einer einem einen un une".split())
_WORDS_FOR_AND = frozenset("and und et".split())
_WORDS_FOR_DOZEN = frozenset("dozen dutzend douzaine douzaines".split())
_VALUES_OF_WORDS = {
    "anderthalb": Fraction(3, 2), "eineinhalb": Fraction(3, 2), "zweieinhalb": Fraction(5, 2),
    "dreieinhalb": Fraction(7, 2), "twice": Fraction(2), "double": Fraction(2), "doppelt": Fraction(2),
    "triple": Fraction(3),
}  # fmt: skip
# What a word of the task says without a numeral: "compounded monthly", "twice the fee".
_NUMBER_IMPLIED_BY_WORD = {
    "monthly": 12, "quarterly": 4, "yearly": 1, "annually": 1, "annual": 1, "semiannually": 2, "weekly": 52,
    "daily": 365, "twice": 2, "double": 2, "doubled": 2, "triple": 3, "thrice": 3, "week": 7, "fortnight": 14,
    "dozen": 12, "year": 12, "quarter": 3,
}  # fmt: skip
_WORD_AFTER_PATTERN = re.compile(rf"[{_GAPS}]?-?[{_GAPS}]?([^\W\d_]+\.?|%|[$€£¥₹₩₺₽₴₫₪₱](?!\d))")
_FRACTION_IN_DIGITS_PATTERN = re.compile(r"(?<![\w/.,-])(?:(\d+) )?(\d{1,2})/(\d{1,2})(?![\w/]|[.,]\d)")
_NUMBER_RANGE_PATTERN = re.compile(r"(?<![\w.,:/@#-])([1-9]\d{0,2})-([1-9]\d{0,2})(?![\w-]|[.,:/]\d)")
_ARTICLE_BEFORE_UNIT_PATTERN = re.compile(r"(?i)\s+(?:of\s+)?an?(?=\s+(?:minute|hour|day|week|month|year)\b)")
_CONJUNCTION_PATTERN = re.compile(r"\s*+(?:(?:,|and|und|et)\s*+)?")
_PERCENT_PHRASE_PATTERN = re.compile(r"(?i)\s+(?:per\s+cent|pour\s+cent|p\.\s?100)\b")
_MACHINE_NUMBER_PATTERN = re.compile(  # a program's notation, ``-1234.50``; not ``007`` or ``1,234``
    r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,2})?", re.ASCII
)
_MOST_DIGITS = 40
WIDE_CONTEXT = Context(prec=1000)  # in which nothing is rounded but what is asked to be
_LONGEST_NUMBER_TEXT = 60  # characters; whatever is longer is no number
_MOST_POWER_OF_TEN = 50  # a number beyond it is no figure of any business
_MINUS_IN_WORDS_PATTERN = re.compile(r"(?i)(?<!\bau )\b(?:minus|moins)\s+$")
_BELOW_ZERO_PATTERN = re.compile(
    r"(?i)(?:\s*+(?:°\s?[CF]?|degrees?|grad|degrés?))?(?:\s++(?:celsius|fahrenheit))?\s++"
    r"(?:below\s+(?:zero|freezing)|unter\s+null|(?:au-dessous|en\s+dessous|sous)\s+(?:de\s+)?zéro)\b"
)
_CURRENCY_BEFORE_NUMBER = "|".join(re.escape(sign) for sign in CURRENCY_SIGNS) + "|" + "|".join(CURRENCY_CODES)
# A number in digits with the currency before it. What hangs on a word, a hyphen or a colon is no number.
_NUMBER_IN_DIGITS_PATTERN = re.compile(
    rf"(?:(?<![\w.,:/@#+*-])|(?<=\s)\+|(?<=[$€£¥]))"
    rf"(?P<minus>[-\N{{MINUS SIGN}}])?(?:(?P<before>(?<!\w)(?:{_CURRENCY_BEFORE_NUMBER})|[$€£¥₹₩₺₽₴₫₪₱])[{_GAPS}]?)?"
    rf"(?P<later>[-\N{{MINUS SIGN}}])?(?P<body>{_NUMBER_BODY})(?P<dash>,-+)?(?P<part>[½¼¾⅓⅔⅛])?"
)
# A sign, currency signs and codes before or after, thousands commas, an optional fraction, an optional K or M.
# A leading zero makes a number of several digits an identifier: "007" is not 7.
_ENGLISH_NUMBER_PATTERN = re.compile(
    r"^[-+]?\s*(?:[$€£¥]|[A-Z]{3}\s)?\s*[-+]?"
    r"([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*|0)(\.\d+)?\s*([KkMm]?)\s*(?:[$€£¥%]|[A-Z]{3})?$",
    re.ASCII,
)
# A minus belongs to a figure only where it cannot be a hyphen; commas, colons and slashes only between digits.
_TOKEN_PATTERN = re.compile(
    r"""(?:(?<![^\s(=:"'])-(?=[$€£¥]?\d))?[A-Za-z\d$€£¥](?:[\w$€£¥%.@+-]|(?<=\d)[,:/](?=\d))*"""
)
_CHARACTERS_AS_ASCII = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " "}
    | {chr(0xFF10 + digit): str(digit) for digit in range(10)}
)
_SPELLED_NUMBER_START_PATTERN = re.compile(
    r"(?i)(?:[½¼¾⅓⅔⅛]|an?\s|the\s|zero|one|tw|th|fo|fi|si|se|eig|nin|ten|el|hund|half|quarter|doub|trip|dozen|null|ein|zw|dr|vi|f[uü]|"
    r"ac|ne|zeh|elf|tau|d[ioe]|la\s|le\s|un|tr|qua|qui|cin|on|mil|cent|moi|and)"
)


def read_figure(value: Json) -> Decimal | None:
    """The exact number that a value is in the notation of programs and English: ``"$2,340.00"``, ``"3K"``; or None."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    return _parse_figure(value) if isinstance(value, str) else Decimal(value)


def count_decimal_places(number: Number) -> int:
    """The decimal places that a number is written with; 0 for a fraction."""
    exponent = number.as_tuple().exponent if isinstance(number, Decimal) else 0
    return max(-exponent, 0) if isinstance(exponent, int) else 0


def is_rounding_of(number: Decimal, exact: Fraction) -> bool:
    """Whether a number is the exact one rounded to the number's own decimal places."""
    return abs(Fraction(number) - exact) <= Fraction(10) ** int(number.as_tuple().exponent) / 2


def list_roundings(number: Decimal) -> list[Decimal]:
    """The number rounded to each smaller count of decimal places, down to one, with halves up and to the even digit: of
    2.345 these are 2.3 (twice), 2.35 and 2.34. Empty if it has fewer than two places.
    """
    steps = (Decimal(1).scaleb(-count) for count in range(1, -int(number.as_tuple().exponent)))
    return [number.quantize(step, mode, WIDE_CONTEXT) for step in steps for mode in (ROUND_HALF_UP, ROUND_HALF_EVEN)]


@lru_cache(maxsize=16_384)  # the same texts are looked at by rules, sources, the audit and the answer's checks
def _parse_figure(text: str) -> Decimal | None:
    text = text.translate(_CHARACTERS_AS_ASCII).strip()
    is_in_brackets = text.startswith("(") and text.endswith(")")
    match = _ENGLISH_NUMBER_PATTERN.match(text[1:-1].strip() if is_in_brackets else text)
    if match is None or text.count("-") + is_in_brackets > 1:
        return None
    digits, fraction, scale = match.groups()
    sign = "-" if is_in_brackets or "-" in text else ""
    return Decimal(f"{sign}{digits.replace(',', '')}{fraction or ''}E{ {'': 0, 'k': 3, 'm': 6}[scale.lower()] }")


def find_tokens_with_digits(text: str) -> list[str]:
    """The words of a text that contain a digit (identifiers, amounts, dates), without punctuation at their ends."""
    tokens = _TOKEN_PATTERN.findall(text.translate(_CHARACTERS_AS_ASCII))
    # Most tokens are words, which ``isalpha`` finds fast.
    return [token.rstrip(".+-") for token in tokens if not token.isalpha() and any(map(str.isdigit, token))]


@lru_cache(maxsize=16_384)
def normalize_token(token: str) -> str:
    """The token in a form that is equal for equal figures, ``$2,340`` and ``2340.00``; any other token case-folded."""
    number = read_figure(token)
    if number is None:
        return token.casefold()
    text = format(number, "f") if number else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def read_amount(value: Json) -> WrittenAmount | None:
    """The number that a whole value is, with its style and unit; None for identifiers, dates and prose."""
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    if not isinstance(value, str):
        return WrittenAmount(Decimal(value)) if abs(Decimal(value).adjusted()) <= _MOST_POWER_OF_TEN else None
    return _read_text_amount(value) if len(value) <= _LONGEST_NUMBER_TEXT else None


def read_number_word(word: str) -> WrittenAmount | None:
    """The number that a word implies without a numeral, 12 times a year for ``monthly``; None for other words."""
    number = _NUMBER_IMPLIED_BY_WORD.get(word.casefold())
    return WrittenAmount(Decimal(number)) if number is not None else None


@lru_cache(maxsize=16_384)  # the same amounts are read by conditions, sums and the audit
def _read_text_amount(text: str) -> WrittenAmount | None:
    normalized = text.translate(_CHARACTERS_AS_ASCII).strip()
    if (number := read_figure(normalized)) is not None:
        return WrittenAmount(number, "percent" if normalized.endswith("%") else "")
    if normalized[:1] == ".":
        normalized = f"0{normalized}"
    mention = _read_text_as_number(normalized)
    if mention is None:
        return None
    value, unit = mention.values[0], mention.unit
    if unit is not None and unit.measure == PERCENT_UNIT.measure:
        return WrittenAmount(value if unit == PERCENT_UNIT else _multiply(value, unit.size), "percent")
    name = "cents" if mention.money and mention.money.is_minor else unit.name if unit else ""
    return WrittenAmount(value, "fraction" if isinstance(value, Fraction) else "", name)


def _multiply(number: Number, size: Fraction) -> Number:
    return number * size if isinstance(number, Fraction) else Decimal(size.numerator) * number / size.denominator


def _read_text_as_number(text: str) -> NumberMention | None:
    """The number that a whole text is; else None. Here ``m`` directly after the digits means a million."""
    if any(mark.isdecimal() for mark in text):
        mentions = find_numbers_in_digits(text, "en", m_is_million=True)
    elif _SPELLED_NUMBER_START_PATTERN.match(text):
        mentions = iter(find_numbers(text))
    else:
        return None
    return next((mention for mention in mentions if (mention.start, mention.end) == (0, len(text))), None)


@lru_cache(maxsize=4096)
def read_number_text(text: str) -> NumberMention | None:
    """The number that a whole text with digits is: ``EUR 1.234,56``, ``-12.5``, ``90 minutes``; None for ``007``."""
    text = text.strip()
    if len(text) <= _MOST_DIGITS and _MACHINE_NUMBER_PATTERN.fullmatch(text):
        return NumberMention(0, len(text), text, (Decimal(text),))
    is_short = len(text) <= _LONGEST_NUMBER_TEXT and any(mark.isdecimal() for mark in text)
    return _read_text_as_number(text) if is_short else None


def read_number(value: Json) -> NumberMention | None:
    """The number that a JSON number is, or that a whole text with digits is; else None."""
    if isinstance(value, str):
        return read_number_text(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return NumberMention(0, 0, "", (Decimal(value),))


def find_numbers(text: str) -> list[NumberMention]:
    """Every number, in digits or in words, of a text that contains no dates, times or identifiers."""
    tokens = split_words(text)
    languages = likely_languages(token.folded for token in tokens)
    spelled = read_spelled_numbers(text, tokens, languages)
    mentions = [*find_numbers_in_digits(text, languages[0]), *find_numbers_in_words(text, tokens, spelled)]
    return [*mentions, *join_major_and_minor_amounts(text, sorted(mentions, key=lambda mention: mention.start))]


def find_numbers_in_digits(text: str, language: str, *, m_is_million: bool = False) -> Iterator[NumberMention]:
    """Yields the numbers in digits.

    ``language`` decides which mark separates thousands where both could; with ``m_is_million``, ``5m`` is five million
    and not a length.
    """
    for match in _FRACTION_IN_DIGITS_PATTERN.finditer(text):
        units, numerator, denominator = (int(group or 0) for group in match.groups())
        if 0 < numerator < denominator:
            yield NumberMention(*match.span(), match[0], (units + Fraction(numerator, denominator),))
    yield from _find_range_ends(text)
    for match in _NUMBER_IN_DIGITS_PATTERN.finditer(text):
        if (mention := _read_number_match(text, match, language, m_is_million)) is not None:
            yield mention
    for place, mark in enumerate(text):
        if mark in "½¼¾⅓⅔⅛" and not text[place - 1 : place].isdecimal():
            yield NumberMention(place, place + 1, mark, (_value_of_fraction_sign(mark),))


def _find_range_ends(text: str) -> Iterator[NumberMention]:
    """Yields both numbers of a range such as ``10-12 people``; none for ``4411-22``, which is a code."""
    for match in _NUMBER_RANGE_PATTERN.finditer(text):
        suffix = _read_suffix(text, match.end())
        low, high = (Decimal(int(group) * 10**suffix.shift) for group in match.groups())
        if low < high and not _is_part_of_longer_token(text, suffix.end):
            for start, end, value in ((*match.span(1), low), (match.start(2), suffix.end, high)):
                yield NumberMention(start, end, text[start:end], (value,), suffix.money, suffix.unit)


def _read_number_match(text: str, match: re.Match[str], language: str, m_is_million: bool) -> NumberMention | None:
    values: tuple[Number, ...] = _read_digits(match["body"], "de" if match["dash"] else language)
    if not match["before"] and (after_code := _NUMBER_AFTER_CODE_PATTERN.fullmatch(match["body"])):
        values += _read_digits(after_code[1], language)  # the first group may belong to a code: KS-HL 401
    if not values or len(match["body"]) > _MOST_DIGITS or (match["minus"] and match["later"]):
        return None
    if match["part"]:
        values = tuple(Fraction(value) + _value_of_fraction_sign(match["part"]) for value in values)
    suffix = _read_suffix(text, match.end(), m_is_million or match["before"] is not None)
    if _is_part_of_longer_token(text, suffix.end):
        return None
    sign = -1 if match["minus"] or match["later"] else 1
    money = CURRENCIES_BY_WORD[match["before"]] if match["before"] else suffix.money
    start, end = match.start(), suffix.end
    scaled = tuple(_shift_decimal_point(value, suffix.shift, sign) for value in values)
    return _with_sign_in_words(NumberMention(start, end, text[start:end], scaled, money, suffix.unit), text)


def _with_sign_in_words(mention: NumberMention, text: str) -> NumberMention:
    """The number, negative in ``2 degrees below zero``; in ``minus 20`` it is either sign, as 20 may be taken off."""
    opposites = tuple(-value for value in mention.values if value > 0)
    if _BELOW_ZERO_PATTERN.match(text, mention.end):
        return mention._replace(values=opposites or mention.values)
    is_after_minus = _MINUS_IN_WORDS_PATTERN.search(text, max(0, mention.start - 10), mention.start)
    return mention._replace(values=(*mention.values, *opposites)) if is_after_minus else mention


def _shift_decimal_point(value: Number, places: int, sign: int = 1) -> Number:
    """The number times ten to the power of ``places``, exactly, with the sign."""
    if isinstance(value, Fraction):
        factor: int = sign * 10**places
        return value * factor
    shifted = value.scaleb(places, WIDE_CONTEXT)
    return shifted.copy_negate() if sign < 0 else shifted


def _value_of_fraction_sign(mark: str) -> Fraction:
    return Fraction(unicodedata.numeric(mark)).limit_denominator(10)


def _is_part_of_longer_token(text: str, end: int) -> bool:
    """Whether the number goes on into a longer token: ``12`` of ``12-EXP``, ``12a``, ``1.2.3`` or ``12:30``."""
    following = text[end : end + 2]
    if not following:
        return False
    return following[0].isalnum() or following[0] in "_@" or (following[0] in ".,-/:#'’" and following[1:].isalnum())


def _read_suffix(text: str, end: int, m_is_million: bool = False) -> _Suffix:
    shift = 0
    if text[end : end + 1] in ("x", "×") and not text[end + 1 : end + 2].isalnum():
        return _Suffix(end + 1)  # "3x as much"
    word, word_end = _next_word(text, end)
    is_attached = text[end : end + 1] == word[:1] != ""
    if (scale := _read_scale(word, is_attached, m_is_million)) is not None:
        shift, end = scale, word_end
        word, word_end = _next_word(text, end)
    if percent := _PERCENT_PHRASE_PATTERN.match(text, end):
        return _Suffix(percent.end(), shift, unit=PERCENT_UNIT)
    for spelling in (word, word.rstrip(".")):
        if money := _read_currency_word(spelling):
            return _Suffix(word_end - len(word) + len(spelling), shift, money)
    unit_word = word.rstrip(".")
    if unit_word and (unit := UNITS_BY_WORD.get(fold_word(unit_word))):
        return _Suffix(word_end - len(word) + len(unit_word), shift, unit=unit)
    return _Suffix(end, shift)


def _read_scale(word: str, is_attached: bool, m_is_million: bool) -> int | None:
    folded = fold_word(word.rstrip("."))
    if word.rstrip(".") == "M" or (folded == "m" and m_is_million and is_attached):
        return _POWERS_BY_SCALE["million"]
    return _POWERS_BY_SCALE.get(folded) if folded != "k" or is_attached else None


def _read_currency_word(word: str) -> PossibleCurrencies | None:
    if word in CURRENCY_CODES or not word.isalpha():
        return CURRENCIES_BY_WORD.get(word)
    return CURRENCIES_BY_WORD.get(fold_word(word)) if fold_word(word) != "p" or word == "p" else None


def _next_word(text: str, end: int) -> tuple[str, int]:
    match = _WORD_AFTER_PATTERN.match(text, end)
    return (match[1], match.end()) if match else ("", end)


def _read_digits(body: str, language: str) -> tuple[Decimal, ...]:
    """Every number that digits with marks can mean, likeliest first: two for ``1.234``, none for ``1.2.3``."""
    marks = [mark for mark in body if not mark.isdecimal()]
    groups = re.split(r"\D", body)
    if not marks:
        return (Decimal(body),) if body == "0" or not body.startswith("0") else ()
    last_mark = marks[-1]
    is_decimal = last_mark in ".," and marks.count(last_mark) == 1 and _are_thousands_marks(groups[:-1], marks[:-1])
    decimal = Decimal("".join(groups[:-1]) + "." + groups[-1]) if is_decimal else None
    grouped = Decimal("".join(groups)) if _are_thousands_marks(groups, marks) else None
    has_thousands = len(marks) > 1 or last_mark not in ".,"
    is_decimal_likelier = not has_thousands and (last_mark == ".") == (language == "en")
    likeliest_first = (decimal, grouped) if is_decimal_likelier else (grouped, decimal)
    numbers = tuple(number for number in likeliest_first if number is not None)
    is_settled = has_thousands or (last_mark == "," and language == "en")
    return numbers[:1] if is_settled else numbers


def _are_thousands_marks(groups: Sequence[str], marks: Sequence[str]) -> bool:
    """Whether the marks separate thousands: one kind of mark, three digits in each group (two in Indian notation)."""
    if not marks:
        return len(groups) == 1 and (groups[0] == "0" or not groups[0].startswith("0"))
    head, *tail = groups
    if len(set(marks)) != 1 or not 1 <= len(head) <= 3 or head.startswith("0") or len(tail[-1]) != 3:
        return False
    middle = {len(group) for group in tail[:-1]}
    return middle <= {3} or (marks[0] == "," and middle == {2} and len(head) <= 2)


def find_numbers_in_words(
    text: str, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]
) -> Iterator[NumberMention]:
    """Yields the numbers in words, also with fractions: ``five hundred euros``, ``two and a half``, ``half``."""
    words, place = _NumberWords(tokens, spelled), 0
    while place < len(tokens):
        start = tokens[place].start
        if period := words.read_period_and_fraction(place):
            length, unit, place = period
            end = tokens[place - 1].end
            yield NumberMention(start, end, text[start:end], (length,), unit=unit, is_spelled=True)
            continue
        value, place = words.read_number(place)
        if value is None:
            place += 1
            continue
        end = tokens[place - 1].end
        if isinstance(value, Fraction) and (article := _ARTICLE_BEFORE_UNIT_PATTERN.match(text, end)):
            end = article.end()  # "half an hour"
        suffix = _read_suffix(text, end)
        written = text[start : suffix.end]
        values = (_shift_decimal_point(value, suffix.shift),)
        mention = NumberMention(start, suffix.end, written, values, suffix.money, suffix.unit, is_spelled=True)
        yield _with_sign_in_words(mention, text)


def join_major_and_minor_amounts(text: str, numbers: Sequence[NumberMention]) -> Iterator[NumberMention]:
    """Yields amounts in two units as one amount: ``five euros and fifty cents``."""
    for major, minor in pairwise(numbers):
        is_pair = major.money and minor.money and minor.money.is_minor and not major.money.is_minor
        if is_pair and _CONJUNCTION_PATTERN.fullmatch(text[major.end : minor.start]):
            value = Fraction(major.values[0]) + Fraction(minor.values[0]) / 100
            exact = Decimal(value.numerator) / Decimal(value.denominator)
            yield NumberMention(major.start, minor.end, text[major.start : minor.end], (exact,), major.money)


class _NumberWords:
    """The words of a text, from which numbers are read; a place is the index of a token."""

    def __init__(self, tokens: Sequence[WrittenToken], spelled: Sequence[SpelledNumber]) -> None:
        self._words = [token.folded for token in tokens]
        self._spelled_by_place = {number.start_index: number for number in spelled}

    def read_number(self, place: int) -> tuple[Number | None, int]:
        """The number in words that begins at a place, or None, and the place after it."""
        word = self._words[place]
        next_word = self._word_at(place + 1)
        number = self._spelled_by_place.get(place)
        if number is not None and not number.is_ordinal:
            return self._add_fraction(number.value, number.end_index)
        if word.isdecimal():
            value, end = self._add_fraction(Decimal(word), place + 1)
            return (value, end) if end > place + 1 else (None, place)
        if word in _WORDS_FOR_DOZEN:
            return Decimal(12), place + 1
        if word in ("a", "an") and next_word in _WORDS_FOR_DOZEN | {"hundred", "thousand"}:
            count = self._spelled_by_place.get(place + 1)
            return count.value if count else Decimal(12), place + 2
        if word in _VALUES_OF_WORDS:
            return _VALUES_OF_WORDS[word], place + 1
        part = self._denominator_at(place + 1) if word in _ARTICLES else 0
        is_day = word == "the" and part > 4  # "the seventh"
        if part and not is_day and not self._is_part_of_time(place + 1):
            return Fraction(1, part), place + 2
        if word in _WORDS_FOR_HALF and not self._is_part_of_time(place):
            return Fraction(1, 2), place + 1
        return None, place

    def read_period_and_fraction(self, place: int) -> tuple[Fraction, Unit, int] | None:
        """Number, unit and the place after a period with a fraction of its unit, ``an hour and a half``; or None."""
        word, number = self._words[place], self._spelled_by_place.get(place)
        if number is not None:
            count, unit_place = number.value, number.end_index
        elif word.isdecimal() or word in _INDEFINITE_ARTICLES:
            count, unit_place = Decimal(word if word.isdecimal() else 1), place + 1
        else:
            return None
        unit_word = self._word_at(unit_place)
        unit = None if unit_word.startswith("heure") else UNITS_BY_WORD.get(unit_word)  # which tells a time of day
        if unit is None or unit.measure not in ("time", "month") or self._word_at(unit_place + 1) not in _WORDS_FOR_AND:
            return None
        part_place = unit_place + (3 if self._word_at(unit_place + 2) in _ARTICLES else 2)
        part = self._denominator_at(part_place)
        return (Fraction(count) + Fraction(1, part), unit, part_place + 1) if part else None

    def _add_fraction(self, value: Decimal, end: int) -> tuple[Number, int]:
        """The number with the fraction or dozen after it, ``two and a half``, and the place after that."""
        next_word = self._word_at(end)
        if next_word in _WORDS_FOR_DOZEN:
            return value * 12, end + 1
        if (part := self._denominator_at(end)) > 2 and value == int(value) and value < part:
            return Fraction(int(value), part), end + 1
        if next_word in _WORDS_FOR_AND:
            part_place = end + (2 if self._word_at(end + 1) in _ARTICLES else 1)
            if part := self._denominator_at(part_place):
                return Fraction(value) + Fraction(1, part), part_place + 1
        return value, end

    def _word_at(self, place: int) -> str:
        """The word at a place; empty beyond the text."""
        return self._words[place] if place < len(self._words) else ""

    def _denominator_at(self, place: int) -> int:
        return _DENOMINATORS_BY_WORD.get(self._word_at(place), 0)

    def _is_part_of_time(self, place: int) -> bool:
        """Whether the word belongs to a time of day: ``half past nine``, ``a quarter to``."""
        return self._word_at(place + 1) in ("past", "to", "nach", "vor")


_ISO_DATE_PATTERN = re.compile(r"\d{4}-\d\d(-\d\d.*)?")


@lru_cache(maxsize=8_192)  # the texts of a record are looked at by rules, sources and proof
def looks_like_id_text(text: str) -> bool:
    """Whether a text looks like an id, ``C-1``: one word with a digit that is neither a figure nor a date."""
    text = text.strip()
    if not text or " " in text or _ISO_DATE_PATTERN.fullmatch(text):
        return False
    return read_figure(text) is None and any(mark.isdigit() for mark in text)
