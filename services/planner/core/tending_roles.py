"""What a task that goes on with time asks of each state: read what came in, then tend it."""

from collections.abc import Sequence
from datetime import datetime

from services.planner.core.answer import answer
from services.planner.core.binding import Bound
from services.planner.core.pages import next_parts
from services.planner.core.references import CERTAIN, Candidate
from services.planner.core.request import Request, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.telling import told
from services.planner.core.tending import tended
from services.planner.core.words import parts
from shared.domain.exact_json import Json, JsonObject, dumps

_AT_ONCE = 8


def now_of(request: Request) -> datetime | None:
    """The user's time, where the task goes on with it."""
    known = request.section("now")
    try:
        return datetime.fromisoformat(str(known.get("current_time"))) if isinstance(known, dict) else None
    except ValueError:
        return None


def lists_to_read(request: Request, situation: Situation) -> list[Bound]:
    """Every list that can be read as it is, once, and what follows of one that came in part."""
    made = {f"{call.tool} {dumps(call.arguments)}" for call in request.calls}
    found = [Bound(tool, ()) for tool in request.tools if not tool.required and parts(tool.name)[0] == "list"]
    found += [_part(tool, given) for tool, given in next_parts(situation.facts, request.tools)]
    return [bound for bound in found if bound.key not in made][:_AT_ONCE]


def unread(reads: Sequence[Bound], situation: Situation) -> list[Bound]:
    """Those that nothing has been read by yet, where the calls before are told as facts alone."""
    made = {f"{fact.tool} {dumps(fact.arguments)}" for fact in situation.facts}
    return [bound for bound in reads if bound.key not in made]


def plan_of_turn(situation: Situation, writers: Sequence[ToolSpec], now: datetime) -> JsonObject:
    """The structured output WRITE_PLAN: what is due of the standing instructions; what no rule can do is named."""
    done = tended(situation, writers)
    said = told(situation, writers, now, done.calls)
    calls: list[Json] = [{"call_id": f"c{number}", **call} for number, call in enumerate((*done.calls, *said.calls), 1)]
    left = "; ".join((*done.left, *said.left))
    nothing = f"Left alone: {left}." if left else None if calls else "Nothing is due now."
    return {"calls": calls, "why_none": nothing, "cannot": None}


def account(request: Request, situation: Situation) -> str:
    """What was done in this turn, and nothing else of what was read: that is other people's business."""
    reading = situation.reading._replace(questions=())
    return answer(request, situation._replace(reading=reading, facts=(), records=(), values=()))


def _part(tool: ToolSpec, given: JsonObject) -> Bound:
    return Bound(tool, tuple((name, Candidate(value, "result", "", CERTAIN)) for name, value in given.items()))
