"""What to read next: the records a task names, what they refer to, and lists where only a description is known."""

from services.planner.core.binding import Bound, bind
from services.planner.core.intents import Intent
from services.planner.core.references import CERTAIN, LIKELY, POSSIBLE, is_reference, wanted
from services.planner.core.request import Request, ToolSpec
from services.planner.core.scalars import proper_names
from services.planner.core.situation import Situation, about, best
from services.planner.core.words import nouns, text_stems
from shared.domain.exact_json import dumps

_AT_ONCE, _IN_ALL = 8, 28


def next_reads(request: Request, situation: Situation) -> list[Bound]:
    """The calls worth making now; empty when nothing new can be read. No call is repeated."""
    made = {f"{call.tool} {dumps(call.arguments)}" for call in request.calls}
    made |= {f"{fact.tool} {dumps(fact.arguments)}" for fact in situation.facts}
    fresh: dict[str, Bound] = {}
    for tool in request.tools:
        for bound in _worthwhile(tool, situation):
            if bound.key not in made:
                fresh.setdefault(bound.key, bound)
    if not fresh and not situation.records:
        fresh = {bound.key: bound for bound in _searches(request, situation) if bound.key not in made}
    return list(fresh.values())[: min(_AT_ONCE, max(0, _IN_ALL - len(request.calls)))]


def _whole(situation: Situation) -> Intent:
    return Intent("", situation.text)


def _worthwhile(tool: ToolSpec, situation: Situation) -> list[Bound]:
    spoken = nouns(tool.name) & situation.stems
    ways = [
        bound for bound in bind(tool, situation, _whole(situation), POSSIBLE if spoken else LIKELY) if not bound.missing
    ]
    if not tool.required:
        return [_filtered(way) for way in ways] if spoken and _wants_list(tool, situation) else []
    return [way for way in ways if spoken or _looks_up(way)]


def _looks_up(way: Bound) -> bool:
    """Whether the call looks up the very thing that an argument identifies."""
    own = nouns(way.tool.name)
    return all(
        found.sure >= LIKELY and (not is_reference(way.tool, name) or wanted(way.tool, name) & own)
        for name, found in way.chosen
        if name in way.tool.required
    ) and any(wanted(way.tool, name) & own for name in way.tool.required)


def _filtered(way: Bound) -> Bound:
    """A list is narrowed only by what the task says for certain."""
    return way._replace(chosen=tuple((name, found) for name, found in way.chosen if found.sure == CERTAIN))


def _wants_list(tool: ToolSpec, situation: Situation) -> bool:
    """A list is needed if the task asks a question about its things, or names none of them that is known by now."""
    own = nouns(tool.name) & situation.stems
    if any(own & text_stems(question) for question in situation.reading.questions):
        return True
    named = best(about(situation, own), situation)
    return len(named) != 1 or not any(_mentioned(record_id, situation) for record_id in named[0].fields.values())


def _mentioned(value: object, situation: Situation) -> bool:
    return any(str(value).lower() == mention.value.lower() for mention in situation.mentions)


def _searches(request: Request, situation: Situation) -> list[Bound]:
    """Nothing is known yet: search tools with the names the task uses, then plain lists of what writes may concern."""
    if not proper_names(situation.text):
        return []
    ways = [way for tool in request.tools if tool.required for way in bind(tool, situation, _whole(situation), LIKELY)]
    return [way for way in ways if not way.missing and not any(is_reference(way.tool, name) for name, _ in way.chosen)]
