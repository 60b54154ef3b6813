"""A model that is away for minutes: the task rests on a timer and holds nothing, until its deadline (TASK_DEADLINE)."""

from datetime import datetime

from services.executor.core.conversation.away import next_try
from services.executor.core.dossier.dossier import Rest
from services.executor.core.dossier.endings import ModelRests
from services.executor.core.session.context import TurnContext
from services.executor.ports.models import ModelAway


async def rest_for_model(ctx: TurnContext, key: str, away: ModelRests) -> Rest | None:
    """The wait that is due now; None past the deadline. ``key`` names the reply that is waited for."""
    tries, first = 1, ctx.journal.now
    while (known := ctx.journal.of_earlier_attempt(f"{key}:away:{tries}")) is not None:
        first = datetime.fromisoformat(known) if tries == 1 else first
        tries += 1
    until = next_try(ModelAway(away.reason, away.retry_after), tries, first, ctx.journal.now, ctx.limits.rest_seconds)
    if until is None:
        return None
    ctx.journal.goes_on()
    ctx.journal.add(f"{key}:away:{tries}", "note", ctx.journal.now.isoformat())
    return Rest(until, f"waiting for the model until {until:%Y-%m-%d %H:%M:%S} UTC: {away.reason}")
