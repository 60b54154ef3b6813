"""Figures in text and data: reading an amount as people and tool servers write it."""

import re
from decimal import Decimal

from shared.domain.exact_json import Json

# Currency signs and codes before or after, thousands commas, an optional fraction, an optional K or M.
_FIGURE = re.compile(
    r"^\(?[-+]?\s*(?:[$€£¥]|[A-Z]{3}\s)?\s*[-+]?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*([KkMm]?)\s*(?:[$€£¥%]|[A-Z]{3})?\)?$"
)
_SCALE = {"": 0, "k": 3, "m": 6}
_TOKEN = re.compile(r"[A-Za-z0-9$€£¥][\w$€£¥%.,:/@+-]*")


def figure(value: Json) -> Decimal | None:
    """The number that a JSON value or a written amount stands for: ``"$2,340.00"``, ``"12 USD"``, ``"3K"``."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if not isinstance(value, str):
        return Decimal(value)
    match = _FIGURE.match(value.strip())
    if match is None:
        return None
    whole, fraction, scale = match.groups()
    number = Decimal(whole.replace(",", "") + (fraction or "")).scaleb(_SCALE[scale.lower()])
    return -number if "-" in value else number


def number_bearing_tokens(text: str) -> list[str]:
    """The words of a text that contain a digit: identifiers, amounts, dates; without the punctuation that ends them."""
    return [token.rstrip(".,:/-") for token in _TOKEN.findall(text) if any(mark.isdigit() for mark in token)]


def normal(token: str) -> str:
    """One spelling for each figure, so that ``$2,340`` and ``2340.00`` are the same; other tokens are case-folded."""
    number = figure(token)
    return token.casefold() if number is None else format(number.normalize(), "f")
