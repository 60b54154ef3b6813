"""Switches that make the company misbehave, so that an agent's recovery can be tried."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

EVERY_TOOL = "*"


class Fault(BaseModel):
    """How one tool misbehaves. ``times`` ends the fault after so many calls; without it, it stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delay_before_ms: int = Field(default=0, ge=0)  # before the work is done
    delay_after_ms: int = Field(default=0, ge=0)  # after it, before the answer
    ignore_disconnect: bool = False  # go on although the caller has hung up
    fail: str | None = None  # refuse with this sentence, changing nothing
    lose_reply: bool = False  # do the work, then cut the connection
    claim_read_only: bool = False  # publish the tool as one that reads only
    times: int | None = Field(default=None, ge=1)


_HEALTHY = Fault()
_FAULTS = TypeAdapter(dict[str, Fault])


class Faults:
    """The faults in force, by tool name; ``*`` stands for every tool without a fault of its own."""

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        self._faults = dict(faults)

    @staticmethod
    def parse(text: str) -> dict[str, Fault]:
        """Faults from a JSON object of tool name to fault; ``ValidationError`` otherwise."""
        return _FAULTS.validate_json(text or "{}")

    def replace(self, faults: Mapping[str, Fault]) -> None:
        self._faults = dict(faults)

    def take(self, tool: str) -> Fault:
        """What is wrong with this call; uses up one of its ``times``."""
        name = tool if tool in self._faults else EVERY_TOOL
        fault = self._faults.get(name, _HEALTHY)
        if fault.times == 1:
            del self._faults[name]
        elif fault.times is not None:
            self._faults[name] = fault.model_copy(update={"times": fault.times - 1})
        return fault

    def claims_read_only(self, tool: str) -> bool:
        fault = self._faults.get(tool)
        return fault is not None and fault.claim_read_only

    def as_json(self) -> dict[str, object]:
        return {name: fault.model_dump(mode="json", exclude_defaults=True) for name, fault in self._faults.items()}
