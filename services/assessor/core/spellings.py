"""Whether a text says a word that may be spelled in several ways."""

import re


def says(text: str, word: str) -> bool:
    """Whether a text in small letters contains one of the spellings of a word, as in ``10:00|10 am``.

    A figure stands alone: 5:45 is said by 05:45, not by 15:45, and 32.40 not by 132.40 or 1,032.40.
    """
    return any(re.search(_whole_word_pattern(spelling), text) for spelling in word.casefold().split("|"))


def _whole_word_pattern(spelling: str) -> str:
    before = r"(?<![1-9])(?<![1-9]0)(?<!\d[.,])(?<!\d[.,]0)" if spelling[:1].isdigit() else ""
    after = r"(?!\d)" if spelling[-1:].isdigit() else ""
    return f"{before}{re.escape(spelling)}{after}"
