"""Finds mentions by their shape: identifiers, money, percentages, dates, addresses, quotations."""

import re
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class MentionKind(StrEnum):
    QUOTE = "quote"
    EMAIL = "email"
    DATE = "date"
    ID = "id"
    MONEY = "amount"
    PERCENT = "percentage"
    PHONE = "phone"
    NUMBER = "number"


AMOUNTS = (MentionKind.MONEY, MentionKind.NUMBER)


class Mention(NamedTuple):
    """A mention in a text. ``value`` is canonical: digits without separators, ISO dates, the inside of quotation
    marks.
    """

    kind: MentionKind
    value: str
    start: int
    end: int
    currency: str = ""

    @property
    def number(self) -> Decimal:
        return Decimal(self.value)


_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "dollars": "USD", "euros": "EUR", "pounds": "GBP"}
_CODES = "USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|INR|CNY"
# One dot and three digits behind it: digits in groups or a fraction, by who writes it. Of a share it is a fraction.
_TWO_WAYS = r"[1-9]\d{0,2}\.\d{3}(?!\d|[.,]\d)(?!\s?(?:%|percent\b|per cent\b))"
# It starts neither within a figure nor at a group of three digits in one; what has more than 21 digits is a code.
_FIGURE = (
    rf"(?<!\d)(?<!\d\.)(?<!\d,(?=\d{{3}}(?!\d)))(?!\d{{22}}|\d{{1,3}}(?:,\d{{3}}){{7}}|{_TWO_WAYS})"
    r"(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++(?!,\d))?(?!\.\d)"
)
_SIGN = r"(?:(?<![^\s(:=])(?P<n>[-−]))?"
_MONTHS = "january february march april may june july august september october november december".split()
MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS)

_SHAPES: tuple[tuple[MentionKind, re.Pattern[str]], ...] = (
    (MentionKind.QUOTE, re.compile(r"[\"“](?P<v>[^\"”]+)[\"”]|(?<!\w)['‘](?P<w>[^'’]+)['’](?!\w)")),
    (MentionKind.EMAIL, re.compile(r"(?<![\w.+-])(?P<v>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})")),
    (MentionKind.DATE, re.compile(r"\b(?P<v>\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?)")),
    (MentionKind.DATE, re.compile(rf"(?<![\w-])(?P<d>\d{{1,2}})\.? (?P<m>{MONTH})\.?,? (?P<y>\d{{4}})\b", re.I)),
    (MentionKind.DATE, re.compile(rf"\b(?P<m>{MONTH})\.? (?P<d>\d{{1,2}}),? (?P<y>\d{{4}})\b", re.I)),
    (MentionKind.ID, re.compile(r"\b(?P<v>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b", re.I)),
    (
        MentionKind.ID,
        re.compile(
            r"(?<![\w-])(?P<v>[A-Za-z]{1,20}(?:[-_:/][A-Za-z0-9]{1,20}){0,4}[-_:/]\d[A-Za-z0-9]{0,40}(?:[-_]\w{1,20}){0,4})\b"
        ),
    ),
    (MentionKind.ID, re.compile(r"(?<![\w-])(?P<v>[A-Za-z]{1,6}\d{2,}[A-Za-z0-9]*)\b")),
    (MentionKind.ID, re.compile(r"#(?P<v>\d+)\b")),
    (MentionKind.MONEY, re.compile(rf"{_SIGN}(?P<v>{_FIGURE})\s?(?P<k>cents?|pence|¢)(?!\w)", re.I)),
    (MentionKind.MONEY, re.compile(rf"{_SIGN}(?P<s>[$€£¥])\s?(?P<v>{_FIGURE})(?P<k>[kKmM]\b)?")),
    (
        MentionKind.MONEY,
        re.compile(rf"{_SIGN}(?P<v>{_FIGURE})(?P<k>[kKmM])?\s?(?P<s>€|£|(?:{_CODES}|dollars|euros|pounds)\b)"),
    ),
    (MentionKind.MONEY, re.compile(rf"{_SIGN}\b(?P<s>{_CODES})\s?(?P<v>{_FIGURE})(?P<k>[kKmM]\b)?")),
    (MentionKind.PERCENT, re.compile(rf"{_SIGN}(?P<v>{_FIGURE})\s?(?:%|percent\b|per cent\b)")),
    (MentionKind.PHONE, re.compile(r"(?P<v>\+\d[\d ()-]{6,}\d|(?:\(\d{3}\) ?|\b\d{3}[- ])?\d{3}-\d{4}\b)")),
    (MentionKind.NUMBER, re.compile(rf"(?<![\w.-])(?P<v>-?(?:{_FIGURE}))(?![\w-])")),
)


_AT_MOST = 300


@lru_cache(maxsize=5_000)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """The first mentions in the order of the text; no two overlap, the more specific shape wins."""
    taken_characters = bytearray(len(text))
    mentions: list[Mention] = []
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            if not any(taken_characters[match.start() : match.end()]):
                taken_characters[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                mentions.append(_build_mention(kind, match))
    return tuple(sorted(mentions, key=lambda mention: mention.start)[:_AT_MOST])


def find_of_kind(text: str, *kinds: MentionKind) -> list[Mention]:
    """The mentions of these kinds."""
    return [mention for mention in find_mentions(text) if mention.kind in kinds]


def find_amounts(text: str) -> list[Mention]:
    """The sums of money and the bare numbers."""
    return find_of_kind(text, *AMOUNTS)


def identifiers_in(text: str) -> tuple[str, ...]:
    return tuple(mention.value for mention in find_of_kind(text, MentionKind.ID))


_TWO_WAYS_PATTERN = re.compile(
    r"(?<![\w.,])[-−]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?(?!\d|[.,]\d|\w|\s?(?:%|percent\b|per cent\b))"
)


def find_ambiguous_figures(text: str) -> tuple[str, ...]:
    """The figures whose dots part groups of digits to some and a fraction to others: ``8.000``; none of a quotation."""
    return tuple(match[0] for match in _TWO_WAYS_PATTERN.finditer(drop_quotations(text)))


def drop_quotations(text: str) -> str:
    """The text with blanks in place of what stands in quotation marks, of the same length."""
    for mention in find_of_kind(text, MentionKind.QUOTE):
        text = f"{text[: mention.start]}{' ' * (mention.end - mention.start)}{text[mention.end :]}"
    return text


def read_month(word: str) -> int:
    """The number of a month, from its name or the first three letters of it."""
    return next(number for number, name in enumerate(_MONTHS, 1) if name[:3] == word.lower()[:3])


def _build_mention(kind: MentionKind, match: re.Match[str]) -> Mention:
    named = match.groupdict()
    value = named.get("v") or named.get("w") or ""
    if kind is MentionKind.DATE and "m" in named:
        value = f"{named['y']}-{read_month(named['m']):02d}-{int(named['d']):02d}"
    if kind in (MentionKind.MONEY, MentionKind.PERCENT, MentionKind.NUMBER):
        value = _canonical_figure(value, named.get("k"))
        value = f"-{value}" if named.get("n") else value
    if kind is MentionKind.PHONE:
        value = value.strip()
    symbol = named.get("s") or ""
    return Mention(kind, value.strip(), match.start(), match.end(), _SYMBOLS.get(symbol, symbol))


def _canonical_figure(digits: str, suffix: str | None) -> str:
    number = Decimal(digits.replace(",", ""))
    if suffix:
        number *= {"k": 1000, "m": 1_000_000}.get(suffix.lower(), Decimal("0.01"))
    return format(number, "f")
