"""The audit of figures: each is computed again from what its operands show, where all of that is shown."""

from decimal import Decimal

from services.planner.core.figures import calculate
from services.planner.core.records import number
from services.planner.core.request import Request, objects
from shared.domain.exact_json import Json, JsonObject


def audit(request: Request) -> JsonObject:
    """The structured output AUDIT. What cannot be computed again here is no issue: nothing is known against it."""
    issues: list[Json] = [
        {"value": str(value.get("name")), "why": f"its operands come to {again:f}"}
        for value in objects(request.section("values"))
        if (again := _again(value)) is not None and again != number(value.get("value"))
    ]
    return {"clean": not issues, "issues": issues}


def _again(value: JsonObject) -> Decimal | None:
    operands = objects(value.get("operands"))
    shown = [item for operand in operands for item in _found(operand)]
    amounts = [amount for amount in map(number, shown) if amount is not None]
    if len(amounts) < len(shown) or not amounts or any("note" in operand for operand in operands):
        return None
    try:
        return calculate(str(value.get("operation")), amounts)
    except (ValueError, ArithmeticError, IndexError):
        return None


def _found(operand: JsonObject) -> list[Json]:
    found = operand.get("found")
    return found if isinstance(found, list) else [found]
