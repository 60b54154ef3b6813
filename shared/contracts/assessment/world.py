"""How the simulated world stood after each turn, and what had changed in it: for whoever looks at the run later."""

from typing import Literal

from pydantic import Field

from shared.contracts.assessment.base import MOST_TURNS, JsonObject, Moment, Told


class WorldChange(Told):
    """One row of the world. ``by``: the participant in its turn, or others while time went on.

    ``before``, ``after``: of a row that was changed, the fields that differ; long values are cut.
    """

    message_type: Literal["world_change"] = "world_change"
    by: Literal["participant", "others"]
    kind: Literal["added", "removed", "changed"]
    modality: str
    table: str
    key: str
    title: str = ""
    before: JsonObject = {}
    after: JsonObject = {}


class WorldLook(Told):
    """The world when a turn was over; turn 0 is the world before the first.

    ``counts``: by modality, what the simulator counts there. ``left_out``: changes that are not told one by one.
    """

    message_type: Literal["world_look"] = "world_look"
    turn: int = Field(ge=0, le=MOST_TURNS)
    time: Moment
    counts: dict[str, dict[str, int]] = {}
    changes: tuple[WorldChange, ...] = ()
    left_out: int = Field(default=0, ge=0)
