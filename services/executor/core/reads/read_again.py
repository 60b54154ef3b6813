"""Reads anew what a task has read before."""

from services.executor.core.reads.recovering import known_corrections, read
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Failed
from services.executor.core.tools.toolbox import DispatchRefused, require_permitted
from shared.domain.exact_json import dumps, loads_object
from shared.domain.words import FsmState


async def read_again(ctx: TurnContext, key: str, fact: Fact, progress: Progress) -> Fact:
    """The fact read anew, as the journal step ``key``. Raises ``Failed`` if it cannot be."""
    tool = ctx.toolbox.find(fact.connection_id, fact.tool)
    if tool is None:
        raise Failed(f"the tool {fact.tool} is gone, so the inputs cannot be read again; nothing was written")
    try:
        require_permitted(FsmState.APPROVAL_GATE, tool)  # MUTATE would let it pass, whatever it has become
    except DispatchRefused as error:
        raise Failed(f"the inputs cannot be read again, so nothing was written: {error}") from error
    reading = await read(ctx, key, tool, loads_object(fact.arguments_json), known_corrections(ctx, progress))
    renewed = {"result_json": dumps(reading.answer.content), "ok": reading.tells, "note": reading.note}
    return fact.model_copy(update=renewed)
