"""What an action of a modality is answered with."""

from shared.contracts.ues.base import Answer, Moment


class ActionDone(Answer):
    """``event_id`` names the simulator's event; ``entity_ids`` the messages or appointments, where a server tells."""

    event_id: str
    scheduled_time: Moment
    status: str
    message: str = ""
    modality: str
    entity_id: str | None = None
    entity_ids: tuple[str, ...] = ()
