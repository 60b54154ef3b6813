"""A task that goes on with time: what came in is read list by list, and the standing instructions are carried out."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.planner.core.assistance import DueWish, due_wishes
from services.planner.core.clock_words import speaks_of_later
from services.planner.core.correspondence import ReadMessage, read_correspondence
from services.planner.core.intents import understand
from services.planner.core.mentions import MentionKind
from services.planner.core.next_turn import done_line, find_beginning, is_limit, is_turn, open_wishes
from services.planner.core.outcomes import WriteState, outcome_of, outcome_of_call
from services.planner.core.pages import next_parts
from services.planner.core.parts_of_task import DO, FIND_OUT, changes_of, number_of_clause, parts_of, quote
from services.planner.core.process import GENERAL, process_name
from services.planner.core.request import CALL_NOTE, LEAVE_PART, Call, Request, ToolSpec, as_object, now_of
from services.planner.core.situation import Situation
from services.planner.core.telling import telling_calls
from services.planner.core.tending import TendedRows, tend_rows
from services.planner.core.tending_rules import find_standing_rules
from services.planner.core.toolset import Toolset
from services.planner.core.wanted_facts import is_from
from services.planner.core.wishes import AskedFact, PersonalWish, WishKind, read_wishes, without_wishes
from services.planner.core.words import parts, stem, stems, text_stems
from shared.domain.exact_json import Json, JsonObject, dumps

_AT_ONCE = 8
_SHOWN = 60  # characters of a value, in the account of a turn
_IDLE = "nothing that was read calls for it now"
_TO_USER = re.compile(r"\b(?:tell|let|remind) me\b", re.I)
_OF_TIMES = frozenset(stem(word) for word in "calendar appointment event meeting".split())
_OF_CHAT = frozenset({"chat"})
_IN_CALENDAR = (AskedFact.WHEN, AskedFact.WHERE)
_TIMED = frozenset({WishKind.MOVE, WishKind.CREATE, WishKind.CANCEL, WishKind.RESPOND})


_ARRIVING = stems("mail email message inbox sms chat conversation notice thread".split())


def has_standing(request: Request, situation: Situation, toolset: Toolset) -> bool:
    """Whether a task has standing instructions: the loop counts its turns, or its words speak of what comes later.

    Instructions over what comes in need something that comes in, which a tool lists.
    """
    if now_of(request) is None:
        return False
    if is_turn(request):
        return True
    if situation.of_kind(MentionKind.ID) or not any(_ARRIVING & stems(parts(tool.name)) for tool in toolset.readers):
        return False
    verbs = {stem(parts(tool.name)[0]) for tool in toolset.writers if parts(tool.name)}
    steps = [step for rule in find_standing_rules(situation.text) for step in rule.steps if stem(step.verb) in verbs]
    return speaks_of_later(situation.text) and bool(steps)


def lists_to_read(request: Request, situation: Situation, toolset: Toolset) -> list[tuple[str, JsonObject]]:
    """Every list that can be read as it is, once, and what follows of one that came in part.

    In a later turn only what has come since the first one, of what something is left to do about; where what came is
    about a wish, the messages of its people too.
    """
    made = {call.key for call in request.calls}
    lists = [tool for tool in toolset.readers if not tool.required and parts(tool.name)[:1] == ("list",)]
    begun, wishes = find_beginning(request), open_wishes(request, read_wishes(situation.text))
    tells_user = _TO_USER.search(_leave_out(situation, wishes).text) is not None
    found: list[Call]
    if begun is None or tells_user:
        found = [(tool.name, {}) for tool in lists if tells_user or not _is_chat(tool)]
    else:
        found = [(tool.name, _arguments_since(tool, begun)) for tool in lists if _is_needed(tool, situation, wishes)]
        found += _earlier_messages(_with_news(wishes, situation), lists)
    found += [(tool.name, given) for tool, given in next_parts(situation.facts, toolset.readers)]
    return [(name, given) for name, given in found if f"{name} {dumps(given)}" not in made][:_AT_ONCE]


def _earlier_messages(wishes: Sequence[PersonalWish], lists: Sequence[ToolSpec]) -> list[Call]:
    """What is read besides of wishes that something has come in about: the messages of their people.

    A list of messages that cannot be asked for those of one sender is read whole, and so are texts, which show no name.
    """
    people = [name for wish in wishes for name in (wish.who, wish.asker, wish.source) if name and "@" not in name]
    found: list[Call] = []
    for tool in lists:
        if not people or _is_chat(tool) or _is_calendar(tool):
            continue
        sender = next((one for one in tool.properties if {"from", "address"} <= set(parts(one))), "")
        found += [(tool.name, {sender: name.split()[-1].lower()} if sender else {}) for name in people]
    return list({dumps([*call]): call for call in found}.values())


def _arguments_since(tool: ToolSpec, begun: datetime) -> JsonObject:
    """The argument by which a list is asked for what came after a moment; none where it has no such one."""
    name = next((one for one in tool.properties if parts(one)[-1:] in (("after",), ("since",))), "")
    return {name: begun.isoformat()} if name else {}


def _is_needed(tool: ToolSpec, situation: Situation, wishes: Sequence[PersonalWish]) -> bool:
    """Whether something is left to do for which a list matters: appointments, what came in, or what the chat says."""
    if _is_chat(tool):
        return False
    if _is_calendar(tool):
        return any(wish.kind in _TIMED or (wish.asked in _IN_CALENDAR and not wish.waits) for wish in wishes)
    return bool(wishes) or bool(find_standing_rules(_leave_out(situation, read_wishes(situation.text)).text))


def _is_chat(tool: ToolSpec) -> bool:
    return bool(text_stems(" ".join(parts(tool.name))) & _OF_CHAT)


def _is_calendar(tool: ToolSpec) -> bool:
    return bool(text_stems(" ".join(parts(tool.name))) & _OF_TIMES)


def _with_news(wishes: Sequence[PersonalWish], situation: Situation) -> list[PersonalWish]:
    """Those about which, or by whose source, a message has come in."""
    come = read_correspondence(situation).incoming
    return [wish for wish in wishes if any(_speaks_of(message, wish) for message in come)]


def _speaks_of(message: ReadMessage, wish: PersonalWish) -> bool:
    return bool(wish.topic_stems & message.stems) or (bool(wish.source) and is_from(message, wish.source))


class DueTurn(NamedTuple):
    """What is due in this turn. ``wishes``: those of the task, each with its calls or why there are none."""

    tended: TendedRows
    wishes: tuple[DueWish, ...] = ()


def plan_due_work(request: Request, situation: Situation, toolset: Toolset) -> DueTurn:
    """The work that the user's wishes and standing instructions make due now; the answer names what no rule can do."""
    now = now_of(request)
    wishes = read_wishes(situation.text)
    rest = _leave_out(situation, wishes)
    done = tend_rows(rest, toolset.writers)
    if now is None:
        return DueTurn(done)
    asked = find_beginning(request) or now
    found = due_wishes(open_wishes(request, wishes), situation, toolset.writers, now, asked)
    said = telling_calls(rest, toolset.writers, now, done.calls)
    calls = [(call, one.wish.quote) for one in found for call in one.calls]
    left = [f"{one.wish.quote.rstrip(' .')}: {one.why}" for one in found if one.why]
    tended = TendedRows(
        (*(call for call, _ in calls), *done.calls, *said.calls),
        (*left, *done.left, *said.left),
        (*(quote for _, quote in calls), *done.clauses),
    )
    return DueTurn(tended, found)


