"""Sentences of a task that no part quotes, though they ask for something about a thing that they name."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from services.executor.core.dossier.dossier import Dossier
from services.executor.core.dossier.parts import PartOfTask, fold_words
from services.executor.core.figures.identifiers import find_codes, identifier_key
from services.executor.core.records.tool_words import words_of_tool
from services.executor.core.tools import classes
from shared.domain.exact_json import Json

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:[-_.'/][^\W_]+)*")
_LEADING = frozenset("please then also and next finally afterwards now but kindly".split())
_VERBS = classes.READ | classes.COMPUTE | classes.NOTIFY | classes.DELIVER | classes.RECORD | classes.CHANGE
_MORE_VERBS = frozenset("tell ask give let bring take inform find".split())
_STATES = frozenset("is are was were has have had".split())
_FEWEST_WORDS = 3
_MOST = 3


def sentences_not_taken_up(task: str, parts: Sequence[PartOfTask], tools: Iterable[str]) -> tuple[str, ...]:
    """The sentences that no part touches: each asks or tells to do something, and names a thing that no part names.

    Few at most, and only sentences that begin with a verb or are questions: what merely tells something is no part.
    ``tools``: the names of the tools, whose verbs count, too.
    """
    verbs = _VERBS | _MORE_VERBS | {words_of_tool(name).verb for name in tools}
    quoted = [fold_words(piece) for part in parts for piece in _SENTENCE.split(part.quote) if fold_words(piece)]
    known = {key for part in parts for key in _keys(part.quote)}
    found = [
        sentence.strip()
        for sentence in _SENTENCE.split(task)
        if not _is_touched(fold_words(sentence), quoted) and _asks(sentence, verbs) and set(_keys(sentence)) - known
    ]
    return tuple(found[:_MOST])


def still_missing(sentences: Iterable[str], dossier: Dossier) -> tuple[str, ...]:
    """Those of the sentences that name something which no call named, read or write."""
    asked = [call.arguments_json for plan in dossier.every_plan for call in plan.calls]
    asked += [fact.arguments_json for fact in dossier.facts]
    named = {key for text in asked for key in _keys(text)}
    return tuple(sentence for sentence in sentences if set(_keys(sentence)) - named)


def problems_of(sentences: Iterable[str]) -> list[Json]:
    return [f"no part takes up: {sentence!r}" for sentence in sentences]


def _is_touched(sentence: str, quoted: Sequence[str]) -> bool:
    return not sentence or any(quote in sentence or sentence in quote for quote in quoted)


def _asks(sentence: str, verbs: Collection[str]) -> bool:
    words = [word.casefold() for word in _WORD.findall(sentence)]
    if len(words) < _FEWEST_WORDS:
        return False
    first, *rest = [*_without_leading(words), ""]
    if sentence.rstrip().endswith("?") or (first in verbs and first not in classes.AMBIGUOUS):
        return True
    is_noun = _STATES.intersection(rest) or any(map(str.isdigit, rest[0] if rest else ""))
    return first in classes.AMBIGUOUS and not is_noun  # "Order O-5 ...", "The order is ..." tell something


def _without_leading(words: Sequence[str]) -> Sequence[str]:
    start = next((place for place, word in enumerate(words) if word not in _LEADING), 0)
    return words[start:]


def _keys(text: str) -> Iterator[tuple[str, ...]]:
    return (identifier_key(code.text) for code in find_codes(text))
