"""An action of a modality, as its route answers it."""

from datetime import datetime

from pydantic import BaseModel

from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.request_context import RequestContext


class ActionResponse(BaseModel):
    """The answer to an action. ``event_id``: the simulator's event; ``entity_ids``: what it was about, such as a
    message.
    """

    event_id: str
    scheduled_time: datetime
    status: str
    message: str
    modality: str
    entity_id: str | None = None
    entity_ids: list[str] = []


def act(context: RequestContext, modality: str, data: JsonObject) -> ActionResponse:
    """Carry out an action at once, in the caller's name; a failed one is answered as failed."""
    event, outcome = context.world.act(modality, data, context.caller.key_id)
    ids = list(outcome.entity_ids) if outcome else []
    return ActionResponse(
        event_id=event.event_id,
        scheduled_time=event.scheduled_time,
        status=event.status,
        message=outcome.message if outcome else event.error_message or "",
        modality=modality,
        entity_id=ids[0] if ids else None,
        entity_ids=ids,
    )
