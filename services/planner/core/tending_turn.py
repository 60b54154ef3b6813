"""One turn of a task that goes on with time: reads the lists of what came in, and carries out wishes and
instructions.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.planner.core.assistance import DueWish, find_due_wishes
from services.planner.core.correspondence import ReadMessage, read_correspondence
from services.planner.core.intents import understand
from services.planner.core.next_turn import build_done_line, is_limit, is_turn, open_wishes, read_first_turn_time
from services.planner.core.outcomes import WriteState, outcome_of, read_outcome
from services.planner.core.pages import next_parts
from services.planner.core.parts_of_task import DO, FIND_OUT, TaskParts, original_words, parts_of
from services.planner.core.process import GENERAL, process_name
from services.planner.core.proposals import tell_made_call
from services.planner.core.request import CALL_NOTE, LEAVE_PART, Call, Called, Request, ToolSpec, as_object, now_of
from services.planner.core.situation import Situation
from services.planner.core.spoken_times import speaks_of_later
from services.planner.core.tending import DueCall, TendedRows, telling_calls, tend_rows
from services.planner.core.tending_rules import find_standing_rules
from services.planner.core.toolset import Toolset
from services.planner.core.wanted_facts import is_from
from services.planner.core.wishes import AskedFact, PersonalWish, WishKind, read_wishes, without_wishes
from services.planner.core.words import parts, stem, stems, text_stems
from shared.domain.exact_json import Json, JsonObject, dumps

_AT_ONCE = 8
_MOST_CHARACTERS_SHOWN = 60  # characters of a value, in the account of a turn
_IDLE = "nothing that was read calls for it now"
_TO_USER = re.compile(r"\b(?:tell|let|remind) me\b", re.I)
_OF_TIMES = stems("calendar appointment event meeting".split())
_OF_CHAT = frozenset({"chat"})
_IN_CALENDAR = (AskedFact.WHEN, AskedFact.WHERE)
_TIMED = frozenset({WishKind.MOVE, WishKind.CREATE, WishKind.CANCEL, WishKind.RESPOND})


_ARRIVING_WORDS = stems("mail email message inbox sms chat conversation notice thread".split())


def has_standing_instructions(request: Request, situation: Situation, toolset: Toolset) -> bool:
    """Whether a task has standing instructions: the loop counts its turns, or its words speak of what comes later.

    A tool must list what comes in.
    """
    if now_of(request) is None:
        return False
    if is_turn(request):
        return True
    if situation.identifiers or not any(_ARRIVING_WORDS & stems(parts(tool.name)) for tool in toolset.readers):
        return False
    verbs = {stem(parts(tool.name)[0]) for tool in toolset.writers if parts(tool.name)}
    steps = [step for rule in find_standing_rules(situation.text) for step in rule.steps if stem(step.verb) in verbs]
    return speaks_of_later(situation.text) and bool(steps)


def lists_to_read(request: Request, situation: Situation, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """The calls that read each list once, and the next page of lists that came in part.

    A later turn reads only what is new since the first one, and only lists that an open wish or instruction needs.
    """
    made_keys = {call.key for call in request.calls}
    lists = [tool for tool in toolset.readers if not tool.required and parts(tool.name)[:1] == ("list",)]
    begun, wishes = read_first_turn_time(request), open_wishes(request, read_wishes(situation.text))
    tells_user = _TO_USER.search(_without_wishes(situation, wishes).text) is not None
    calls: list[Call]
    if begun is None or tells_user:
        calls = [(tool.name, {}) for tool in lists if tells_user or not _is_chat(tool)]
    else:
        calls = [(tool.name, _arguments_since(tool, begun)) for tool in lists if _is_needed(tool, situation, wishes)]
        calls += _calls_for_earlier_messages(_wishes_with_news(wishes, situation), lists)
    calls += [(tool.name, arguments) for tool, arguments in next_parts(situation.facts, toolset.readers)]
    return [(name, arguments) for name, arguments in calls if f"{name} {dumps(arguments)}" not in made_keys][:_AT_ONCE]


def _calls_for_earlier_messages(wishes: Sequence[PersonalWish], lists: Sequence[ToolSpec]) -> list[Call]:
    """What is read besides of wishes that something has come in about: the messages of their people.

    A list of messages that cannot be asked for those of one sender is read whole, and so are texts, which show no name.
    """
    people = [name for wish in wishes for name in (wish.who, wish.asker, wish.source) if name and "@" not in name]
    calls: list[Call] = []
    for tool in (one for one in lists if not (_is_chat(one) or _is_calendar(one))):
        sender = next((name for name in tool.properties if {"from", "address"} <= {*parts(name)}), "")
        calls += [(tool.name, {sender: name.split()[-1].lower()} if sender else {}) for name in people]
    return list({dumps([*call]): call for call in calls}.values())


def _arguments_since(tool: ToolSpec, begun: datetime) -> JsonObject:
    """The argument by which a list is asked for what came after a moment; none where it has no such one."""
    name = next((property for property in tool.properties if parts(property)[-1:] in (("after",), ("since",))), "")
    return {name: begun.isoformat()} if name else {}


def _is_needed(tool: ToolSpec, situation: Situation, wishes: Sequence[PersonalWish]) -> bool:
    """Whether something is left to do for which a list matters: appointments, what came in, or what the chat says."""
    if _is_chat(tool):
        return False
    if _is_calendar(tool):
        return any(wish.kind in _TIMED or (wish.asked in _IN_CALENDAR and not wish.waits) for wish in wishes)
    return bool(wishes) or bool(find_standing_rules(_without_wishes(situation, read_wishes(situation.text)).text))


def _is_chat(tool: ToolSpec) -> bool:
    return bool(text_stems(" ".join(parts(tool.name))) & _OF_CHAT)


def _is_calendar(tool: ToolSpec) -> bool:
    return bool(text_stems(" ".join(parts(tool.name))) & _OF_TIMES)


def _wishes_with_news(wishes: Sequence[PersonalWish], situation: Situation) -> list[PersonalWish]:
    """The wishes on which, or from whose source, a message has come in."""
    come = read_correspondence(situation).incoming
    return [wish for wish in wishes if any(_speaks_of(message, wish) for message in come)]


def _speaks_of(message: ReadMessage, wish: PersonalWish) -> bool:
    return bool(wish.topic_stems & message.stems) or (bool(wish.source) and is_from(message, wish.source))


class DueTurn(NamedTuple):
    """What is due in this turn. ``wishes``: each wish of the task with its calls, or why there are none."""

    tended: TendedRows
    wishes: tuple[DueWish, ...] = ()


def plan_due_work(request: Request, situation: Situation, toolset: Toolset) -> DueTurn:
    """The work that the user's wishes and standing instructions make due now; the answer names what no rule can do."""
    now, wishes = now_of(request), read_wishes(situation.text)
    remaining = _without_wishes(situation, wishes)
    tended = tend_rows(remaining, toolset.writers)
    if now is None:
        return DueTurn(tended)
    asked_at = read_first_turn_time(request) or now
    due_wishes = find_due_wishes(open_wishes(request, wishes), situation, toolset.writers, now, asked_at)
    telling = telling_calls(remaining, toolset.writers, now, tended.calls)
    calls = [DueCall(call, due.wish.quote) for due in due_wishes for call in due.calls]
    undone = [f"{due.wish.quote.rstrip(' .')}: {due.why}" for due in due_wishes if due.why]
    all_calls = (*calls, *tended.calls, *telling.calls)
    all_undone = (*undone, *tended.undone, *telling.undone)
    return DueTurn(TendedRows(all_calls, all_undone), due_wishes)


