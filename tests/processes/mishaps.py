"""A company that misbehaves from a certain call on."""

from collections.abc import Callable, Mapping

from typing_extensions import override

from examples.company.faults import ToolFault, ToolFaults

OUT_OF_ORDER = ToolFault(fail="This is out of order.")


class Renamed(dict[str, str]):
    """The columns that have other names now, and which columns ("table.column") were shown while there were any."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: set[str] = set()

    @override
    def get(self, column: str, otherwise: str) -> str:  # type: ignore[override]  # as answers are shown: with a default
        self.shown.add(column)
        return super().get(column, otherwise)


class Mishaps(ToolFaults):
    """Healthy, until a tool is called that was named: what it is asked for still happens, then the faults are there.

    ``called``: every tool that was called, in order; ``replace`` does not empty it. ``before_call``: what looks at the
    company before each call.
    """

    def __init__(self) -> None:
        super().__init__({})
        self.renamed: Renamed = Renamed()
        self.called: list[str] = []
        self.before_call: Callable[[], None] = lambda: None
        self._after: dict[str, Mapping[str, ToolFault]] = {}

    def after(self, tool: str, faults: Mapping[str, ToolFault]) -> None:
        self._after[tool] = faults

    @override
    def take_fault(self, tool: str) -> ToolFault:
        self.before_call()
        self.called.append(tool)
        fault = super().take_fault(tool)
        if tool in self._after:
            self.replace(self._after.pop(tool))
        return fault
