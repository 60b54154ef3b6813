"""What must hold of any run, judged by what reached the outside and by the stored record, not by the worker's own word.

The rules are written down here once more, from the promises: nothing of the machine, the gate or the audit is asked.
"""

import json
import operator
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import reduce

from services.executor.core.session.journal import Journal, restore_latest_progress
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import WritePlan
from shared.contracts.task import TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import Role, TaskState, ToolClass
from tests.doubles.memory_turns import MemoryTurns
from tests.doubles.tape import Asked, Event, Heard, Judged, Reached
from tests.doubles.unruly_json import INVENTED
from tests.doubles.unruly_replies import CONVERSATION
from tests.doubles.unruly_world import NOTICE
from tests.unit.executor.any_run import Run

_MAY_READ = ("ASSESS", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY")
_MAY_TELL = ("MUTATE", "SCHEDULE_NOTIFY")
_OWN_END_IS_ESCALATION = ("sla_breach",)
_VERDICT_LASTS = timedelta(seconds=30 + 45)  # 45: what one call before may have taken
_ENDS = ("COMPLETE", "ESCALATE")
_DONE = ("verified", "unverified", "sent")
_ANSWERS = (CONVERSATION, "ARTIFACT")
_OURS: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "sum": lambda figures: sum(figures, Decimal(0)),
    "product": lambda figures: reduce(operator.mul, figures),
    "difference": lambda figures: reduce(operator.sub, figures),
}


async def faults(run: Run) -> list[str]:
    """Every breach of a promise, a sentence each; empty if the run is as it must be."""
    found = [*_dispatched_in_turn(run), *_written_as_let_through(run), *_written_once(run), *_asked_for(run)]
    found += [*_figures(run), *_calculated(run), *_exact(run), *_paid(run), *_ended(run)]
    return [*found, *[f"round trip: {one}" async for one in _round_trip(run)]]


def _dispatched_in_turn(run: Run) -> Iterator[str]:
    """I1: by what a tool does, not by what it is called, and by the state that was stored when the call came."""
    allowed = {ToolClass.CHANGE: ("MUTATE",), ToolClass.NOTIFY: _MAY_TELL, ToolClass.READ: _MAY_READ}
    for call in run.tape.events:
        if isinstance(call, Reached) and call.state not in allowed[call.kind]:
            yield f"I1: {call.tool} ({call.kind}) was called in {call.state}"


def _written_as_let_through(run: Run) -> Iterator[str]:
    """I2 and I7: each write has its intent, a verdict that lets it pass, and the yes of whoever had to be asked."""
    sent = 0
    for place, call in enumerate(run.tape.events):
        if not isinstance(call, Reached) or call.kind is ToolClass.READ:
            continue
        sent += 1
        before = run.tape.events[:place]
        entry = _intent(run, before, call)
        if entry is None:
            yield f"I3: {call.tool} {call.arguments} was sent without an intent"
            continue
        yield from _verdict_faults(before, call, entry)
        yield from _approval_faults(run, before, call, entry)
    if sent > sum(entry.attempt for entry in run.turns.writes.values()):
        yield f"I3: {sent} sendings are more than the ledger knows"


def _intent(run: Run, before: Sequence[Event], call: Reached) -> LedgerEntry | None:
    """The call's entry in the ledger: that of the plan that was judged last, if it has one."""
    same = [entry for entry in run.turns.writes.values() if _sending(entry) == _sent(call)]
    judged = _last_judged(before)
    of_plan = [entry for entry in same if judged and entry.plan_hash == judged.request.plan_hash]
    return next(iter([*of_plan, *same]), None)


def _verdict_faults(before: Sequence[Event], call: Reached, entry: LedgerEntry) -> Iterator[str]:
    judged = _last_judged(before)
    if judged is None or judged.verdict is None:
        yield f"I2: {call.tool} was sent without a verdict in this attempt"
        return
    verdict = judged.verdict
    if not judged.request.binding or not verdict.binding or verdict.plan_hash != entry.plan_hash:
        yield f"I2: {call.tool} was sent on a verdict about something else"
    if verdict.blocked or verdict.problems or verdict.refusals:
        yield f"I2: {call.tool} was sent against its verdict"
    if call.at - judged.at > _VERDICT_LASTS:
        yield f"I2: {call.tool} was sent on a verdict {call.at - judged.at} old"


def _last_judged(before: Sequence[Event]) -> Judged | None:
    for event in reversed(before):
        if isinstance(event, Heard):
            return None
        if isinstance(event, Judged):
            return event
    return None