def _without_wishes(situation: Situation, wishes: tuple[PersonalWish, ...]) -> Situation:
    text = without_wishes(situation.text, wishes)
    return situation._replace(reading=situation.reading._replace(text=text))


def describe_parts_by_wishes(request: Request, situation: Situation, writers: Sequence[ToolSpec]) -> JsonObject:
    """The arguments of ``understand`` for a task that goes on with time: its open wishes and its instructions.

    What the task forbids is not among them.
    """
    wishes = read_wishes(situation.text)
    remaining_text = _without_wishes(situation, wishes).text
    rules = [rule.piece for rule in find_standing_rules(remaining_text) if rule.steps]
    clauses = [*(wish.quote for wish in open_wishes(request, wishes)), *rules]
    others = parts_of(situation._replace(reading=understand(remaining_text)), writers)
    others = [part for part in others if part.kind == DO and not any(part.clause in rule for rule in rules)]
    quotes = [original_words(clause, situation) for clause in clauses]
    quotes += [part.quote for part in others if not is_limit(part.clause)]
    ordered_quotes = sorted(dict.fromkeys(quotes), key=situation.original.find)
    quote_parts: list[Json] = [{"quote": quote_text, "kind": DO} for quote_text in ordered_quotes]
    whole_task_part: list[Json] = [{"quote": situation.original.strip(), "kind": FIND_OUT}]
    process = GENERAL if is_turn(request) else process_name(situation.text)  # a person's day is of no one kind
    return {"parts": quote_parts or whole_task_part, "process": process, "answer_form": "prose"}


