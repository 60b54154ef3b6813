"""Prose cut into sentences and words, with the words' places in the text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKER = re.compile(r"[ \t]*(?:[-*+•–—]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])[ \t]+")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_END = re.compile(r"[.!?]+[\"'”’)\]]*(?=\s|$)|[。！？]")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|cf|approx|incl|excl|nr|mr|mrs|ms|dr|vs)\.$", re.I)
_LONGEST_SHORTENED = 12
# A character of a script without spaces is a word of its own.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:[.,'’_-][^\W_\u3040-\u30ff\u3400-\u9fff]+)*"
)


class Word(NamedTuple):
    """``text`` is folded."""

    text: str
    start: int


class Sentence(NamedTuple):
    text: str
    start: int
    end: int


def words(source: str) -> tuple[Word, ...]:
    """Numbers with their commas, names with their underscores, and all else that is written together."""
    return tuple(Word(found[0].casefold().replace("’", "'"), found.start()) for found in _WORD.finditer(source))


def sentences(source: str) -> tuple[Sentence, ...]:
    """The sentences in order, without list markers; headings are left out.

    A new one begins at an item of a list, an empty line, a line with a capital, and behind a mark that ends one.
    """
    found = [sentence for start, end in _blocks(source) for sentence in _in_block(source, start, end)]
    return tuple(sentence for sentence in found if any(map(str.isalpha, sentence.text)))


def _blocks(source: str) -> Iterator[tuple[int, int]]:
    start = position = 0
    for line in source.splitlines(keepends=True):
        heading = _HEADING.match(line)
        if heading or _begins(line):
            yield start, position
            marker = _MARKER.match(line)
            start = position + (len(line) if heading else marker.end() if marker else 0)
        position += len(line)
    yield start, position


def _begins(line: str) -> bool:
    """Whether a line goes on with what stood before it."""
    text = line.strip()
    return not text or not text[0].islower() or _MARKER.match(line) is not None


def _in_block(source: str, start: int, end: int) -> Iterator[Sentence]:
    for mark in _END.finditer(source, start, end):
        if not _SHORTENED.search(source, max(0, mark.end() - _LONGEST_SHORTENED), mark.end()):
            yield _sentence(source, start, mark.end())
            start = mark.end()
    yield _sentence(source, start, end)


def _sentence(source: str, start: int, end: int) -> Sentence:
    return Sentence(" ".join(source[start:end].split()), start, end)
