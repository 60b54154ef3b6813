"""Extracts the keywords of a text: a few stemmed words of letters only."""

import re
from functools import lru_cache

import snowballstemmer

KEYWORDS_KEPT = 15
_WORD_PATTERN = re.compile(r"[^\W\d_]{4,}")
_STOP_WORDS = frozenset(
    """
    about above after again against also answer because been before being below between both cannot could does doing
    done down during each else ensure every following from further given have having here hers herself himself into
    itself just know like list make many more most must myself need only other ours ourselves over please same several
    shall should show some such task tell than that their theirs them themselves then there these they this those
    through under until upon using very want were what when where which while whom whose will with within without would
    your yours yourself
    """.split()
)


def extract_keywords(text: str, most_keywords: int = KEYWORDS_KEPT) -> tuple[str, ...]:
    """The first distinct words of more than three letters that are not stop-words, stemmed, in lower case."""
    stems: dict[str, None] = {}
    for match in _WORD_PATTERN.finditer(text.lower()):
        if len(stems) >= most_keywords:
            break
        if match.group() not in _STOP_WORDS:
            stems[stem(match.group())] = None
    return tuple(stems)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A word without its English endings, by the Snowball rules: ``approv`` of ``approved``, ``approval``.

    A stem is for comparing with other stems, not for reading.
    """
    english = snowballstemmer.stemmer("english")  # one word at a time is all that one of them can do
    return str(english.stemWord(word))
