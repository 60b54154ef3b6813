"""Which of the listed kinds of process a task is: the one whose words it uses most, in any form of the words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.request import Request, objects
from services.planner.core.words import stem
from shared.domain.exact_json import Json, JsonObject

_NO_SPECIAL = "general"
_NAMED = re.compile(r"\bprocess(?:[ _-]type)?\s*[:=]\s*[\"'`]?(?P<name>[a-z]+(?:_[a-z]+)+)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9&]+", re.IGNORECASE)  # also the parts of a name in snake case


class _Span(NamedTuple):
    start: int
    end: int


def classify(request: Request) -> JsonObject:
    """The structured output CLASSIFICATION. A kind that is not listed is named only where the task itself names it."""
    kinds = dict(_kind(kind) for kind in objects(request.section("processes")))
    if named := _NAMED.search(request.task):
        return _said(named["name"].lower(), 95, "the task names its process")
    counts = _counts(request.task, kinds)
    total = sum(counts.values())
    if not total:
        return _said(_NO_SPECIAL, 60, "no word of the listed kinds is used")
    best = max(counts, key=lambda kind: counts[kind])
    return _said(
        best, 100 * counts[best] // total, f"its words are used: {counts[best]} of {total} that point anywhere"
    )


def _kind(listed: JsonObject) -> tuple[str, list[str]]:
    """A kind and its words; one without words is known by its name alone."""
    name = str(listed.get("process_type"))
    return name, _strings(listed.get("words")) or ([name] if name != _NO_SPECIAL else [])


def _counts(task: str, kinds: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many different words of each kind are used; one that only stands inside a longer one does not count."""
    said = [stem(word) for word in _WORD.findall(task)]
    found = {
        kind: [_spans(said, [stem(part) for part in _WORD.findall(word)]) for word in kinds[kind]] for kind in kinds
    }
    every = [span for words in found.values() for spans in words for span in spans]
    return {kind: sum(any(_alone(span, every) for span in spans) for spans in words) for kind, words in found.items()}


def _spans(said: Sequence[str], wanted: Sequence[str]) -> list[_Span]:
    size = len(wanted)
    starts = (at for at in range(len(said) - size + 1) if said[at : at + size] == wanted) if size else iter(())
    return [_Span(at, at + size) for at in starts]


def _alone(span: _Span, every: Iterable[_Span]) -> bool:
    return not any(o.start <= span.start and span.end <= o.end and o != span for o in every)


def _said(process_type: str, percent: int, why: str) -> JsonObject:
    confidence: Json = 1 if percent == 100 else _hundredths(percent)
    return {"process_type": process_type, "confidence": confidence, "why": why}


def _hundredths(percent: int) -> Json:
    return Decimal(percent) / 100


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
