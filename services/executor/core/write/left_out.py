"""Calls that cannot be made as planned, where the plan goes on without them: said in the answer, never made later."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.session.context import TurnContext
from services.executor.core.session.ledger import write_key
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json


class LeftOut(NamedTuple):
    """A call that was not made, and why."""

    call: PlannedCall
    why: str

    def as_json(self) -> Json:
        """As a model sees it, beside the writes that were made."""
        call = self.call
        known: dict[str, Json] = {"call_id": call.call_id, "tool": call.tool, "arguments": call.arguments}
        return {**known, "status": "not made", "result": None, "note": self.why}


async def leave_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall, why: str) -> None:
    """Store that the plan goes on without the call, so that no later attempt makes it out of its order."""
    ctx.journal.tell("note", call=call.call_id, tool=call.tool, left_out=why)
    await ctx.journal.add(_key(plan, call), "note", why)


def is_left_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> bool:
    return ctx.journal.get(_key(plan, call)) is not None


def left_out(ctx: TurnContext, plan: WritePlan | None) -> Sequence[LeftOut]:
    """The calls that the plan went on without, in their order."""
    known = [(call, ctx.journal.get(_key(plan, call))) for call in plan.calls] if plan else []
    return [LeftOut(call, why) for call, why in known if why is not None]


def _key(plan: WritePlan, call: PlannedCall) -> str:
    return f"left-out:{write_key(plan, call)}"
