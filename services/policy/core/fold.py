"""Texts as text rules compare them: one spelling for what a reader takes for the same, cut into words."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_SEPARATE = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # written without spaces between words
_ASCII_PARTS = re.compile(r"[A-Za-z0-9_]+|.")
_BETWEEN = "\x1f"  # counts as white space, so that no folded text has it


class FoldedText(NamedTuple):
    """``words`` for keywords (see ``folded_words``); ``plain`` for patterns: compatibility forms folded, no more."""

    words: str
    plain: str


def fold_text(text: str) -> FoldedText:
    plain = unicodedata.normalize("NFKC", text)
    return FoldedText(folded_words(plain), plain)


def folded_words(text: str) -> str:
    """A text's words and other signs, each between two separators: a keyword is in a text if it is part of it so.

    Compatibility forms (NFKC), case, what nobody sees (category Cf) and runs of white space are folded. Empty for a
    text without any sign.
    """
    parts = list(_parts(_fold_characters(text)))
    return f"{_BETWEEN}{_BETWEEN.join(parts)}{_BETWEEN}" if parts else ""


def _fold_characters(text: str) -> str:
    if not text.isascii():
        text = "".join(character for character in text if not _is_unseen(character))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def _parts(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII_PARTS.findall(text)
        return
    start = 0
    for at in range(1, len(text)):
        if not (_is_of_word(text[at - 1]) and _is_of_word(text[at])):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


@lru_cache(8_192)
def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) == "Cf"


@lru_cache(8_192)
def _is_of_word(character: str) -> bool:
    """Whether it makes one word with its neighbours."""
    if not (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"):
        return False
    return character.isascii() or not unicodedata.name(character, "").startswith(_SEPARATE)
