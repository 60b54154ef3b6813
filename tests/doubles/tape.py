"""What reached the outside of a run, in its order: the model, the policy service, the tool servers, what people said.

A checker reads it beside the stored record; nothing on it comes from the code that is checked.
"""

from datetime import datetime
from typing import NamedTuple, TypeAlias

from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.task import Turn
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass


class Asked(NamedTuple):
    """A call of the model. ``tokens``: its messages and its answer, four characters a token; ``said`` is its text.

    ``calls``: how many tools its reply calls. ``state``: which helper question it is; empty in the conversation.
    """

    state: str
    tokens: int
    said: str | None
    calls: int = 0
    stop: str = "end_turn"


class Judged(NamedTuple):
    """A call of the policy service; no verdict if it was unavailable."""

    request: EvaluateRequest
    verdict: Verdict | None
    at: datetime


class Reached(NamedTuple):
    """A call as a server saw it. ``kind`` is what the tool does; ``state`` stands in the last checkpoint stored."""

    connection: str
    tool: str
    arguments: JsonObject
    kind: ToolClass
    state: str | None
    at: datetime


class Heard(NamedTuple):
    """An attempt at a turn begins."""

    turn: Turn


Event: TypeAlias = Asked | Judged | Reached | Heard


class Tape:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def note(self, event: Event) -> None:
        self.events.append(event)
