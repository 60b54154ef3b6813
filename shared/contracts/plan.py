"""The write plan: the exact calls that a worker intends to make, frozen before the first of them."""

from typing import Literal

from pydantic import Field

from shared.contracts.base import Contract
from shared.domain.exact_json import Json, JsonObject, digest, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import ToolClass


class ReadBack(Contract):
    """The read that proves a write: its tool, its canonical arguments, and the field values that its result
    must show.

    ``of_rows``: the read of each row of the call; empty if one read shows them all.
    """

    tool: str
    arguments_json: str
    expect_json: str = "{}"
    of_rows: tuple["ReadBack", ...] = ()

    @property
    def distinct_reads(self) -> tuple["ReadBack", ...]:
        """Each read once, in the order of the call's rows; the read-back itself if it has no ``of_rows``."""
        return tuple(dict.fromkeys(self.of_rows or (self,)))


class ArgumentOrigin(Contract):
    """The source of an argument's value: the task's text, a result (fact and path), or a figure.

    Each of the following has a person look at the plan. ``free_text``: the value occurs only in free text, such as a
    mail's body. ``untold``: the value identifies a record that the task's words do not mention, although they mention
    another record of its kind. ``against``: why the value contradicts the words of its part; the model was told this.
    """

    argument: str  # its path; empty where the call takes nothing but the answers of earlier calls
    source: Literal["task", "result", "value", "none"]
    ref: str = ""
    free_text: bool = False
    untold: bool = False
    against: str = ""


class PlannedCall(Contract):
    """One call of a plan.

    ``arguments_json`` is canonical JSON; ``{"$ref": "c1.path"}`` stands for an earlier call's result. ``compensation``:
    the call that undoes this one, made if a later call fails whose ``on_failure`` is "compensate". ``part``: the part
    of the task that it carries out. ``if_acknowledged``, of a notice: the sentence to add if a change that it reports
    was answered by the server but could not be proved.
    """

    call_id: str
    connection_id: str
    tool: str
    tool_class: ToolClass
    arguments_json: str
    read_back: ReadBack | None = None
    on_failure: Literal["stop", "compensate"] = "stop"
    compensation: "PlannedCall | None" = None
    part: int | None = None  # the part of the task that the call carries out
    origins: tuple[ArgumentOrigin, ...] = ()
    if_acknowledged: str | None = None
    idempotency_field: str | None = None  # our key goes out in this argument; it is no part of what is approved

    @property
    def arguments(self) -> JsonObject:
        return loads_object(self.arguments_json)


class WritePlan(Contract):
    """The calls in their order. ``round``: the plan's number within its task, from 1."""

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
        """Each call, followed by its compensation if it has one."""
        pairs = ((call, call.compensation) for call in self.calls)
        return tuple(call for pair in pairs for call in pair if call is not None)

    @property
    def hash(self) -> str:
        """The hash that identifies the plan in verdict, approval and ledger: its calls, read-backs and failure rules.

        A field added later is hashed only if it is set, so that hashes of older plans stay valid.
        """
        return _hash_plan(self)


def _select_hashed_fields(call: PlannedCall) -> Json:
    read_back = call.read_back
    return {
        "id": call.call_id,
        "connection": call.connection_id,
        "tool": call.tool,
        "class": call.tool_class.value,
        "arguments": call.arguments,
        "read_back": [
            value
            for row_read in read_back.distinct_reads
            for value in (row_read.tool, loads_object(row_read.arguments_json))
        ]
        if read_back
        else None,
        "on_failure": call.on_failure,
        "compensation": _select_hashed_fields(call.compensation) if call.compensation else None,
        **({"part": call.part} if call.part is not None else {}),
        **({"if_acknowledged": call.if_acknowledged} if call.if_acknowledged is not None else {}),
    }


# A plan never changes, and is asked for its hash by each step of each of its calls.
_hash_plan = IdentityCache[WritePlan, str](
    lambda plan: digest([_select_hashed_fields(call) for call in plan.calls]), 64
)
