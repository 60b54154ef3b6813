"""Calls that a plan was carried out without, and the remarks on them below the answer."""

from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.session.context import TurnContext, describe_unread_files
from services.executor.core.session.dossier import Dossier
from services.executor.core.session.ledger import compute_ledger_key
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json

OUTDATED_PLAN_KEY = "plan:{}:outdated"  # under it the journal tells why an approved plan was not carried out


class LeftOutCall(NamedTuple):
    """A planned call that was not made, and why."""

    call: PlannedCall
    reason: str

    def as_json(self) -> Json:
        """The call for the model, next to the writes that were made."""
        call = self.call
        identity: dict[str, Json] = {"call_id": call.call_id, "tool": call.tool, "arguments": call.arguments}
        return {**identity, "status": "not made", "result": None, "note": self.reason}


def append_remarks(ctx: TurnContext, dossier: Dossier, text: str) -> str:
    """The answer with the remarks below it; an answer that is a JSON list is returned unchanged (I9)."""
    remarks = write_remarks_on_run(ctx, dossier)
    return text if is_json_list(text) or not remarks else text.rstrip() + remarks


def write_remarks_on_run(ctx: TurnContext, dossier: Dossier) -> str:
    """The remarks below an answer on calls not made, a named server without tools, and files not read; may be empty."""
    omitted, endpoint = list_calls_not_made(ctx, dossier), ctx.record.request.tools_endpoint
    remarks = []
    if omitted:
        remarks.append("\n".join(["Not made:", *(f"- {call.call.tool}: {call.reason}" for call in omitted)]))
    if not ctx.toolbox.tools and endpoint is not None:
        remarks.append(f"The tool server {endpoint} offers no tools.")
    if unread := describe_unread_files(ctx.files, saw_pictures=ctx.journal.saw_pictures):
        remarks.append("\n".join(["Not read:", *(f"- {sentence}" for sentence in unread)]))
    return "".join(f"\n\n{part}" for part in remarks)


def list_calls_not_made(ctx: TurnContext, dossier: Dossier) -> list[LeftOutCall]:
    """The calls that the task's plans left out, without those that a later plan made."""
    omitted: list[LeftOutCall] = []
    identities_made: set[tuple[str, str, str]] = set()
    for plan in reversed(dossier.every_plan):
        left_out = [(call, _call_identity(call.call)) for call in list_left_out_calls(ctx, plan)]
        omitted = [*(call for call, identity in left_out if identity not in identities_made), *omitted]
        identities_made |= {_call_identity(call) for call in plan.calls} - {identity for _, identity in left_out}
    return omitted


async def record_left_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall, reason: str) -> None:
    """Journals that the plan is carried out without the call, so that no later attempt makes it out of order."""
    ctx.journal.add_event("note", call=call.call_id, tool=call.tool, left_out=reason)
    ctx.journal.add_entry(build_left_out_key(plan, call), "note", reason)


def is_left_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> bool:
    return ctx.journal.get(build_left_out_key(plan, call)) is not None


def was_not_made(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> bool:
    """Whether an earlier plan left the call out, or was not carried out at all because its inputs had changed."""
    return is_left_out(ctx, plan, call) or ctx.journal.get(OUTDATED_PLAN_KEY.format(plan.round)) is not None


def list_left_out_calls(ctx: TurnContext, plan: WritePlan | None) -> Sequence[LeftOutCall]:
    """The calls that this plan left out, in their order."""
    notes = [(call, ctx.journal.get(build_left_out_key(plan, call))) for call in plan.calls] if plan else []
    return [LeftOutCall(call, reason) for call, reason in notes if reason is not None]


def _call_identity(call: PlannedCall) -> tuple[str, str, str]:
    return (call.connection_id, call.tool, call.arguments_json)


def build_left_out_key(plan: WritePlan, call: PlannedCall) -> str:
    """The journal key of the note that the plan left the call out."""
    return f"left-out:{compute_ledger_key(plan, call)}"
