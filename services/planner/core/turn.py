"""The next reply of a task's conversation: calls to make at once, or the answer."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from services.planner.core import improve
from services.planner.core.answer import ToldAnswer, compose_answer, find_unanswered, is_list_wanted
from services.planner.core.binding import WriteStep, values_of
from services.planner.core.compute import subject_of
from services.planner.core.contradictions import has_to_do_with
from services.planner.core.finding import find_tools_calls, wrap_searched_calls
from services.planner.core.groups import all_figures, name_standing_out
from services.planner.core.intents import Intent
from services.planner.core.next_turn import build_next_line, is_turn
from services.planner.core.outcomes import NOT_MADE, WriteState, read_outcome
from services.planner.core.parts_of_task import FIND_OUT, TaskParts, as_understood, read_parts
from services.planner.core.process import Process, last_understand_result, process_of
from services.planner.core.proposals import encode_calls, next_moves, plan_moves
from services.planner.core.reads import next_reads
from services.planner.core.references import is_reference
from services.planner.core.relations import name_doer
from services.planner.core.request import (
    FIND_TOOLS,
    LEAVE_PART,
    LOOK,
    UNDERSTAND,
    Call,
    Called,
    PlannerReply,
    Request,
)
from services.planner.core.situation import Situation, list_records_meant, observe_situation, rows_in, whole_result
from services.planner.core.tending_turn import (
    describe_parts_by_wishes,
    has_standing_instructions,
    leave_idle_parts,
    list_due_calls,
    lists_to_read,
    plan_due_work,
    tell_turn,
)
from services.planner.core.toolset import Toolset, toolset_of
from services.planner.core.values import list_calculate_calls, with_figures
from services.planner.core.words import parts, stem, text_stems
from services.planner.core.writes import plan_steps
from shared.domain.exact_json import JsonObject


def next_reply(request: Request, heedless: bool = False) -> PlannerReply:
    """What a model would answer now; it depends on the request alone.

    ``heedless`` is a fault: conditions are not heeded.
    """
    reply = _next_reply(request, heedless)
    return reply._replace(calls=wrap_searched_calls(reply.calls, request))


def _next_reply(request: Request, heedless: bool) -> PlannerReply:
    toolset = toolset_of(request)
    outdated = turn_of_last_outdated_plan(request, toolset)
    request = drop_outdated(request, outdated, toolset)
    request, situation = _observe_what_stands_out(request, toolset)
    situation = _without_conditions(situation) if heedless else situation
    if has_standing_instructions(request, situation, toolset):
        return _reply_for_standing_work(request, situation, toolset)
    has_written = any(call.tool in toolset.writer_names and call.turn > outdated for call in request.calls)
    reads = [] if has_written else _read_calls(request, situation, toolset)
    understood = partial(as_understood, situation, toolset.writers)
    hunts = () if has_written else find_tools_calls(request, situation, toolset.writers)
    if calls := (*_understand_call(request, toolset, understood), *hunts, *reads):
        return PlannerReply(calls=calls)
    if calls := list_calculate_calls(request, situation, toolset):
        return PlannerReply(calls=calls)
    situation = with_figures(situation, all_figures(situation))
    steps = _plan_steps(request, situation, toolset)
    moves = plan_moves(steps, request)
    coming = next_moves(moves, toolset.loop_takes_proposals)
    task_parts = read_parts(request, situation, toolset.writers)
    numbers = [task_parts.number_of(move.step.intent.clause) for move in coming]
    leave_calls = leave_unmet_parts(task_parts, steps, toolset)
    if calls := (*leave_calls, *encode_calls(coming, numbers, toolset.loop_takes_proposals)):
        return PlannerReply(calls=calls)
    if any(move.outcome.state == WriteState.HELD for move in moves):
        return PlannerReply("Proposed.")
    told_answer = ToldAnswer(tuple(steps), tuple(moves))
    as_a_list = is_list_wanted(request)
    if calls := leave_unanswered_parts(task_parts, told_answer, toolset, as_a_list=as_a_list):
        return PlannerReply(calls=calls)
    text = compose_answer(situation, told_answer, as_a_list=as_a_list)
    return PlannerReply(improve.add_missing_outputs(request, situation, text) if moves and not as_a_list else text)


def _observe_what_stands_out(request: Request, toolset: Toolset) -> tuple[Request, Situation]:
    """The request and what it shows. Both name what a superlative of a question means, and of which kind the one is who
    submitted a thing and is to be told of it, once that is known.
    """
    writers = [tool.name for tool in toolset.writers]
    situation, task = observe_situation(request, writers), request.task
    for question in situation.reading.questions if situation.reading.reads_only else ():
        task = task.replace(question, name_standing_out(question, situation))
    for intent in situation.reading.actions:
        task = task.replace(intent.clause, name_doer(intent.clause, situation)) if intent.sends_message else task
    if task == request.task:
        return request, situation
    request = request._replace(sections={**request.sections, "task": task})
    return request, observe_situation(request, writers)


def _reply_for_standing_work(request: Request, situation: Situation, toolset: Toolset) -> PlannerReply:
    """The reply to a task with standing rules: reads their lists, calls what is due, then tells of the turn."""
    describe = partial(describe_parts_by_wishes, request, situation, toolset.writers)
    if calls := (*_understand_call(request, toolset, describe), *lists_to_read(request, situation, toolset)):
        return PlannerReply(calls=calls)
    due_now = plan_due_work(request, situation, toolset)
    task_parts = read_parts(request, situation, toolset.writers)
    fresh = list_due_calls(request, task_parts, toolset, due_now)
    if calls := (*leave_idle_parts(situation, task_parts, toolset, due_now), *fresh):
        return PlannerReply(calls=calls)
    text = tell_turn(request, due_now, toolset.has(LEAVE_PART))
    return PlannerReply(f"{text}\n{build_next_line(request, toolset, text)}" if is_turn(request) else text)


def _understand_call(request: Request, toolset: Toolset, read: Callable[[], JsonObject]) -> tuple[Call, ...]:
    has_called = any(call.tool == UNDERSTAND for call in request.calls)
    if has_called or last_understand_result(request) or not toolset.has(UNDERSTAND):
        return ()
    return ((UNDERSTAND, read()),)


def _read_calls(request: Request, situation: Situation, toolset: Toolset) -> list[Call]:
    looks = list_look_calls(request, toolset)
    looked_refs = {arguments["ref"] for _, arguments in looks}
    bound = next_reads(request, situation, toolset.readers, toolset.writers, looked_refs)
    return [*looks, *((plan.tool.name, plan.arguments) for plan in bound)]


def _plan_steps(request: Request, situation: Situation, toolset: Toolset) -> tuple[WriteStep, ...]:
    steps = plan_steps(situation, toolset.writers, toolset.readers)
    planned = [step for step in steps if step.calls]
    verbs = {parts(call.tool.name)[0] for step in planned for call in step.calls}
    notice_situation = with_notice(situation, process_of(request), verbs | {step.intent.verb for step in planned})
    if notice_situation is not situation and planned:
        *asked_steps, notice = plan_steps(notice_situation, toolset.writers, toolset.readers)
        return (*asked_steps, notice) if _concerns_its_recipients(notice, asked_steps, situation) else steps
    return steps


def _concerns_its_recipients(notice: WriteStep, steps: Sequence[WriteStep], situation: Situation) -> bool:
    """Whether records of the planned calls have to do with all to whom a notice goes that nobody asked for."""
    changed_ids = values_of(plan for step in steps for plan in step.calls)
    chosen = [(name, plan) for plan in notice.calls for name, _ in plan.chosen if is_reference(plan.tool, name)]
    values = [candidate.value for name, plan in chosen if (candidate := plan.candidate(name))]
    others = {
        str(value) for value in values if not isinstance(value, dict)
    } - changed_ids  # a dict: what the plan makes
    changed = list_records_meant(changed_ids, situation)
    return all(any(has_to_do_with(record, value, situation) for record in changed) for value in others)


def _without_conditions(situation: Situation) -> Situation:
    reading = situation.reading
    actions = tuple(intent._replace(condition="") for intent in reading.actions)
    return situation._replace(reading=reading._replace(actions=actions, forbidden=()))


def leave_unmet_parts(task_parts: TaskParts, steps: Sequence[WriteStep], toolset: Toolset) -> tuple[Call, ...]:
    """A call of ``leave_part`` for each part whose condition a result shows not to be met; each part once, and none of
    which something was done.
    """
    if not toolset.has(LEAVE_PART):
        return ()
    numbered = [(task_parts.number_of(step.intent.clause), step) for step in steps]
    busy = {*task_parts.left, *(number for number, step in numbered if step.calls)}
    reasons: dict[int, JsonObject] = {}
    for number, step in numbered:
        condition, reason = step.intent.condition, step.reason
        ref = _find_shown_by(step.intent, task_parts.situation) if condition and reason.settled else ""
        if ref and number not in busy:
            reasons.setdefault(number, {"part": number, "because": f"{condition}: {reason.why}", "ref": ref})
    return tuple((LEAVE_PART, arguments) for arguments in reasons.values())


_UNANSWERED = "nothing that was read answers it"


def leave_unanswered_parts(
    task_parts: TaskParts, told_answer: ToldAnswer, toolset: Toolset, *, as_a_list: bool
) -> tuple[Call, ...]:
    """A call of ``leave_part`` for each question that the answer leaves open; each once.

    A document, which another role writes, is no such question.
    """
    open_numbers, situation = task_parts.list_open(FIND_OUT), task_parts.situation
    if not (toolset.has(LEAVE_PART) and open_numbers):
        return ()
    unanswered = find_unanswered(situation, told_answer, as_a_list=as_a_list)
    mine = [text for text in unanswered if not any(words in text.casefold() for words in situation.documents)]
    numbers = dict.fromkeys(task_parts.number_of(question, FIND_OUT) for question in mine)
    return tuple((LEAVE_PART, {"part": number, "because": _UNANSWERED}) for number in numbers if number in open_numbers)


def _find_shown_by(intent: Intent, situation: Situation) -> str:
    """The result that the condition was judged by: that of the record which the action is about, else the last."""
    record = subject_of(f"{intent.clause} {intent.condition}", situation)
    if record is not None:
        return record.fact.ref
    return situation.facts[-1].ref if situation.facts else ""


_ROWS_PATTERN = re.compile(r"\b(?P<rows>\d+) rows\b")
_COUNTS = ("first", "limit", "count", "rows")


def list_look_calls(request: Request, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """A call of ``look`` for the further rows of each read that shows fewer than it has; none is made again."""
    tool = request.tool(LOOK) if toolset.has(LOOK) else None
    if tool is None:
        return []
    looked_keys = {call.key for call in request.calls if call.tool == LOOK}
    counted = next((name for name in _COUNTS if name in tool.properties), "first")
    looks: list[Called] = []
    for call in request.calls:
        match, known = _ROWS_PATTERN.search(call.note), len(rows_in(whole_result(call, request)))
        if match and not call.failed and int(match["rows"]) > known:
            rest: JsonObject = {"skip": known, counted: int(match["rows"]) - known}
            arguments = rest if "skip" in tool.properties else {counted: int(match["rows"])}
            looks.append(Called(LOOK, {"ref": call.ref, **arguments}, "", None, failed=False))
    return [(LOOK, look.arguments) for look in looks if look.key not in looked_keys]


_AKIN = 5  # letters that a verb and its noun begin with alike: ``approve`` and ``approval``


def with_notice(situation: Situation, process: Process, verbs: Iterable[str]) -> Situation:
    """The situation with the notice that the process wants, unless the task itself asks for one.

    ``verbs``: the verbs of the planned actions. If the process names occasions for a notice, one of them must be among
    these.
    """
    party = text_stems(process.notice_to)
    reading = situation.reading
    if not party or any(intent.sends_message and party & text_stems(intent.clause) for intent in reading.actions):
        return situation
    occasions = _occasion_stems(process)
    if occasions and not any(_is_akin(verb, occasion) for verb in verbs for occasion in occasions):
        return situation
    notice = Intent("notify", f"notify the {process.notice_to}")
    return situation._replace(reading=reading._replace(actions=(*reading.actions, notice)))


def _occasion_stems(process: Process) -> frozenset[str]:
    """The stems of the occasions on which the process's instruction asks for a notice; empty if it names none."""
    notice = rf"\b(?:tell|notify|inform)\s+the\s+{re.escape(process.notice_to)}\s+(?:about|of)\s+([^,.;]+)"
    return frozenset().union(*map(text_stems, re.findall(notice, process.instruction, re.I)))


