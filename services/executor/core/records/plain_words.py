"""Texts and names as plain lower-case words, however they are written: ``card_data``, ``cardData``, ``Card data``."""

import re

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAP = re.compile(r"[^a-z0-9]+")


def says(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words, in the singular or the plural."""
    plain, wanted = f" {_plain(text)} ", _plain(phrase)
    return f" {wanted} " in plain or f" {wanted}s " in plain


def _plain(text: str) -> str:
    return _GAP.sub(" ", _HUMP.sub(" ", text).lower()).strip()
