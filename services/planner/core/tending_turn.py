"""A task that goes on with time: what came in is read list by list, and the standing instructions are carried out."""

from services.planner.core.clock_words import goes_on
from services.planner.core.mentions import MentionKind
from services.planner.core.pages import next_parts
from services.planner.core.parts_of_task import changes_of, number_of_clause
from services.planner.core.present import now_of
from services.planner.core.request import CALL_NOTE, LEAVE_PART, Request, as_object
from services.planner.core.situation import Situation
from services.planner.core.telling import telling_calls
from services.planner.core.tending import Call, Tended, tend_rows
from services.planner.core.tending_rules import standing
from services.planner.core.toolset import Toolset
from services.planner.core.words import parts, stem
from shared.domain.exact_json import JsonObject, dumps

_AT_ONCE = 8
_TURN = "turn"


def tends(request: Request, situation: Situation, toolset: Toolset) -> bool:
    """Whether a task has standing instructions: the loop counts its turns, or its words speak of what comes later."""
    if now_of(request) is None or situation.of_kind(MentionKind.ID):
        return False
    if _TURN in as_object(request.section("now")):
        return True
    verbs = {stem(parts(tool.name)[0]) for tool in toolset.writers if parts(tool.name)}
    steps = [step for rule in standing(situation.text) for step in rule.steps if stem(step.verb) in verbs]
    return goes_on(situation.text) and bool(steps)


def lists_to_read(request: Request, situation: Situation, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """Every list that can be read as it is, once, and what follows of one that came in part."""
    made = {call.key for call in request.calls}
    found: list[tuple[str, JsonObject]] = [
        (tool.name, {}) for tool in toolset.readers if not tool.required and parts(tool.name)[:1] == ("list",)
    ]
    found += [(tool.name, given) for tool, given in next_parts(situation.facts, toolset.readers)]
    return [(name, given) for name, given in found if f"{name} {dumps(given)}" not in made][:_AT_ONCE]


def due(request: Request, situation: Situation, toolset: Toolset) -> Tended:
    """What is due of the standing instructions; what no rule can do is named."""
    now = now_of(request)
    done = tend_rows(situation, toolset.writers)
    if now is None:
        return done
    said = telling_calls(situation, toolset.writers, now, done.calls)
    return Tended((*done.calls, *said.calls), (*done.left, *said.left), done.clauses)


def calls_due(request: Request, situation: Situation, toolset: Toolset, due_now: Tended) -> list[Call]:
    """What is due and was not called yet, each with the part of the task that it carries out, if the loop asks for it.

    A call of which no clause is known belongs to the part that its tool's name speaks of.
    """
    made = {call.key for call in request.calls}
    found: list[Call] = []
    for place, (name, given) in enumerate(due_now.calls):
        if f"{name} {dumps(given)}" in made:
            continue
        clause = due_now.clauses[place] if place < len(due_now.clauses) else " ".join(parts(name))
        number = number_of_clause(clause, request, situation, toolset.writers) if toolset.guarded else 0
        note: JsonObject = {CALL_NOTE: {"part": number}} if number else {}
        found.append((name, {**given, **note}))
    return found


def parts_without_calls(request: Request, situation: Situation, toolset: Toolset, due_now: Tended) -> tuple[Call, ...]:
    """Each part of the task for which nothing is due now: left, as what was read has nothing for it."""
    told = {call.arguments.get("part") for call in request.calls if call.tool == LEAVE_PART}
    ref = situation.facts[-1].ref if situation.facts else ""
    if not toolset.has(LEAVE_PART) or not ref:
        return ()
    clauses = [*due_now.clauses, *(" ".join(parts(name)) for name, _ in due_now.calls[len(due_now.clauses) :])]
    busy = {number_of_clause(clause, request, situation, toolset.writers) for clause in clauses}
    idle = [number for number in changes_of(request) if number not in told | busy]
    because = "nothing that was read calls for it now"
    return tuple((LEAVE_PART, {"part": number, "because": because, "ref": ref}) for number in idle)


def account(request: Request, due_now: Tended) -> str:
    """What was done in this turn, and nothing else of what was read: that is other people's business."""
    lines = [_line(call, request) for call in due_now.calls]
    lines += [f"Left alone: {left}." for left in due_now.left]
    return " ".join(lines) or "Nothing is due now."


def _line(call: tuple[str, JsonObject], request: Request) -> str:
    name, given = call
    made = [one for one in request.calls if one.tool == name and one.arguments == given]
    what = f"{' '.join(parts(name))} ({', '.join(f'{field} {value}' for field, value in given.items())})"
    if not made or made[-1].failed:
        return f"Not done: {what}."
    status = as_object(made[-1].result).get("status") if request.guarded else None
    return f"Done{f' and {status}' if status else ''}: {what}."