def _is_akin(verb: str, noun: str) -> bool:
    own = stem(verb)
    return own == noun or (len(own) >= _AKIN and own[:_AKIN] == noun[:_AKIN])


NEVER = -1
_OUTDATED_PATTERN = re.compile(r"\bread again\b", re.I)
_LASTING = frozenset({UNDERSTAND, LEAVE_PART, FIND_TOOLS})


def turn_of_last_outdated_plan(request: Request, toolset: Toolset) -> int:
    """The number of the reply whose plan was the last to be refused as outdated; ``NEVER`` if there is none."""
    writes = [call for call in request.calls if call.tool in toolset.writer_names]
    return max((call.turn for call in writes if _was_refused_as_outdated(call, request)), default=NEVER)


def drop_outdated(request: Request, turn: int, toolset: Toolset) -> Request:
    """The request without what was read up to that reply, and without the proposals based on it."""

    def still_holds(call: Called) -> bool:
        is_current_write = call.tool in toolset.writer_names and not _was_refused_as_outdated(call, request)
        return call.turn > turn or call.tool in _LASTING or is_current_write

    return request._replace(calls=tuple(call for call in request.calls if still_holds(call)))


def _was_refused_as_outdated(call: Called, request: Request) -> bool:
    outcome = read_outcome(call, request)
    return not call.failed and outcome.status == NOT_MADE and _OUTDATED_PATTERN.search(outcome.note) is not None
