"""``understand``: the parts of the task as the first reply quotes them, and the sentences that none takes up."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, JsonValue, ValidationError

from services.executor.core.dossier.dossier import Dossier
from services.executor.core.dossier.values import DO, FIND_OUT, PartOfTask, fold_words
from services.executor.core.figures.identifiers import find_codes, identifier_key
from services.executor.core.records.tool_words import words_of_tool
from services.executor.core.tools import classes
from services.executor.ports.models import ToolDefinition
from shared.domain.exact_json import Json, JsonObject, dumps

UNDERSTAND = "understand"
_MOST_PARTS = 40
_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "quote": {"type": "string", "description": "the words of the task for this part, copied exactly"},
                    "kind": {"type": "string", "enum": [FIND_OUT, DO]},
                },
                "required": ["quote", "kind"],
                "additionalProperties": False,
            },
        },
        "process": {"type": "string"},
        "answer_form": {"type": "string", "enum": ["prose", "list"]},
    },
    "required": ["parts", "process", "answer_form"],
    "additionalProperties": False,
}


class Understanding(NamedTuple):
    """What ``understand`` said. ``process`` is a name as the model wrote it; ``problems`` go back to it."""

    parts: tuple[PartOfTask, ...]
    process: str
    answer_form: Literal["prose", "list"]
    problems: tuple[str, ...] = ()


class CannotUnderstand(ValueError):
    """The call of ``understand`` does not fit its schema; the message says why."""


class _Quoted(BaseModel):
    quote: str = Field(max_length=20_000)
    kind: Literal["find out", "do"]


class _Said(BaseModel):
    parts: tuple[_Quoted, ...] = Field(max_length=_MOST_PARTS)
    process: str = "general"
    answer_form: Literal["prose", "list"] = "prose"


def understand_tool(processes: Iterable[str]) -> ToolDefinition:
    """The definition of ``understand``; ``processes`` are the names of the kinds of task that there are."""
    return _define_understand(tuple(processes))


@lru_cache(maxsize=256)
def _define_understand(processes: tuple[str, ...]) -> ToolDefinition:
    return ToolDefinition(
        UNDERSTAND,
        "Once, in your first reply: split the task into its parts, in order. Each "
        'part quotes the task\'s own words exactly. Its kind is "do" if something is to be changed, created, sent, '
        'booked, paid or told to somebody; else "find out". `process` names the kind of task: one of '
        f"{', '.join(processes)}, or of the section process_types; or a new name in "
        "snake_case for a special kind that is not listed. "
        '`answer_form` is "list" only if the task wants one JSON list and nothing else as its answer.',
        _SCHEMA,
    )


def read_understanding(given: JsonObject, texts: Sequence[str]) -> Understanding:
    """The parts that quote one of the ``texts``; a quote that stands in none is named among the problems.

    Raises ``CannotUnderstand``.
    """
    try:
        said = _Said.model_validate_json(dumps(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CannotUnderstand(f"{where}: {first['msg']}") from error
    whole = [fold_words(text) for text in texts]
    quoted = [part for part in said.parts if any(_is_in(part.quote, text) for text in whole)]
    strange = [part.quote for part in said.parts if part not in quoted]
    parts = tuple(PartOfTask(number=number, quote=one.quote, kind=one.kind) for number, one in enumerate(quoted, 1))
    problems = tuple(f"this is no quote of the task, and is no part of it: {quote[:120]!r}" for quote in strange)
    return Understanding(parts, said.process, said.answer_form, problems)


def whole_task(task: str) -> Understanding:
    """What holds where a model says nothing of its own: one part, to be done."""
    return Understanding((PartOfTask(number=1, quote=task, kind=DO),), "general", "prose")


def _is_in(quote: str, folded_text: str) -> bool:
    wanted = fold_words(quote)
    return bool(wanted) and wanted in folded_text


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


def still_missing(sentences: Iterable[str], dossier: Dossier) -> tuple[str, ...]:
    """Those of the sentences that name something which no call named, read or write."""
    asked = [call.arguments_json for plan in dossier.every_plan for call in plan.calls]
    asked += [fact.arguments_json for fact in dossier.facts]
    named = {key for text in asked for key in _keys(text)}
    return tuple(sentence for sentence in sentences if set(_keys(sentence)) - named)


def problems_of(sentences: Iterable[str]) -> list[Json]:
    return [f"no part takes up: {sentence!r}" for sentence in sentences]


def _keys(text: str) -> Iterator[tuple[str, ...]]:
    return (identifier_key(code.text) for code in find_codes(text))
