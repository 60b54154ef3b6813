"""The planned calls: what became of each, and which go out next."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.binding import REF, CallPlan, WriteStep
from services.planner.core.outcomes import NOT_MADE, REFUSED, WriteOutcome, WriteState, outcome_of, tools_required_first
from services.planner.core.request import CALL_NOTE, Request
from services.planner.core.words import concept, family, is_identifier, nouns, participle, parts, stem, stems
from shared.domain.exact_json import Json, JsonObject, dumps

_AT_ONCE = 40


class ProposedMove(NamedTuple):
    """One planned call with its arguments and outcome. ``lacks``: the call whose result it needs first."""

    step: WriteStep
    bound: CallPlan
    arguments: JsonObject
    links: dict[str, str]
    outcome: WriteOutcome
    lacks: str = ""


def plan_moves(steps: Sequence[WriteStep], request: Request) -> list[ProposedMove]:
    """Every planned call in order, with references replaced by results where the calls they refer to have answered."""
    answers: dict[str, WriteOutcome] = {}
    moves: list[ProposedMove] = []
    for step in steps:
        for bound in step.calls:
            move = _build_move(step, bound, answers, request)
            answers[bound.key] = move.outcome
            moves.append(move)
    return _order_moves(_reopen_rest(moves))


def _reopen_rest(moves: Sequence[ProposedMove]) -> list[ProposedMove]:
    """The moves, of which one for each of several things that was refused stops no other: those that were not made
    because of it are open again, once for each that was refused.
    """
    apart = [move for move in moves if move.step.intent.means_every and move.outcome.state == WriteState.FAILED]
    refused = Counter(move.step.intent.clause for move in apart if move.outcome.status == REFUSED)
    reopened = {
        move.bound.key
        for move in apart
        if move.outcome.status == NOT_MADE and move.outcome.tries <= refused[move.step.intent.clause]
    }
    return [move._replace(outcome=WriteOutcome()) if move.bound.key in reopened else move for move in moves]


def _order_moves(moves: Sequence[ProposedMove]) -> list[ProposedMove]:
    """The moves as they may be made: one refused as too early is open again, behind those that it waits for."""
    going = {move.bound.tool.name for move in moves if move.outcome.state != WriteState.FAILED}
    waits = {move.bound.key: tools_required_first(move.outcome, going - {move.bound.tool.name}) for move in moves}
    open_moves = [move._replace(outcome=WriteOutcome()) if waits[move.bound.key] else move for move in moves]
    if not any(waits.values()):
        return open_moves
    ordered: list[ProposedMove] = []
    while open_moves:
        tools = {move.bound.tool.name for move in open_moves}
        keys = {move.bound.key for move in open_moves}
        ready = (move for move in open_moves if not waits[move.bound.key] & tools and move.lacks not in keys)
        ordered.append(next(ready, open_moves[0]))
        open_moves.remove(ordered[-1])
    return ordered


def _build_move(step: WriteStep, bound: CallPlan, answers: dict[str, WriteOutcome], request: Request) -> ProposedMove:
    arguments: JsonObject = {}
    links: dict[str, str] = {}
    lacks = ""
    for name, value in bound.arguments.items():
        if not isinstance(value, dict) or REF not in value:
            arguments[name] = value
            continue
        key, _, field = str(value[REF]).rpartition(".")
        maker = answers.get(key)
        created_value = maker.answer.get(field) if maker else None
        if created_value is not None:
            arguments[name] = created_value
        else:
            links[name] = f"{key}.{field}"
            lacks = key
    outcome = outcome_of(bound.tool, arguments, request)
    return ProposedMove(step, bound, outcome.again or arguments, links, outcome, lacks)


def next_moves(moves: Sequence[ProposedMove], loop_takes_proposals: bool) -> list[ProposedMove]:
    """The calls that go out now: all of them if the loop takes proposals, else those of one action at a time."""
    open_moves = [move for move in moves if move.outcome.state == WriteState.OPEN and not _is_stopped(move, moves)]
    if loop_takes_proposals or not open_moves:
        return open_moves[:_AT_ONCE]
    first = open_moves[0].step
    return [move for move in open_moves if move.step is first and not move.lacks][:_AT_ONCE]


def _is_stopped(move: ProposedMove, moves: Sequence[ProposedMove]) -> bool:
    """Whether what a call rests on was refused: the call that makes its thing, or what a notice would tell."""
    failed = [other for other in moves if other.outcome.state == WriteState.FAILED]
    if any(other.bound.key == move.lacks for other in failed):
        return True
    others = [other for other in failed if not (move.step.intent.means_every and other.step is move.step)]
    return bool(others) and (move.step.intent.sends_message or move.step.intent.follows)


def encode_calls(
    moves: Sequence[ProposedMove], part_numbers: Sequence[int], loop_takes_proposals: bool
) -> tuple[tuple[str, JsonObject], ...]:
    """The calls, each with the number of the task's part it carries out, and with references to calls of the same
    reply.
    """
    places = {move.bound.key: place for place, move in enumerate(moves, 1)}
    calls: list[tuple[str, JsonObject]] = []
    for move, number in zip(moves, part_numbers, strict=True):
        note: JsonObject = {"part": number}
        linked: dict[str, Json] = {name: _numbered_link(link, places) for name, link in move.links.items()}
        note |= {"from": linked} if linked else {}
        calls.append((move.bound.tool.name, {**move.arguments, **({CALL_NOTE: note} if loop_takes_proposals else {})}))
    return tuple(calls)


def _numbered_link(link: str, places: dict[str, int]) -> str:
    key, _, field = link.rpartition(".")
    return f"{places.get(key, 1)}.{field}"


_CONFIRMED_STATUSES = frozenset({"", "verified", "sent"})  # empty: the loop tells no status


def describe_call(tool: str, arguments: JsonObject) -> str:
    """The call in words: ``mend kite (kite_id K-1)``."""
    named = (f"{name} {value if isinstance(value, str) else dumps(value)}" for name, value in arguments.items())
    return f"{' '.join(parts(tool))} ({', '.join(named)})"


def tell_made_call(tool: str, arguments: JsonObject, status: str, note: str) -> str:
    """A sentence on a call that was made; one that nothing confirmed is not told as done."""
    if status in _CONFIRMED_STATUSES:
        return _tell_done(tool, arguments, status, note)
    return (
        f"Not confirmed, status {status}: {describe_call(tool, arguments)}{f'; {note}' if note else ''}".rstrip(".")
        + "."
    )


def _tell_done(tool: str, arguments: JsonObject, status: str, note: str) -> str:
    """A sentence on a call that took effect, with what proves it: ``K-1 is mended (verified; read back: state=whole).``

    What the tool makes, or does to another thing than the one that it names, stands behind the verb: ``Sent: letter
    (kite_id K-1).``
    """
    verb, own = parts(tool)[0], nouns(tool)
    subjects = [name for name in arguments if is_identifier(name) and concept(name, own) & own]
    is_made = family(verb) == "create" and not any(concept(name, own) == own for name in subjects)
    subject = None if is_made else next(iter(subjects), None)
    told = {name: value if isinstance(value, str) else dumps(value) for name, value in arguments.items()}
    others = [(name, value) for name, value in told.items() if name != subject and f"{name}={value}" not in note]
    said = ", ".join(f'{name} "{value}"' if " " in value else f"{name} {value}" for name, value in others)
    proof = "; ".join(filter(None, (said, status, note.removesuffix("."))))
    left = stems((*(part for name in arguments for part in parts(name)), verb))
    words = [word for word in parts(tool)[1:] if subject is None or stem(word) not in left]
    start = f"{told[subject]} is {participle(verb)}" if subject else f"{participle(verb).capitalize()}:"
    return f"{' '.join((start, *words))}{f' ({proof})' if proof else ''}."
