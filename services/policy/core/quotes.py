"""Finds quotes in their source, and the sentences of the source that were not quoted."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

MAX_QUOTE_CHARACTERS = 1_000  # characters
_FEWEST_WORDS = 3  # fewer prove nothing: they stand in any text
_LEAST_COVERED_SHARE = 0.5  # of a sentence's words
_SEPARATOR = "\x1f"  # in no word
_LIST_MARKER_PATTERN = re.compile(r"[ \t]*(?:[-*+•–—]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])[ \t]+")
_HEADING_PATTERN = re.compile(r"[ \t]*#{1,6}[ \t]")
_SENTENCE_END_PATTERN = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？]")
_ABBREVIATION_PATTERN = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|cf|approx|incl|excl|nr|mr|mrs|ms|dr|vs)\.$", re.I)
_LONGEST_ABBREVIATION = 12
# A character of a script without spaces is a word of its own.
_WORD_PATTERN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:[.,'’_-][^\W_\u3040-\u30ff\u3400-\u9fff]+)*"
)


class SourceWord(NamedTuple):
    """A word of the source, case-folded, and its position."""

    text: str
    start: int


class Sentence(NamedTuple):
    """A sentence of the source. ``start`` and ``end``: the indices of its words."""

    text: str
    start: int
    end: int


def split_words(source: str) -> tuple[SourceWord, ...]:
    """The words of a source: numbers with their commas, names with their underscores, and other unbroken runs."""
    return tuple(
        SourceWord(match[0].casefold().replace("’", "'"), match.start()) for match in _WORD_PATTERN.finditer(source)
    )


def split_sentences(source: str) -> tuple[Sentence, ...]:
    """The sentences in order, without list markers; headings are left out.

    A sentence begins at a list item, after an empty line or an end mark, and at a line without a small first letter.
    """
    sentences = [
        sentence
        for start, end in _find_paragraph_spans(source)
        for sentence in _split_block_into_sentences(source, start, end)
    ]
    return tuple(sentence for sentence in sentences if any(map(str.isalpha, sentence.text)))


def _find_paragraph_spans(source: str) -> Iterator[tuple[int, int]]:
    start = position = 0
    for line in source.splitlines(keepends=True):
        heading = _HEADING_PATTERN.match(line)
        if heading or _starts_block(line):
            yield start, position
            marker = _LIST_MARKER_PATTERN.match(line)
            start = position + (marker.end() if marker else 0)
            if heading:
                start = position + len(line)
        position += len(line)
    yield start, position


def _starts_block(line: str) -> bool:
    """Whether a line starts a new block instead of continuing the line before."""
    text = line.strip()
    return not text or not text[0].islower() or _LIST_MARKER_PATTERN.match(line) is not None


def _split_block_into_sentences(source: str, start: int, end: int) -> Iterator[Sentence]:
    for mark in _SENTENCE_END_PATTERN.finditer(source, start, end):
        if not _ABBREVIATION_PATTERN.search(source, max(0, mark.end() - _LONGEST_ABBREVIATION), mark.end()):
            yield _build_sentence(source, start, mark.end())
            start = mark.end()
    yield _build_sentence(source, start, end)


def _build_sentence(source: str, start: int, end: int) -> Sentence:
    return Sentence(" ".join(source[start:end].split()), start, end)


class QuotedSource:
    """A source text (prose) and the passages of it that rules have quoted so far. Case, spacing and punctuation are
    ignored.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._words = split_words(source)
        texts = [word.text for word in self._words]
        self._joined = _join_with_separators(texts)
        self._offsets = list(accumulate((len(text) + 1 for text in texts), initial=0))  # of the words in it
        self._marked: set[int] = set()

    def require_quoted_words(self, quote: str) -> tuple[str, ...]:
        """The quote's words. Raises ``ValueError`` if it is too short, too long, or not in the source."""
        if len(quote) > MAX_QUOTE_CHARACTERS:
            raise ValueError(f"the quote has {len(quote)} characters; the limit is {MAX_QUOTE_CHARACTERS}")
        words = tuple(word.text for word in split_words(quote))
        if len(words) < _FEWEST_WORDS:
            raise ValueError(f"the quote is too short: it has {len(words)} words, and {_FEWEST_WORDS} are needed")
        if _join_with_separators(words) not in self._joined:
            raise ValueError("the quote is not in the text")
        return words

    def mark_as_quoted(self, words: Sequence[str]) -> None:
        """Marks the words as quoted at each place where they occur in sequence."""
        sought = _join_with_separators(words)
        offset = self._joined.find(sought)
        while offset >= 0:
            index = bisect_left(self._offsets, offset)
            self._marked.update(range(index, index + len(words)))
            offset = self._joined.find(sought, offset + len(sought) - 1)

    def find_uncovered_sentences(self) -> Iterator[str]:
        """Yields the sentences of which less than half of the words are quoted."""
        index = 0
        for sentence in split_sentences(self._source):
            while index < len(self._words) and self._words[index].start < sentence.start:
                index += 1
            start = index
            while index < len(self._words) and self._words[index].start < sentence.end:
                index += 1
            places = range(start, index)
            if places and sum(number in self._marked for number in places) < _LEAST_COVERED_SHARE * len(places):
                yield sentence.text


def _join_with_separators(texts: Sequence[str]) -> str:
    return f"{_SEPARATOR}{_SEPARATOR.join(texts)}{_SEPARATOR}"
