"""The ledger's own summary as the answer: no model is asked once the changes are made, or none can be had."""

from services.executor.core.dossier.dossier import Progress
from services.executor.core.session.context import TurnContext

_NOTHING = "Nothing was written."


async def ledger_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress at its end, with each write and its status as the answer."""
    entries = sorted((await ctx.store.ledger()).values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in entries]
    return progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or _NOTHING)