def _approval_faults(run: Run, before: Sequence[Event], call: Reached, entry: LedgerEntry) -> Iterator[str]:
    judged = _last_judged(before)
    if judged is None or judged.verdict is None or not _asks(run, judged):
        return
    given = [one for one in run.turns.approvals if one.plan_hash == entry.plan_hash]
    yes = [one for one in given if one.status is ApprovalStatus.APPROVED]
    if not yes:
        yield f"I2: {call.tool} was sent without the approval that its verdict asks for"
    for approval in yes:
        yield from _decision_faults(run, before, approval)
        if approval.plan.hash != approval.plan_hash or not _is_of(approval, call):
            yield f"I7: {call.tool} {call.arguments} is not what was approved"


def _asks(run: Run, judged: Judged) -> bool:
    verdict = judged.verdict
    if verdict is None:
        return False
    own_end = run.record.metadata.get("process_type") in _OWN_END_IS_ESCALATION
    escalates = verdict.escalate and not own_end
    return verdict.requires_approval or escalates or run.unruled == "approve"


def _decision_faults(run: Run, before: Sequence[Event], approval: Approval) -> Iterator[str]:
    said_yes = {
        event.turn.principal.id
        for event in before
        if isinstance(event, Heard)
        and event.turn.kind is TurnKind.DECISION
        and event.turn.data["decision"] == "approve"
    }
    people = {decision.by.id for decision in approval.decisions if decision.approve}
    if len(people) < approval.needed or not people <= said_yes:
        yield f"I7: {people} are not the {approval.needed} who said yes: {said_yes}"
    if run.record.requester.id in people:
        yield "I7: somebody approved what they asked for"
    if any(Role.APPROVER not in decision.by.roles for decision in approval.decisions):
        yield "I7: somebody decided who is no approver"
    if any(decision.at >= approval.deadline for decision in approval.decisions):
        yield "I7: a decision counted that came too late"


def _is_of(approval: Approval, call: Reached) -> bool:
    planned = (one for one in approval.plan.every_call if (one.connection_id, one.tool) == (call.connection, call.tool))
    return any(_same(one.arguments, call.arguments, one.if_acknowledged or "") for one in planned)


def _same(planned: JsonObject, sent: JsonObject, sentence: str) -> bool:
    """Argument for argument; what refers to an earlier result is known only when that is there.

    ``sentence`` was approved as well: it may stand at the end of a text.
    """
    return set(planned) == set(sent) and all(
        "$ref" in dumps(value)
        or dumps(value) == dumps(sent[name])
        or (bool(sentence) and isinstance(value, str) and sent[name] == f"{value.rstrip()}\n\n{sentence}")
        for name, value in planned.items()
    )


def _written_once(run: Run) -> Iterator[str]:
    """I3: what was intended once took effect once at most, and nothing is called done that never reached its server."""
    entries = [*run.turns.writes.values()]
    applied = Counter(run.applied)
    for write, times in applied.items():
        if times > sum(_what(entry) == write for entry in entries):
            yield f"I3: {write} took effect {times} times"
    reached = {_sent(one) for one in run.tape.events if isinstance(one, Reached)}
    for entry in entries:
        if entry.status.value in _DONE and _sending(entry) not in reached:
            yield f"I4: {entry.call.tool} is {entry.status} and never reached its server"


def _what(entry: LedgerEntry) -> tuple[str, str]:
    return entry.call.tool, dumps(loads_object(entry.arguments_json))


def _sending(entry: LedgerEntry) -> tuple[str, str, str]:
    return entry.call.connection_id, *_what(entry)


def _sent(call: Reached) -> tuple[str, str, str]:
    return call.connection, call.tool, dumps(call.arguments)


def _asked_for(run: Run) -> Iterator[str]:
    """Who only asks has nothing written; and what was understood by the first reply is never understood anew."""
    known = [loads_object(entry.data_json) for entry in run.turns.steps.values() if entry.kind == "checkpoint"]
    understood = [parts for one in known if isinstance(parts := one.get("dossier.parts"), list | tuple) and parts]
    told = [[(part["quote"], part["kind"]) for part in parts if isinstance(part, dict)] for parts in understood]
    if any(parts != told[0] for parts in told):
        yield f"the parts of the task became others: {told}"
    to_do = [part for part in told[0] if part[1] == "do"] if told else []
    writes = [one for one in run.tape.events if isinstance(one, Reached) and one.kind is not ToolClass.READ]
    if writes and not to_do:
        yield f"{writes[0].tool} was sent in a task that only asks"
    planned = {call.part for plan in _plans(run) for call in plan.calls}
    doable = {place for place, part in enumerate(told[0], 1) if part[1] == "do"} if told else set()
    if not planned <= doable:
        yield f"calls serve the parts {planned - doable}, which nobody asked to be done"


def _plans(run: Run) -> Sequence[WritePlan]:
    progress = restore_latest_progress(run.turns.steps.values())
    return progress.dossier.every_plan if progress else ()


