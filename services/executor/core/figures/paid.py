"""Whether a record says that it is paid, or that nothing is owed on it any more."""

from collections.abc import Mapping

from services.executor.core.figures.cells import plain_name
from services.executor.core.figures.conditions import is_empty
from services.executor.core.figures.written import read_amount
from shared.domain.exact_json import Json

_FLAGS = frozenset({"paid", "is paid", "settled", "is settled", "fully paid"})
_TIMES = frozenset({"paid at", "paid on", "paid date", "date paid", "payment date", "settled at", "settled on"})
_STATES = frozenset({"status", "state", "payment status", "payment state", "invoice status"})
_DONE = frozenset(
    {"paid", "settled", "paid in full", "fully paid", "closed", "cancelled", "canceled", "void", "voided"}
    | {"written off", "written_off", "credited", "refunded"}
)
_OWED = frozenset({"balance", "balance due", "amount due", "outstanding", "amount outstanding", "open amount"})


def is_paid(record: Mapping[str, Json]) -> bool:
    """By a flag, a date of payment, a status, or a balance of 0."""
    return any(_says_paid(plain_name(name), value) for name, value in record.items())


def _says_paid(name: str, value: Json) -> bool:
    word = value.strip().casefold() if isinstance(value, str) else ""
    if name in _FLAGS:
        return value is True or word in ("true", "yes", "paid")
    if name in _TIMES:
        return not is_empty(value)
    if name in _STATES:
        return word in _DONE
    amount = read_amount(value) if name in _OWED else None
    return amount is not None and amount.number == 0
