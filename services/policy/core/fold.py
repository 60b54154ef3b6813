"""Texts as text rules compare them: one spelling for what a reader takes for the same, and whole words."""

import unicodedata
from typing import NamedTuple

_SEPARATE = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # written without spaces between words


class FoldedText(NamedTuple):
    """``words`` for keywords: compatibility forms, case, invisible characters and spacing folded.

    ``plain`` for patterns: compatibility forms folded, all else as it was written.
    """

    words: str
    plain: str


def folded(text: str) -> FoldedText:
    plain = unicodedata.normalize("NFKC", text)
    return FoldedText(folded_words(plain), plain)


def folded_words(text: str) -> str:
    """NFKC and case folding, without what nobody sees (category Cf), runs of white space as one space."""
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii():
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        text = unicodedata.normalize("NFKC", text.casefold())
    return " ".join(text.casefold().split())


def holds_word(text: str, word: str) -> bool:
    """Whether ``word`` stands in ``text`` as a whole word; both folded, the word not empty."""
    position = text.find(word)
    while position >= 0:
        end = position + len(word)
        if not (_joined(text[position - 1 : position], word[0]) or _joined(word[-1], text[end : end + 1])):
            return True
        position = text.find(word, position + 1)
    return False


def _joined(before: str, after: str) -> bool:
    """Whether two neighbours belong to one word; at an end of the text there is no neighbour."""
    return _is_of_word(before) and _is_of_word(after) and not (_stands_alone(before) or _stands_alone(after))


def _is_of_word(character: str) -> bool:
    return bool(character) and (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M")


def _stands_alone(character: str) -> bool:
    return not character.isascii() and unicodedata.name(character, "").startswith(_SEPARATE)
