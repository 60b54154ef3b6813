"""Switches that make the company misbehave, so that an agent's recovery can be tried."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from examples.company.tables import all_columns

EVERY_TOOL = "*"
RENAME = "rename"
_NAME = r"^[a-z][a-z0-9_]*$"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class ToolFault(BaseModel):
    """How one tool misbehaves. ``times`` ends the fault after so many calls; without it, it stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delay_before_ms: int = Field(default=0, ge=0)  # before the work is done
    delay_after_ms: int = Field(default=0, ge=0)  # after it, before the answer
    ignore_disconnect: bool = False  # go on although the caller has hung up
    fail: str | None = None  # refuse with this sentence, changing nothing
    lose_reply: bool = False  # do the work, then cut the connection
    lie: bool = False  # answer as if it were done, changing nothing
    twice: bool = False  # do the work once more, whatever key came with the call
    claim_read_only: bool = False  # publish the tool as one that reads only
    times: int | None = Field(default=None, ge=1)


def _check_columns(renamed: dict[str, str]) -> dict[str, str]:
    known = {f"{table}.{column.name}" for table, found in all_columns().items() for column in found}
    for old, new in renamed.items():
        if old not in known:
            raise ValueError(f"there is no column {old}")
        if f"{old.partition('.')[0]}.{new}" in known:
            raise ValueError(f"there is a column {new} beside {old} already")
    return renamed


class FaultTable(BaseModel):
    """Faults by tool name, and under ``rename`` the columns that have other names now: ``{"table.column": "new"}``."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, ToolFault] = Field(init=False)

    rename: Annotated[dict[str, Annotated[str, Field(pattern=_NAME)]], AfterValidator(_check_columns)] = {}

    @property
    def tools(self) -> dict[str, ToolFault]:
        return dict(self.__pydantic_extra__)


_HEALTHY = ToolFault()


class ToolFaults:
    """The faults in force, by tool name; ``*`` stands for every tool without a fault of its own.

    ``renamed`` is a live view: "table.column" to the name under which that column is shown now.
    """

    def __init__(self, faults: Mapping[str, ToolFault], renamed: Mapping[str, str] = _NOTHING) -> None:
        self._faults = dict(faults)
        self.renamed = dict(renamed)

    @staticmethod
    def parse(text: str) -> FaultTable:
        """Faults from a JSON object of tool name to fault; ``ValidationError`` otherwise."""
        return FaultTable.model_validate_json(text or "{}")

    @classmethod
    def from_table(cls, table: FaultTable) -> "ToolFaults":
        return cls(table.tools, table.rename)

    def replace(self, faults: Mapping[str, ToolFault], renamed: Mapping[str, str] = _NOTHING) -> None:
        self._faults = dict(faults)
        self.renamed.clear()
        self.renamed.update(renamed)

    def take_fault(self, tool: str) -> ToolFault:
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
        faults: dict[str, object] = {
            name: fault.model_dump(mode="json", exclude_defaults=True) for name, fault in self._faults.items()
        }
        return faults | ({RENAME: dict(self.renamed)} if self.renamed else {})