def _leave_out(situation: Situation, wishes: tuple[PersonalWish, ...]) -> Situation:
    text = without_wishes(situation.text, wishes)
    return situation._replace(reading=situation.reading._replace(text=text))


def as_wished(request: Request, situation: Situation, writers: Sequence[ToolSpec]) -> JsonObject:
    """The input of ``understand`` for a task that goes on with time: what is left of its wishes, and its instructions.

    What it is not to do is no part of it.
    """
    wishes = read_wishes(situation.text)
    quotes = [quote(wish.quote, situation) for wish in open_wishes(request, wishes)]
    rest = _leave_out(situation, wishes).text
    rules = [rule.piece for rule in find_standing_rules(rest) if rule.steps]
    others = parts_of(situation._replace(reading=understand(rest)), writers)
    quotes += [quote(piece, situation) for piece in rules]
    quotes += [
        part.quote
        for part in others
        if part.kind == DO and not is_limit(part.clause) and not any(part.clause in piece for piece in rules)
    ]
    told = sorted(dict.fromkeys(quotes), key=situation.original.find)
    known: list[Json] = [{"quote": one, "kind": DO} for one in told]
    whole: list[Json] = [{"quote": situation.original.strip(), "kind": FIND_OUT}]
    process = GENERAL if is_turn(request) else process_name(situation.text)  # a person's day is of no one kind
    return {"parts": known or whole, "process": process, "answer_form": "prose"}


