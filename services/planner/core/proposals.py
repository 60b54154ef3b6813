"""What became of each call of the plan, and which calls come next."""

from collections.abc import Sequence
from typing import NamedTuple

from services.planner.core.binding import REF, CallPlan, WriteStep
from services.planner.core.outcomes import WriteOutcome, WriteState, asks_for_order, outcome_of
from services.planner.core.request import CALL_NOTE, Request
from shared.domain.exact_json import Json, JsonObject

_AT_ONCE = 40


class ProposedMove(NamedTuple):
    """One call of the plan: as it goes out next, and what came of it. ``lacks``: the call whose result it needs."""

    step: WriteStep
    bound: CallPlan
    arguments: JsonObject
    links: dict[str, str]
    outcome: WriteOutcome
    lacks: str = ""


def plan_moves(steps: Sequence[WriteStep], request: Request) -> list[ProposedMove]:
    """Every call of the plan in order, its references filled in where the call that they mean has answered."""
    answers: dict[str, WriteOutcome] = {}
    found: list[ProposedMove] = []
    for step in steps:
        for bound in step.calls:
            move = _build_move(step, bound, answers, request)
            answers[bound.key] = move.outcome
            found.append(move)
    return _order_moves(found)


def _order_moves(moves: Sequence[ProposedMove]) -> list[ProposedMove]:
    """The moves as they may be made: one refused as too early is open again, behind those that it waits for."""
    going = {move.bound.tool.name for move in moves if move.outcome.state != WriteState.FAILED}
    waits = {move.bound.key: asks_for_order(move.outcome, going - {move.bound.tool.name}) for move in moves}
    left = [move._replace(outcome=WriteOutcome()) if waits[move.bound.key] else move for move in moves]
    if not any(waits.values()):
        return left
    ordered: list[ProposedMove] = []
    while left:
        tools, keys = {move.bound.tool.name for move in left}, {move.bound.key for move in left}
        ready = (move for move in left if not waits[move.bound.key] & tools and move.lacks not in keys)
        ordered.append(next(ready, left[0]))
        left.remove(ordered[-1])
    return ordered


def _build_move(step: WriteStep, bound: CallPlan, answers: dict[str, WriteOutcome], request: Request) -> ProposedMove:
    given: JsonObject = {}
    links: dict[str, str] = {}
    lacks = ""
    for name, value in bound.arguments.items():
        if not isinstance(value, dict) or REF not in value:
            given[name] = value
            continue
        key, _, field = str(value[REF]).rpartition(".")
        maker = answers.get(key)
        made = maker.answer.get(field) if maker else None
        if made is not None:
            given[name] = made
        else:
            links[name] = f"{key}.{field}"
            lacks = key
    outcome = outcome_of(bound.tool, given, request)
    return ProposedMove(step, bound, outcome.again or given, links, outcome, lacks)


def next_moves(moves: Sequence[ProposedMove], guarded: bool) -> list[ProposedMove]:
    """The calls that go out now. A loop that takes proposals gets all; another one those of one action at a time."""
    open_moves = [move for move in moves if move.outcome.state == WriteState.OPEN and not _is_stopped(move, moves)]
    if guarded or not open_moves:
        return open_moves[:_AT_ONCE]
    first = open_moves[0].step
    return [move for move in open_moves if move.step is first and not move.lacks][:_AT_ONCE]


def _is_stopped(move: ProposedMove, moves: Sequence[ProposedMove]) -> bool:
    """Whether what a call rests on was refused: the call that makes its thing, or what a notice would tell."""
    failed = [other for other in moves if other.outcome.state == WriteState.FAILED]
    if any(other.bound.key == move.lacks for other in failed):
        return True
    return bool(failed) and (move.step.intent.is_notice or move.step.intent.follows)


def as_calls(
    moves: Sequence[ProposedMove], numbers: Sequence[int], guarded: bool
) -> tuple[tuple[str, JsonObject], ...]:
    """The calls with the part that each carries out, and with the calls of this reply that they refer to."""
    places = {move.bound.key: place for place, move in enumerate(moves, 1)}
    calls: list[tuple[str, JsonObject]] = []
    for move, number in zip(moves, numbers, strict=True):
        note: JsonObject = {"part": number}
        linked: dict[str, Json] = {name: _numbered_link(link, places) for name, link in move.links.items()}
        note |= {"from": linked} if linked else {}
        calls.append((move.bound.tool.name, {**move.arguments, **({CALL_NOTE: note} if guarded else {})}))
    return tuple(calls)


def _numbered_link(link: str, places: dict[str, int]) -> str:
    key, _, field = link.rpartition(".")
    return f"{places.get(key, 1)}.{field}"
