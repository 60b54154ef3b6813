"""How much one message may hold, whichever protocol it comes by."""

from typing import NamedTuple

from services.gateway.core.errors import InvalidField
from services.gateway.core.tasks.message import ClientMessage
from shared.domain.exact_json import dumps


class MessageLimits(NamedTuple):
    """``text_characters``: the texts and data of all parts together, and of the turns that a question brings along;
    ``metadata_characters``: as JSON.
    """

    parts: int = 100
    text_characters: int = 262_144
    metadata_characters: int = 65_536


def check_size(message: ClientMessage, limits: MessageLimits) -> None:
    """Raises ``InvalidField`` that names what is too large, and the limit."""
    parts = "task" if message.solver else "message.parts"
    if message.part_count > limits.parts:
        raise InvalidField(parts, f"there are {message.part_count} parts; at most {limits.parts} are taken")
    history = message.solver.history if message.solver else ()
    if len(message.whole_text) + sum(len(turn.content) for turn in history) > limits.text_characters:
        raise InvalidField(parts, f"texts and data are over the limit of {limits.text_characters} characters")
    if len(dumps(message.other_metadata)) > limits.metadata_characters:
        raise InvalidField("metadata", f"is over the limit of {limits.metadata_characters} characters as JSON")
