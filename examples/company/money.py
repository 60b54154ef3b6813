"""Money of the example company: integer cents in the tables, decimal strings on the wire."""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

_DESCRIPTION = "US dollars with at most two decimal places, such as 120.50"


def _require_nonzero(amount: Decimal) -> Decimal:
    if not amount:
        raise ValueError("must not be zero")
    return amount


Amount = Annotated[
    Decimal,
    Field(gt=0, max_digits=12, decimal_places=2),
    PlainSerializer(lambda amount: format(amount, ".2f"), return_type=str, when_used="json"),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "description": _DESCRIPTION}),
]

SignedAmount = Annotated[
    Decimal,
    Field(max_digits=12, decimal_places=2),
    AfterValidator(_require_nonzero),
    PlainSerializer(lambda amount: format(amount, ".2f"), return_type=str, when_used="json"),
    WithJsonSchema({"type": "number", "description": f"{_DESCRIPTION}; negative if less"}),
]


def to_cents(amount: Decimal) -> int:
    """An amount of at most two decimal places in cents."""
    return int(amount.scaleb(2))


def spell(amount_cents: int) -> str:
    """Cents as a decimal string with two places: ``234000`` is ``"2340.00"``."""
    return format(Decimal(amount_cents).scaleb(-2), ".2f")
