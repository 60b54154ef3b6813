"""The parts of a task as the first reply understood it: what is to be found out, and what is to be done."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field, JsonValue, ValidationError

from services.executor.core.dossier.values import DO, FIND_OUT, PartOfTask
from services.executor.ports.models import ToolDefinition
from shared.domain.exact_json import JsonObject, dumps

UNDERSTAND = "understand"
_MOST_PARTS = 40
_BLANKS = re.compile(r"[\s\u00a0]+")

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
        "Call this once, in your first reply, beside the first reads. Split the task into its parts, in order. Each "
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


def parts_to_do(parts: Iterable[PartOfTask]) -> tuple[PartOfTask, ...]:
    return tuple(part for part in parts if part.is_to_do)


def _is_in(quote: str, folded_text: str) -> bool:
    wanted = fold_words(quote)
    return bool(wanted) and wanted in folded_text


def fold_words(text: str) -> str:
    """White space and case do not tell a quote from its source, nor do the marks at its ends."""
    return _BLANKS.sub(" ", text).strip(" .,;:!?\"'\u201c\u201d\u2018\u2019").casefold()


def parts_with_conditions(
    parts: Sequence[PartOfTask], unmet: Mapping[int, str], unexcused: Collection[int] = ()
) -> tuple[PartOfTask, ...]:
    left = ({"unmet": unmet.get(part.number, ""), "is_excused": part.number not in unexcused} for part in parts)
    return tuple(part.model_copy(update=update) for part, update in zip(parts, left, strict=True))
