"""Named values: figures with the operands from which they can be computed again, exactly."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

from services.planner.core.records import FactRecord, number
from shared.domain.exact_json import Json, JsonObject

_RATIO = Decimal("0.000001")


class FigureOperand(NamedTuple):
    source: str
    ref: str = ""
    path: str = ""
    literal: str = ""

    @property
    def written(self) -> str:
        """A figure as it stands in the task, the name of a value, or a path into a result."""
        if self.source != "result":
            return self.literal or self.ref
        return f"{self.ref}{'' if self.path.startswith('[') else '.'}{self.path}"


class PlannedFigure(NamedTuple):
    """One named value; ``operands`` carry the numbers that ``value`` was computed from."""

    name: str
    operation: str
    operands: tuple[tuple[FigureOperand, Decimal], ...]

    @property
    def value(self) -> Decimal:
        return calculate(self.operation, [amount for _, amount in self.operands])

    def as_json(self) -> JsonObject:
        listed: list[Json] = [operand.written for operand, _ in self.operands]
        return {"name": self.name, "operation": self.operation, "operands": listed, "value": format(self.value, "f")}


def calculate(operation: str, amounts: Sequence[Decimal]) -> Decimal:
    """Exact; quotients and averages keep six places, half up. A percentage takes a base and a percent."""
    with localcontext() as context:
        context.prec, context.rounding = 50, ROUND_HALF_UP
        match operation:
            case "sum":
                return sum(amounts, Decimal(0))
            case "difference":
                return amounts[0] - sum(amounts[1:], Decimal(0))
            case "count":
                return Decimal(len(amounts))
            case "average":
                return (sum(amounts, Decimal(0)) / len(amounts)).quantize(_RATIO)
            case "percentage":
                return amounts[0] * amounts[1] / 100
            case "quotient":
                return (amounts[0] / amounts[1]).quantize(_RATIO)
            case "maximum":
                return max(amounts)
            case "minimum":
                return min(amounts)
            case "product":
                return amounts[0] * amounts[1]
            case _:
                raise ValueError(f"no operation {operation!r}")


def operand(record: FactRecord, field: str) -> tuple[FigureOperand, Decimal]:
    amount = number(record.fields[field])
    return FigureOperand("result", record.fact.ref, record.path_of(field)), amount if amount is not None else Decimal(0)
