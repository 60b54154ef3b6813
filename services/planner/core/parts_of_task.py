"""The parts of a task as the loop wants them: its clauses, quoted, and which of them ask for a change."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.foreign import sentences_of
from services.planner.core.intents import Intent
from services.planner.core.process import last_understand_result, process_name
from services.planner.core.request import Request, ToolSpec, objects
from services.planner.core.situation import Situation
from services.planner.core.toolmatch import tools_for
from services.planner.core.words import parts, text_stems
from shared.domain.exact_json import Json, JsonObject

DO, FIND_OUT = "do", "find out"


class ParsedPart(NamedTuple):
    quote: str
    kind: str
    clause: str


def parts_of(situation: Situation, writers: Sequence[ToolSpec]) -> list[ParsedPart]:
    """Each clause once, in the task's order; a task of which nothing is understood is one part to find out."""
    text = situation.original
    task_parts = [
        ParsedPart(original_words(intent.clause, situation), DO, intent.clause)
        for intent in find_asked(situation, writers)
    ]
    known_clauses = {part.clause for part in task_parts}
    task_parts += [
        ParsedPart(original_words(clause, situation), DO, clause)
        for clause in situation.reading.unknown
        if clause not in known_clauses
    ]
    task_parts += [
        ParsedPart(original_words(clause, situation), FIND_OUT, clause) for clause in situation.reading.questions
    ]
    unique: dict[str, ParsedPart] = {}
    for part in sorted(task_parts, key=lambda part: (text.find(part.quote), part.kind)):
        unique.setdefault(f"{part.kind} {part.quote} {part.clause}", part)
    return [*unique.values()] or [ParsedPart(text.strip(), FIND_OUT, text)]


def original_words(clause: str, situation: Situation) -> str:
    """The words of the task that a clause was read from."""
    if sentences := sentences_of(situation.original):
        word_stems = text_stems(clause)
        of = next(
            (foreign_sentence for foreign_sentence in sentences if clause.rstrip(" .!;") in foreign_sentence.english),
            None,
        )
        return (
            of or max(sentences, key=lambda foreign_sentence: len(text_stems(foreign_sentence.english) & word_stems))
        ).said.rstrip(" .!;")
    clause, text = situation.as_said(clause), situation.original
    if clause in text:
        return clause
    pieces = [sentence.strip() for sentence in text.replace("\n", ". ").split(". ")]
    word_stems = text_stems(clause)
    return max(pieces, key=lambda sentence: len(text_stems(sentence) & word_stems)).rstrip(" .!;")


def as_understood(situation: Situation, writers: Sequence[ToolSpec]) -> JsonObject:
    """The arguments for a call of ``understand``."""
    parts: list[Json] = [{"quote": part.quote, "kind": part.kind} for part in parts_of(situation, writers)]
    return {
        "parts": parts,
        "process": process_name(situation.text),
        "answer_form": "list" if wants_list(situation.text) else "prose",
    }


def number_of_clause(
    clause: str, request: Request, situation: Situation, writers: Sequence[ToolSpec], kind: str = DO
) -> int:
    """The number of the task's part of that kind that has this clause: as the loop counts parts, else by its place in
    the task.

    An action without a clause of its own (a notice that the process wants) belongs to the first change.
    """
    told_parts = objects(last_understand_result(request).get("parts"))
    own = [(part.quote, part.kind) for part in parts_of(situation, writers)]
    quotes_and_kinds = [(str(part_kind.get("quote")), str(part_kind.get("kind"))) for part_kind in told_parts] or own
    numbers = [_int_or(part_kind.get("part"), place) for place, part_kind in enumerate(told_parts, 1)] or [
        *range(1, len(own) + 1)
    ]
    alike_in_kind = [
        (number, words)
        for number, (words, part_kind) in zip(numbers, quotes_and_kinds, strict=True)
        if part_kind == kind
    ]
    exact = [number for number, words in alike_in_kind if words == original_words(clause, situation)]
    if len(exact) > 1:  # several clauses of one foreign sentence have its words in common
        alike = [
            part.clause
            for part in parts_of(situation, writers)
            if (part.kind, part.quote) == (kind, original_words(clause, situation))
        ]
        exact = exact[alike.index(clause) :] if clause in alike else exact
    near = [number for number, words in alike_in_kind if clause in words or words in clause]
    word_stems = text_stems(clause)
    close = sorted(alike_in_kind, key=lambda part_kind: -len(text_stems(part_kind[1]) & word_stems))
    return next(iter([*exact, *near, *(number for number, _ in close)]), 1)


def list_part_numbers(request: Request, kind: str) -> list[int]:
    """The numbers of the parts of that kind, ``DO`` or ``FIND_OUT``, as the loop counts them."""
    told_parts = objects(last_understand_result(request).get("parts"))
    return [
        _int_or(told_part.get("part"), place)
        for place, told_part in enumerate(told_parts, 1)
        if told_part.get("kind") == kind
    ]


def _int_or(value: Json, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


_LIST_PATTERN = re.compile(
    r"\bJSON (?:list|array)\b|\b(?:bare|plain) list\b|\bas a list of\b.*\bonly\b|\[\s*\"[^\]]*\]", re.I
)


def wants_list(text: str) -> bool:
    return bool(_LIST_PATTERN.search(text))


def find_asked(situation: Situation, writers: Sequence[ToolSpec]) -> list[Intent]:
    """The actions, and the clauses whose verb only a tool knows, in the task's order."""
    reading = situation.reading
    known_intents = [
        intent
        for intent in reading.unnamed
        if any(
            parts(tool.name)[:1] == (intent.verb,) for tier in tools_for(intent, situation, writers) for tool in tier
        )
    ]
    if not known_intents:
        return [*reading.actions]
    return sorted((*reading.actions, *known_intents), key=lambda intent: situation.text.find(intent.clause))
