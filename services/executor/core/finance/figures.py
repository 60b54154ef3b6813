"""Figures in text and data: reading an amount as people and tool servers write it."""

import re
from decimal import Decimal

from shared.domain.exact_json import Json

# A sign, currency signs and codes before or after, thousands commas, an optional fraction, an optional K or M.
# A leading zero makes a number of several digits an identifier: "007" is not 7.
_FIGURE = re.compile(
    r"^[-+]?\s*(?:[$€£¥]|[A-Z]{3}\s)?\s*[-+]?"
    r"([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*|0)(\.\d+)?\s*([KkMm]?)\s*(?:[$€£¥%]|[A-Z]{3})?$",
    re.ASCII,
)
_SCALE = {"": 0, "k": 3, "m": 6}
# A minus belongs to a figure only where it cannot be a hyphen; commas, colons and slashes only between digits.
_TOKEN = re.compile(r"""(?:(?<![^\s(=:"'])-(?=[$€£¥]?\d))?[A-Za-z\d$€£¥](?:[\w$€£¥%.@+-]|(?<=\d)[,:/](?=\d))*""")
_SPELLINGS = str.maketrans({"\N{MINUS SIGN}": "-", **{chr(0xFF10 + digit): str(digit) for digit in range(10)}})


def figure(value: Json) -> Decimal | None:
    """The number that a JSON value or a written amount stands for: ``"$2,340.00"``, ``"12 USD"``, ``"3K"``, ``"(5)"``.

    Exact, however long. None for anything that only contains digits: dates, identifiers, lists, ``"007"``.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if not isinstance(value, str):
        return Decimal(value)
    text = value.translate(_SPELLINGS).strip()
    accounted = text.startswith("(") and text.endswith(")")
    match = _FIGURE.match(text[1:-1].strip() if accounted else text)
    if match is None or text.count("-") + accounted > 1:
        return None
    whole, fraction, scale = match.groups()
    sign = "-" if accounted or "-" in text else ""
    return Decimal(f"{sign}{whole.replace(',', '')}{fraction or ''}E{_SCALE[scale.lower()]}")


def number_bearing_tokens(text: str) -> list[str]:
    """The words of a text that contain a digit: identifiers, amounts, dates; without the punctuation that ends them."""
    tokens = _TOKEN.findall(text.translate(_SPELLINGS))
    return [token.rstrip(".+-") for token in tokens if any(mark.isdigit() for mark in token)]


def normal(token: str) -> str:
    """One spelling for each figure, so that ``$2,340`` and ``2340.00`` are the same; other tokens are case-folded."""
    number = figure(token)
    if number is None:
        return token.casefold()
    text = format(number, "f") if number else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text