def _figures(run: Run) -> Iterator[str]:
    """I2: a figure or an identifier from nowhere reaches no server in a write, but within a text that people read."""
    for call in run.tape.events:
        if not isinstance(call, Reached) or call.kind is ToolClass.READ:
            continue
        strict = {name: value for name, value in call.arguments.items() if call.tool != NOTICE.name or name != "text"}
        if INVENTED in dumps(strict):
            yield f"I2: {call.tool} was sent with a figure from nowhere: {call.arguments}"


def _calculated(run: Run) -> Iterator[str]:
    """I2: a value is what its operands give, and those stand in results that were read, or in other values."""
    progress = restore_latest_progress(run.turns.steps.values())
    if progress is None:
        return
    facts = {fact.ref: fact.result for fact in progress.dossier.facts}
    for value in progress.dossier.values:
        texts = [INVENTED in operand.literal for operand in value.operands]
        if any(texts):
            yield f"I2: {value.name} was calculated from nowhere"
        figures = [_stands_at(facts[one.ref], one.path) for one in value.operands if one.ref in facts]
        if value.figure or value.operation not in _OURS or len(figures) < len(value.operands) or None in figures:
            continue
        known = [figure for figure in figures if figure is not None]
        if value.kind == "decimal" and Decimal(value.value) != _OURS[value.operation](known):
            yield f"I2: {value.name} is {value.value}, not the {value.operation} of {known}"


def _stands_at(value: Json, path: str) -> Decimal | None:
    """The figure at a plain path of names and places; None for any other path."""
    for name, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if place and isinstance(value, list):
            value = value[int(place)] if int(place) < len(value) else None
        elif name and isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    try:
        return Decimal(str(value)) if isinstance(value, str | int | Decimal) else None
    except InvalidOperation:
        return None


def _exact(run: Run) -> Iterator[str]:
    """I9: a list that is the answer is what the model said, to the byte; and where it said only lists, so it ends."""
    record = run.record
    if record.state is not TaskState.COMPLETED or record.answer is None:
        return
    said = [event for event in run.tape.events if isinstance(event, Asked) and event.said is not None]
    if _is_list(record.answer) and record.answer not in [event.said for event in said]:
        yield f"I9: nobody said {record.answer!r}"
    drafts = [event.said or "" for event in said if event.state in _ANSWERS and not event.calls]
    by_ledger = any(record.answer.startswith(f"{entry.call.tool}: ") for entry in run.turns.writes.values())
    whole = not (by_ledger or record.metadata.get("partial") or record.metadata.get("escalated"))
    if whole and drafts and all(map(_is_list, drafts)) and record.answer not in drafts:
        yield f"I9: {drafts} became {record.answer!r}"


def _is_list(text: str) -> bool:
    try:
        return text.startswith("[") and text.endswith("]") and isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _paid(run: Run) -> Iterator[str]:
    """I11: no call at 100 %, and never more than the ceiling, by what the model itself counted."""
    spent = 0
    for event in run.tape.events:
        if run.tokens is not None and isinstance(event, Asked):
            if spent >= run.tokens:
                yield f"I11: a call at {spent} of {run.tokens} tokens"
            spent += event.tokens
    if run.tokens is not None and spent > run.tokens:
        yield f"I11: {spent} of {run.tokens} tokens were spent"


def _ended(run: Run) -> Iterator[str]:
    """Every run is over, or waits for a person or a time; one that completed did so in COMPLETE or ESCALATE."""
    record = run.record
    states = record.metadata.get("states")
    match record.state:
        case TaskState.COMPLETED if not record.metadata.get("partial"):
            if not isinstance(states, list) or states[-1] not in _ENDS:
                yield f"it completed in {states}"
        case TaskState.FAILED | TaskState.REJECTED | TaskState.CANCELED if not (record.reason or "").strip():
            yield f"it is {record.state} and nobody knows why"
        case TaskState.INPUT_REQUIRED:
            waiting = any(one.status is ApprovalStatus.WAITING for one in run.turns.approvals)
            doubts = any(entry.status.value in ("absent", "in_doubt") for entry in run.turns.writes.values())
            if not waiting and not doubts:
                yield "it waits for nobody"
        case TaskState.WORKING:
            if run.turns.ends[-1].timer is None:
                yield "it works on and nobody wakes it"
        case TaskState.SUBMITTED:
            yield "it never began"


async def _round_trip(run: Run) -> AsyncIterator[str]:
    """Each checkpoint that was stored is the same when it is stored again and read."""
    progress = restore_latest_progress(run.turns.steps.values())
    if progress is None:
        return
    store = MemoryTurns(run.record)
    journal = Journal(store, (), store.now(), 60)
    journal.save_progress(progress)
    await journal.flush()
    if restore_latest_progress(store.steps.values()) != progress:
        yield "the checkpoint is another one"
    if type(progress).model_validate_json(progress.model_dump_json()) != progress:
        yield "the checkpoint does not survive its JSON"