def list_due_calls(request: Request, task_parts: TaskParts, toolset: Toolset, due_now: DueTurn) -> list[Call]:
    """The calls that are due and were not made yet, each with the task's part it carries out if the loop takes
    proposals.

    A call whose outcome asks for a new proposal is due again.
    """
    tools = {tool.name: tool for tool in toolset.writers}
    calls: list[Call] = []
    for (name, arguments), clause in due_now.tended.calls:
        if outcome_of(tools[name], arguments, request).state is WriteState.OPEN:
            note: JsonObject = (
                {CALL_NOTE: {"part": task_parts.number_of(clause)}} if toolset.loop_takes_proposals else {}
            )
            calls.append((name, {**arguments, **note}))
    return calls


def leave_idle_parts(
    situation: Situation, task_parts: TaskParts, toolset: Toolset, due_now: DueTurn
) -> tuple[Call, ...]:
    """A call of ``leave_part`` for each part of the task for which nothing is due now."""
    ref = situation.facts[-1].ref if situation.facts else ""
    if not toolset.has(LEAVE_PART) or not ref:
        return ()
    busy = {task_parts.number_of(clause) for _, clause in due_now.tended.calls}
    idle = [due for due in due_now.wishes if not due.calls]
    reasons = {task_parts.number_of(due.wish.quote): due.why or "it is done already" for due in idle}
    return tuple(
        (LEAVE_PART, {"part": number, "because": reasons.get(number, _IDLE), "ref": ref})
        for number in task_parts.list_open(DO)
        if number not in busy
    )


def tell_turn(request: Request, due_now: DueTurn, loop_takes_proposals: bool) -> str:
    """The report of what this turn did; it says nothing else of what was read, which may concern other people.

    ``loop_takes_proposals``: whether the loop itself reports the parts that were left, and why.
    """
    undone = {due.wish.quote for due in due_now.wishes if not _is_done(due, request)}
    done = [quote for quote in dict.fromkeys(due.wish.quote for due in due_now.wishes) if quote not in undone]
    lines = [f"{build_done_line(quote)}." for quote in done]
    lines += [_describe_call(call, request) for call, clause in due_now.tended.calls if clause not in done]
    of_wishes = tuple(due.wish.quote.rstrip(" .") for due in due_now.wishes) if loop_takes_proposals else ()
    lines += [f"Left alone: {words}." for words in due_now.tended.undone if not words.startswith(of_wishes)]
    return " ".join(lines) or "Nothing is due now."


def _is_done(due: DueWish, request: Request) -> bool:
    made = [_find_made(call, request) for call in due.calls]
    are_made = bool(made) and all(past and read_outcome(past, request).state is WriteState.DONE for past in made)
    return due.is_done or (not due.why and are_made)


def _find_made(call: Call, request: Request) -> Called | None:
    """The last call that equals this one; None if there is none or it failed."""
    equal = [past for past in request.calls if (past.tool, past.arguments) == call]
    return equal[-1] if equal and not equal[-1].failed else None


def _describe_call(call: Call, request: Request) -> str:
    name, arguments = call
    short: JsonObject = {
        field: " ".join(str(value).split())[:_MOST_CHARACTERS_SHOWN] for field, value in arguments.items()
    }
    made = _find_made(call, request)
    if made is None:
        told = ", ".join(f"{field} {value}" for field, value in short.items())
        return f"Not done: {' '.join(parts(name))} ({told})."
    status = as_object(made.result).get("status") if request.loop_takes_proposals else None
    return tell_made_call(name, short, str(status or ""), "")
