"""A company that misbehaves from a certain call on."""

from collections.abc import Mapping

from typing_extensions import override

from examples.company.faults import Fault, Faults

OUT_OF_ORDER = Fault(fail="This is out of order.")


class Mishaps(Faults):
    """Healthy, until a tool is called that was named: what it is asked for still happens, then the faults are there."""

    def __init__(self) -> None:
        super().__init__({})
        self._after: dict[str, Mapping[str, Fault]] = {}

    def after(self, tool: str, faults: Mapping[str, Fault]) -> None:
        self._after[tool] = faults

    @override
    def take(self, tool: str) -> Fault:
        fault = super().take(tool)
        if tool in self._after:
            self.replace(self._after.pop(tool))
        return fault
