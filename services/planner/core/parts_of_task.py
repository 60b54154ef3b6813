"""The parts of a task as the loop wants them: its clauses, quoted, and which of them ask for a change."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.foreign import sentences_of
from services.planner.core.intents import Intent
from services.planner.core.process import last_understand_result, process_name
from services.planner.core.request import LEAVE_PART, Request, ToolSpec, objects
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
    text, reading = situation.original, situation.reading
    asked = dict.fromkeys((*(intent.clause for intent in find_asked(situation, writers)), *reading.unknown))
    clauses = [*((DO, clause) for clause in asked), *((FIND_OUT, clause) for clause in reading.questions)]
    task_parts = [ParsedPart(original_words(clause, situation), kind, clause) for kind, clause in clauses]
    ordered = sorted(dict.fromkeys(task_parts), key=lambda part: (text.find(part.quote), part.kind))
    return ordered or [ParsedPart(text.strip(), FIND_OUT, text)]


def original_words(clause: str, situation: Situation) -> str:
    """The words of the task that a clause was read from."""
    if sentences := sentences_of(situation.original):
        of = next((one for one in sentences if clause.rstrip(" .!;") in one.english), None)
        of = of or max(sentences, key=lambda one: len(text_stems(one.english) & text_stems(clause)))
        return of.said.rstrip(" .!;")
    clause, text = situation.as_said(clause), situation.original
    if clause in text:
        return clause
    pieces = [sentence.strip() for sentence in text.replace("\n", ". ").split(". ")]
    word_stems = text_stems(clause)
    return max(pieces, key=lambda sentence: len(text_stems(sentence) & word_stems)).rstrip(" .!;")


def as_understood(situation: Situation, writers: Sequence[ToolSpec]) -> JsonObject:
    """The arguments for a call of ``understand``."""
    parts: list[Json] = [{"quote": part.quote, "kind": part.kind} for part in parts_of(situation, writers)]
    form = "list" if wants_list(situation.text) else "prose"
    return {"parts": parts, "process": process_name(situation.text), "answer_form": form}


class TaskParts(NamedTuple):
    """The parts of a task. ``own``: as they were parsed; ``numbered``: number, quote and kind of each, as the loop
    counts them (``is_told``), else by place; ``left``: the numbers of those that were left.
    """

    situation: Situation
    own: Sequence[ParsedPart]
    numbered: Sequence[tuple[int, str, str]]
    is_told: bool
    left: Sequence[Json]

    def list_open(self, kind: str) -> list[int]:
        """The numbers of that kind, ``DO`` or ``FIND_OUT``, that were not left; none unless the loop counts them."""
        numbers = [number for number, _, own_kind in self.numbered if own_kind == kind and self.is_told]
        return [number for number in numbers if number not in self.left]

    def number_of(self, clause: str, kind: str = DO) -> int:
        """The number of the part of that kind that has this clause.

        An action without a clause of its own (a notice that the process wants) belongs to the first change.
        """
        words = original_words(clause, self.situation)
        of_kind = [(number, quote) for number, quote, own_kind in self.numbered if own_kind == kind]
        exact = [number for number, quote in of_kind if quote == words]
        if len(exact) > 1:  # several clauses of one foreign sentence have its words in common
            alike = [part.clause for part in self.own if (part.kind, part.quote) == (kind, words)]
            exact = exact[alike.index(clause) :] if clause in alike else exact
        near = [number for number, quote in of_kind if clause in quote or quote in clause]
        close = sorted(of_kind, key=lambda part: -len(text_stems(part[1]) & text_stems(clause)))
        return next(iter((*exact, *near, *(number for number, _ in close))), 1)


def read_parts(request: Request, situation: Situation, writers: Sequence[ToolSpec]) -> TaskParts:
    own = parts_of(situation, writers)
    told = objects(last_understand_result(request).get("parts"))
    numbered = [
        (_int_or(part.get("part"), place), str(part.get("quote")), str(part.get("kind")))
        for place, part in enumerate(told, 1)
    ]
    numbered = numbered or [(place, part.quote, part.kind) for place, part in enumerate(own, 1)]
    left = [call.arguments.get("part") for call in request.calls if call.tool == LEAVE_PART]
    return TaskParts(situation, own, numbered, bool(told), left)


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
    asked = [*reading.actions]
    for intent in reading.unnamed:
        tiers = tools_for(intent, situation, writers)
        if any(parts(tool.name)[:1] == (intent.verb,) for tier in tiers for tool in tier):
            asked = sorted((*asked, intent), key=lambda one: situation.text.find(one.clause))
    return asked
