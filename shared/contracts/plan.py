"""The WritePlan: the exact calls a worker intends, frozen before the first of them is made."""

from typing import Literal

from pydantic import Field

from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, digest, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import ToolClass


class ReadBack(Contract):
    """The read that proves a write: its tool, canonical arguments, and the fields that its result should show."""

    tool: str
    arguments_json: str
    expect_json: str = "{}"


class Origin(Contract):
    """Where an argument's value comes from: the task's text, a result (fact and path), or a named value.

    ``free_text``: it stands in free text alone, such as a mail's body, and a person has to see it. ``untold``: it names
    a record that no word of the task tells of where the task means another of its kind; a person has to see it, too.
    ``against``: why it does not agree with the words of its part, of which the model was told; a person has to see it.
    """

    argument: str
    source: Literal["task", "result", "value", "none"]
    ref: str = ""
    free_text: bool = False
    untold: bool = False
    against: str = ""


class PlannedCall(Contract):
    """One call of a plan.

    ``arguments_json`` is canonical JSON; ``{"$ref": "c1.path"}`` stands for an earlier call's result.
    ``compensation`` takes the call back: it is made if a later call fails whose ``on_failure`` is "compensate".
    ``part``: the part of the task that the call carries out. ``if_acknowledged``, of a notice: the sentence that goes
    out with it where a change that it tells of was answered by the server, and could not be proved by reading.
    """

    call_id: str
    connection_id: str
    tool: str
    tool_class: ToolClass
    arguments_json: str
    read_back: ReadBack | None = None
    # "continue" stands in plans of earlier releases alone.
    on_failure: Literal["stop", "continue", "compensate"] = "stop"
    compensation: "PlannedCall | None" = None
    part: int | None = None  # the part of the task that the call carries out
    origins: tuple[Origin, ...] = ()
    if_acknowledged: str | None = None
    idempotency_field: str | None = None  # our key goes out in this argument; it is no part of what is approved

    @property
    def arguments(self) -> JsonObject:
        return loads_object(self.arguments_json)


class WritePlan(Contract):
    """The calls in the order they run. ``round`` is the plan's number among those of its task, 1 for the first."""

    task_id: str
    round: int = 1
    calls: tuple[PlannedCall, ...] = Field(default=())

    @property
    def changes(self) -> tuple[PlannedCall, ...]:
        return tuple(call for call in self.calls if call.tool_class is ToolClass.CHANGE)

    @property
    def notices(self) -> tuple[PlannedCall, ...]:
        return tuple(call for call in self.calls if call.tool_class is ToolClass.NOTIFY)

    @property
    def every_call(self) -> tuple[PlannedCall, ...]:
        """Each call, followed by its compensation if it has one: all calls that may be sent."""
        pairs = ((call, call.compensation) for call in self.calls)
        return tuple(call for pair in pairs for call in pair if call is not None)

    @property
    def hash(self) -> str:
        """The hash by which verdict, approval and ledger refer to the plan: its calls, read-backs and failure rules.

        A field that plans did not have at first counts only where it is set, so that hashes of older plans stay valid.
        """
        return _hash_plan(self)


def _hashed_fields(call: PlannedCall) -> Json:
    read_back = call.read_back
    return {
        "id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "class": call.tool_class.value,
        "arguments": call.arguments,
        "read_back": [read_back.tool, loads_object(read_back.arguments_json)] if read_back else None,
        "on_failure": call.on_failure,
        "compensation": _hashed_fields(call.compensation) if call.compensation else None,
        **({"part": call.part} if call.part is not None else {}),
        **({"if_acknowledged": call.if_acknowledged} if call.if_acknowledged is not None else {}),
    }


# A plan never changes, and is asked for its hash by each step of each of its calls.
_hash_plan = IdentityCache[WritePlan, str](lambda plan: digest([_hashed_fields(call) for call in plan.calls]), 64)
