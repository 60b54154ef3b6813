"""The next reply of a task's conversation: calls to make side by side, or the answer."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from services.planner.core import improve
from services.planner.core.answer import ToldAnswer, answer
from services.planner.core.binding import WriteStep
from services.planner.core.compute import figures, subject_of
from services.planner.core.finding import searches, through_search
from services.planner.core.intents import Intent
from services.planner.core.next_turn import next_line
from services.planner.core.notices import with_notice
from services.planner.core.outcomes import WriteState
from services.planner.core.parts_of_task import as_understood, number_of
from services.planner.core.present import is_turn
from services.planner.core.process import call_understand, process_of
from services.planner.core.proposals import ProposedMove, as_calls, moves_of, next_moves
from services.planner.core.reads import next_reads
from services.planner.core.renewal import drop_outdated, has_written_since, last_outdated
from services.planner.core.request import LEAVE_PART, LOOK, UNDERSTAND, Call, PlannerReply, Request
from services.planner.core.situation import Situation, observe, rows_in
from services.planner.core.tending_turn import (
    account,
    as_wished,
    calls_due,
    due,
    lists_to_read,
    parts_without_calls,
    tends,
)
from services.planner.core.toolset import Toolset, toolset_of
from services.planner.core.values import calculations, with_figures
from services.planner.core.words import parts
from services.planner.core.writes import plan
from shared.domain.exact_json import JsonObject


def next_reply(request: Request, heedless: bool = False, hasty: bool = False) -> PlannerReply:
    """What a model would answer now; it depends on the request alone.

    ``heedless`` and ``hasty`` are faults: conditions are not heeded, and nothing is read after the first reply.
    """
    said = _next_reply(request, heedless, hasty)
    return said._replace(calls=through_search(said.calls, request))


def _next_reply(request: Request, heedless: bool, hasty: bool) -> PlannerReply:
    toolset = toolset_of(request)
    outdated = last_outdated(request, toolset.writers)
    request = drop_outdated(request, outdated, toolset.writers)
    situation = observe(request, [tool.name for tool in toolset.writers])
    situation = _without_conditions(situation) if heedless else situation
    if tends(request, situation, toolset):
        return _tending(request, situation, toolset)
    has_written = has_written_since(request, outdated, toolset.writers)
    reads = [] if has_written or (hasty and request.turns) else _reads(request, situation, toolset)
    understood = partial(as_understood, situation, toolset.writers)
    hunts = () if has_written else searches(request, situation, toolset.writers)
    if calls := (*_understanding(request, toolset, understood), *hunts, *reads):
        return PlannerReply(calls=calls)
    if calls := calculations(request, situation, toolset):
        return PlannerReply(calls=calls)
    situation = with_figures(situation, figures(situation))
    steps = _steps(request, situation, toolset)
    moves = moves_of(steps, request)
    coming = next_moves(moves, toolset.guarded)
    numbers = [number_of(move.step.intent, request, situation, toolset.writers) for move in coming]
    left = departures(request, situation, steps, toolset)
    if calls := (*left, *as_calls(coming, numbers, toolset.guarded)):
        return PlannerReply(calls=calls)
    return PlannerReply(_last_words(request, situation, steps, moves))


def _tending(request: Request, situation: Situation, toolset: Toolset) -> PlannerReply:
    lists = lists_to_read(request, situation, toolset)
    if calls := (*_understanding(request, toolset, partial(as_wished, request, situation, toolset.writers)), *lists):
        return PlannerReply(calls=calls)
    due_now = due(request, situation, toolset)
    fresh = calls_due(request, situation, toolset, due_now)
    if calls := (*parts_without_calls(request, situation, toolset, due_now), *fresh):
        return PlannerReply(calls=calls)
    told = account(request, due_now, toolset.has(LEAVE_PART))
    return PlannerReply(f"{told}\n{next_line(request, toolset, told)}" if is_turn(request) else told)


def _understanding(request: Request, toolset: Toolset, read: Callable[[], JsonObject]) -> tuple[Call, ...]:
    asked = any(call.tool == UNDERSTAND for call in request.calls)
    if asked or call_understand(request) or not toolset.has(UNDERSTAND):
        return ()
    return ((UNDERSTAND, read()),)


def _reads(request: Request, situation: Situation, toolset: Toolset) -> list[Call]:
    bound = next_reads(request, situation, toolset.readers, toolset.writers)
    return [*looks(request, toolset), *((one.tool.name, one.arguments) for one in bound)]


def _steps(request: Request, situation: Situation, toolset: Toolset) -> tuple[WriteStep, ...]:
    steps = plan(situation, toolset.writers, toolset.readers)
    done = [step for step in steps if step.calls]
    verbs = {verb for step in done for verb in (step.intent.verb, *(parts(one.tool.name)[0] for one in step.calls))}
    told = with_notice(situation, process_of(request), verbs)
    if told is not situation and done:
        return plan(told, toolset.writers, toolset.readers)
    return steps


def _last_words(
    request: Request, situation: Situation, steps: Sequence[WriteStep], moves: Sequence[ProposedMove]
) -> str:
    if any(move.outcome.state == WriteState.HELD for move in moves):
        return "Proposed."
    told = ToldAnswer(tuple(steps), tuple(moves))
    return improve.with_outputs(request, situation, answer(situation, told, as_a_list=_is_list_wanted(request)))


def _without_conditions(situation: Situation) -> Situation:
    reading = situation.reading
    actions = tuple(intent._replace(condition="") for intent in reading.actions)
    return situation._replace(reading=reading._replace(actions=actions, forbidden=()))


def _is_list_wanted(request: Request) -> bool:
    """Whether who asks reads a list and nothing else, as the section of that name says."""
    return request.sections.get("answer_format", "").strip().strip('"') == "list"


def departures(
    request: Request, situation: Situation, steps: Sequence[WriteStep], toolset: Toolset
) -> tuple[tuple[str, JsonObject], ...]:
    """A call for each part whose condition a result shows not to be met; none again, none where something is done."""
    if not toolset.has(LEAVE_PART):
        return ()
    told = {call.arguments.get("part") for call in request.calls if call.tool == LEAVE_PART}
    busy = {number_of(step.intent, request, situation, toolset.writers) for step in steps if step.calls}
    found: dict[int, JsonObject] = {}
    for step in steps:
        intent = step.intent
        if step.calls or not (step.reason.settled and intent.condition):
            continue
        part, ref = number_of(intent, request, situation, toolset.writers), _find_shown_by(intent, situation)
        if ref and part not in told | busy:
            found.setdefault(part, {"part": part, "because": f"{intent.condition}: {step.reason.why}", "ref": ref})
    return tuple((LEAVE_PART, given) for given in found.values())


def _find_shown_by(intent: Intent, situation: Situation) -> str:
    """The result that the condition was judged by: that of the record which the action is about, else the last."""
    record = subject_of(f"{intent.clause} {intent.condition}", situation)
    if record is not None:
        return record.fact.ref
    return situation.facts[-1].ref if situation.facts else ""


_ROWS = re.compile(r"\b(?P<rows>\d+) rows\b")
_COUNTS = ("first", "limit", "count", "rows")


def looks(request: Request, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """One look for each read of which fewer rows were shown than it has; none again."""
    tool = request.tool(LOOK) if toolset.has(LOOK) else None
    if tool is None:
        return []
    seen = {str(call.arguments.get("ref")) for call in request.calls if call.tool == LOOK}
    counted = next((name for name in _COUNTS if name in tool.properties), "first")
    return [
        (LOOK, {"ref": call.ref, counted: int(match["rows"])})
        for call in request.calls
        if not call.failed
        and call.ref not in seen
        and (match := _ROWS.search(call.note))
        and int(match["rows"]) > len(rows_in(call.result))
    ]