def calls_due(request: Request, situation: Situation, toolset: Toolset, due_now: DueTurn) -> list[Call]:
    """What is due and was not made yet, each with the part of the task that it carries out, if the loop asks for it.

    A call that is answered with the wish to be proposed again is. A call of which no clause is known belongs to the
    part that its tool's name speaks of.
    """
    tools = {tool.name: tool for tool in toolset.writers}
    found: list[Call] = []
    for place, (name, given) in enumerate(due_now.tended.calls):
        if outcome_of(tools[name], given, request).state is not WriteState.OPEN:
            continue
        clause = due_now.tended.clauses[place] if place < len(due_now.tended.clauses) else " ".join(parts(name))
        number = number_of_clause(clause, request, situation, toolset.writers) if toolset.guarded else 0
        note: JsonObject = {CALL_NOTE: {"part": number}} if number else {}
        found.append((name, {**given, **note}))
    return found


def parts_without_calls(request: Request, situation: Situation, toolset: Toolset, due_now: DueTurn) -> tuple[Call, ...]:
    """Each part of the task for which nothing is due now: left, as what was read has nothing for it."""
    told = {call.arguments.get("part") for call in request.calls if call.tool == LEAVE_PART}
    ref = situation.facts[-1].ref if situation.facts else ""
    if not toolset.has(LEAVE_PART) or not ref:
        return ()
    clauses = [
        *due_now.tended.clauses,
        *(" ".join(parts(name)) for name, _ in due_now.tended.calls[len(due_now.tended.clauses) :]),
    ]
    busy = {number_of_clause(clause, request, situation, toolset.writers) for clause in clauses}
    idle = [number for number in changes_of(request) if number not in told | busy]
    reasons = {
        number_of_clause(one.wish.quote, request, situation, toolset.writers): one.why or "it is done already"
        for one in due_now.wishes
        if not one.calls
    }
    return tuple((LEAVE_PART, {"part": one, "because": reasons.get(one, _IDLE), "ref": ref}) for one in idle)


def tell_turn(request: Request, due_now: DueTurn, guarded: bool) -> str:
    """What was done in this turn, and nothing else of what was read: that is other people's business.

    ``guarded``: whether the loop itself tells which parts were left, and why.
    """
    by_quote: dict[str, list[DueWish]] = {}
    for one in due_now.wishes:
        by_quote.setdefault(one.wish.quote, []).append(one)
    done = [quoted for quoted, ones in by_quote.items() if all(_is_done(one, request) for one in ones)]
    told = {dumps([*call]) for one in due_now.wishes if one.wish.quote in done for call in one.calls}
    lines = [done_line(quoted) + "." for quoted in done]
    lines += [_describe_call(call, request) for call in due_now.tended.calls if dumps([*call]) not in told]
    lines += [f"Left alone: {left}." for left in due_now.tended.left if not guarded or not _is_of_wish(left, due_now)]
    return " ".join(lines) or "Nothing is due now."


def _is_done(one: DueWish, request: Request) -> bool:
    return one.is_done or (bool(one.calls) and not one.why and all(_is_made(call, request) for call in one.calls))


def _is_made(call: Call, request: Request) -> bool:
    made = [one for one in request.calls if one.tool == call[0] and one.arguments == call[1]]
    return bool(made) and not made[-1].failed and outcome_of_call(made[-1], request).state is WriteState.DONE


def _is_of_wish(left: str, due_now: DueTurn) -> bool:
    return any(left.startswith(one.wish.quote.rstrip(" .")) for one in due_now.wishes)


def _describe_call(call: tuple[str, JsonObject], request: Request) -> str:
    name, given = call
    made = [one for one in request.calls if one.tool == name and one.arguments == given]
    shown = {field: " ".join(str(value).split()) for field, value in given.items()}
    what = f"{' '.join(parts(name))} ({', '.join(f'{field} {value[:_SHOWN]}' for field, value in shown.items())})"
    if not made or made[-1].failed:
        return f"Not done: {what}."
    status = as_object(made[-1].result).get("status") if request.guarded else None
    return f"Done{f' and {status}' if status else ''}: {what}."
