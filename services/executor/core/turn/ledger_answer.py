"""A task's answer where no model gives it: the ledger's own summary, or what was known when the budget was spent."""

from collections.abc import Sequence

from services.executor.core.budget.budget import BudgetSpent, Partial
from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.endings import Failed, RunEnds
from services.executor.core.session.context import TurnContext
from shared.contracts.ledger import LedgerEntry
from shared.domain.words import DOUBTS, WriteStatus

_NOTHING = "Nothing was written."


async def ledger_answer(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress at its end, with each write and its status as the answer."""
    entries = sorted((await ctx.store.ledger()).values(), key=lambda entry: entry.call.call_id)
    lines = [f"{entry.call.tool}: {entry.status.value.replace('_', ' ')} ({entry.note})" for entry in entries]
    return progress.move_to(progress.path[-1]).update_dossier(answer="\n".join(lines) or _NOTHING)


_DONE = frozenset({WriteStatus.VERIFIED, WriteStatus.UNVERIFIED, WriteStatus.SENT, WriteStatus.SKIPPED})


_OPEN = frozenset({WriteStatus.SENDING, WriteStatus.DENIED, WriteStatus.RESEND, WriteStatus.ASKED, *DOUBTS})


def ending(spent: BudgetSpent, progress: Progress | None, writes: Sequence[LedgerEntry]) -> RunEnds:
    """``Partial`` if no write is open and none was planned and not made; else ``Failed``."""
    plan = progress.dossier.plan if progress else None
    done = {(entry.plan_hash, entry.call.call_id) for entry in writes if entry.status in _DONE}
    undone = [call.tool for call in plan.calls if (plan.hash, call.call_id) not in done] if plan else []
    if undone:
        return Failed(f"{spent.reason}; planned and not done: {', '.join(undone)}")
    if any(entry.status in _OPEN for entry in writes):
        return Failed(spent.reason)
    return Partial(spent.reason)


def known_so_far(reason: str, progress: Progress | None) -> str:
    """The answer of a partial result: why it is partial, and what the run had found out."""
    dossier = progress.dossier if progress else None
    values = [f"- {value.name}: {value.value}" for value in dossier.values] if dossier else []
    return "\n".join([f"Partial result: {reason}.", *(["Known until then:", *values] if values else [])])
