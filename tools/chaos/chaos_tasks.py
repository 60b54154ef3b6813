"""What chaos asks of the worker: errands over rows of their own, so that every write can be told apart by content."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject

_FIRST_ROW = 20_000
_ORDER_CENTS = 900_000
_STAFF = ("EMP-118", "EMP-203", "EMP-219", "EMP-305", "EMP-311", "EMP-352", "EMP-447", "EMP-451", "EMP-460")
_CATEGORIES = ("meals", "training", "travel", "equipment", "software")
_REASONS = ("it arrived late", "it arrived broken", "a part was missing", "the colour was wrong")


class ChaosTaskKind(StrEnum):
    """The kinds of errands; each says below what it asks and what it may write."""

    CLAIM = "a claim within limits"
    CLAIM_AND_NOTICE = "a claim and a notice"
    TWO_CLAIMS = "two claims in one plan"
    REFUND = "a refund"
    TWO_REFUNDS = "two refunds in one plan"
    PHONE = "a changed number"
    APPROVED_CLAIM = "a claim that a manager approves"
    APPROVED_REFUND = "a refund that a manager approves"
    REJECTED_CLAIM = "a claim that a manager rejects"
    REJECTED_REFUND = "a refund that a manager rejects"
    BLOCKED_CLAIM = "a claim that the policy blocks"
    QUESTION = "a question"
    LEFT_WAITING = "a claim that nobody decides"
    CANCELED_CLAIM = "a claim that is canceled while it waits, and approved after that"
    FULL_REFUND = "a refund in full that a manager approves, of an order that changes meanwhile"
    SIBLINGS = "two claims, one of which a manager rejects"
    ALTERED_PLAN = "a refund whose stored plan somebody alters while a manager's approval waits"


class SeededRow(NamedTuple):
    """A row that must be in the company's books before the errand is run."""

    table: str
    cells: Mapping[str, str | int]


class RowChange(NamedTuple):
    """What somebody else does to a row while an approval waits."""

    table: str
    key: str
    cells: Mapping[str, str | int]


class PlanAlteration(NamedTuple):
    """What somebody who can write to Redis puts for a text of the stored plan while its approval waits."""

    before: str
    after: str


class IntendedWrite(NamedTuple):
    """One write that the errand asks for: its tool, and the arguments that tell it from every other write.

    ``others``: the arguments that do not tell it apart, and must be these all the same. ``begins``: how a text must
    begin that the worker may add its own sentence to, as to a notice whose change is only acknowledged.
    """

    tool: str
    telling: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...] = ()
    begins: tuple[tuple[str, str], ...] = ()

    @property
    def is_notice(self) -> bool:
        """Whether it only tells somebody something, which no read of the company shows."""
        return self.tool.startswith("notify")

    def is_made_by(self, tool: str, arguments: JsonObject) -> bool:
        """Whether a write is this one, right or wrong in the rest."""
        return tool == self.tool and all(_contains(arguments.get(key), value) for key, value in self.telling)

    def differences(self, arguments: JsonObject) -> tuple[str, ...]:
        """Every argument that is not as asked for: another value, none, or one that nobody asked for."""
        opening = dict(self.begins)
        wanted = {**dict(self.telling), **dict(self.others)}
        exact = {key: value for key, value in wanted.items() if key not in opening}
        given = {key: value for key, value in arguments.items() if value is not None}
        wrong = [key for key, value in exact.items() if not equal_values(given.get(key), value)]
        wrong += [key for key, value in opening.items() if not str(given.get(key)).startswith(value)]
        wrong += [key for key in given if key not in exact and key not in opening]
        return tuple(f"{key}: {given.get(key)!r} for {({**exact, **opening}).get(key)!r}" for key in wrong)


@dataclass(frozen=True)
class ChaosTask:
    """``decision``: what an approver answers; None where nobody should be asked, "" where nobody answers.

    ``meanwhile``: what is changed right before the approver's first answer.
    """

    kind: ChaosTaskKind
    text: str
    rows: tuple[SeededRow, ...]
    writes: tuple[IntendedWrite, ...] = ()
    decision: str | None = None
    meanwhile: RowChange | PlanAlteration | None = None


Maker = Callable[[int, Random], ChaosTask]


def make_task(kind: ChaosTaskKind, number: int, random: Random) -> ChaosTask:
    """The errand of that kind; ``number`` names its rows, which no other errand touches."""
    return _MAKERS[kind](number, random)


def equal_values(value: Json, wanted: Json) -> bool:
    """Whether two arguments are the same; an amount may be a number or a text with decimals."""
    if value == wanted:
        return True
    first, second = _number(value), _number(wanted)
    return first is not None and first == second


def equal_arguments(arguments: JsonObject, wanted: JsonObject) -> bool:
    """Whether two calls have the same arguments; one that is null is none."""
    first, second = ({key: value for key, value in one.items() if value is not None} for one in (arguments, wanted))
    return first.keys() == second.keys() and all(equal_values(first[key], second[key]) for key in first)


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    try:
        return Decimal(value)
    except InvalidOperation:
        return None


def _contains(value: Json, wanted: str) -> bool:
    return isinstance(value, str) and wanted in value


def _row_id(prefix: str, number: int, which: int = 0) -> str:
    return f"{prefix}-{_FIRST_ROW + 2 * number + which}"


def _expense(key: str, cents: int, category: str, random: Random) -> SeededRow:
    cells: dict[str, str | int] = {
        "id": key,
        "employee_id": random.choice(_STAFF),
        "amount_cents": cents,
        "category": category,
        "description": f"Expenses of {key}",
        "submitted_at": "2026-03-02T09:00:00.000+00:00",
    }
    return SeededRow("expenses", cells)


def _order(key: str, random: Random) -> SeededRow:
    cells: dict[str, str | int] = {
        "id": key,
        "customer_name": "Bright Cafe",
        "customer_email": "orders@brightcafe.example",
        "item": "Grinder",
        "quantity": random.randint(2, 9),
        "total_cents": _ORDER_CENTS,
        "refunded_cents": 0,
        "status": "delivered",
        "placed_at": "2026-03-02T09:00:00.000+00:00",
    }
    return SeededRow("orders", cells)


def _amount_within_limit(random: Random) -> int:
    return random.randint(500, 49_000)


def _amount_over_limit(random: Random) -> int:
    return random.randint(51_000, 90_000)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _approval(key: str) -> IntendedWrite:
    return IntendedWrite("approve_expense", (("expense_id", key),))


def _refund_of(key: str, amount: str, reason: str) -> IntendedWrite:
    return IntendedWrite("create_refund", (("order_id", key),), (("amount", amount), ("reason", reason)))


def _claim_maker(kind: ChaosTaskKind, decision: str | None, *, over: bool, category: str = "") -> Maker:
    """One claim; it is to be written unless somebody or something says no."""
    written = decision != "reject" and decision != "" and category != "alcohol"

    def make(number: int, random: Random) -> ChaosTask:
        key = _row_id("EXP", number)
        cents = _amount_over_limit(random) if over else _amount_within_limit(random)
        row = _expense(key, cents, category or random.choice(_CATEGORIES), random)
        writes = (_approval(key),) if written else ()
        return ChaosTask(kind, f"Approve expense claim {key}.", (row,), writes, decision)

    return make


def _claim_and_notice(number: int, random: Random) -> ChaosTask:
    key, whom = _row_id("EXP", number), random.choice(_STAFF)
    text = f"Approve expense claim {key} and notify {whom} that claim {key} is approved."
    row = _expense(key, _amount_within_limit(random), random.choice(_CATEGORIES), random)
    said = (("message", f"Claim {key} is approved"),)  # a clause of the task, told as a sentence
    notice = IntendedWrite("notify_employee", (("employee_id", whom), ("message", key)), begins=said)
    return ChaosTask(ChaosTaskKind.CLAIM_AND_NOTICE, text, (row,), (_approval(key), notice))


def _two_claims(number: int, random: Random) -> ChaosTask:
    first, second = _row_id("EXP", number), _row_id("EXP", number, 1)
    rows = tuple(
        _expense(key, _amount_within_limit(random), random.choice(_CATEGORIES), random) for key in (first, second)
    )
    text = f"Approve expense claims {first} and {second}."
    return ChaosTask(ChaosTaskKind.TWO_CLAIMS, text, rows, (_approval(first), _approval(second)))


def _refund_maker(kind: ChaosTaskKind, decision: str | None, *, over: bool) -> Maker:
    def make(number: int, random: Random) -> ChaosTask:
        key = _row_id("ORD", number)
        amount = _money(_amount_over_limit(random) if over else _amount_within_limit(random))
        reason = random.choice(_REASONS)
        text = f"Refund {amount} of order {key} because {reason}."
        writes = () if decision == "reject" else (_refund_of(key, amount, reason),)
        return ChaosTask(kind, text, (_order(key, random),), writes, decision)

    return make


def _two_refunds(number: int, random: Random) -> ChaosTask:
    keys = (_row_id("ORD", number), _row_id("ORD", number, 1))
    wanted = [(key, _money(_amount_within_limit(random)), random.choice(_REASONS)) for key in keys]
    rows = tuple(_order(key, random) for key in keys)
    asked = (f"Refund {amount} of order {key} because {reason}." for key, amount, reason in wanted)
    return ChaosTask(ChaosTaskKind.TWO_REFUNDS, " ".join(asked), rows, tuple(_refund_of(*one) for one in wanted))


def _full_refund(number: int, random: Random) -> ChaosTask:
    """What is to be written is what is left when the approver has said yes to exactly that."""
    key, reason = _row_id("ORD", number), random.choice(_REASONS)
    total, meanwhile = _amount_over_limit(random) + 10_000, random.randint(1_000, 9_000)
    row = _order(key, random)
    row = row._replace(cells={**row.cells, "total_cents": total})
    text = f"Refund order {key} in full because {reason}."
    write = _refund_of(key, _money(total - meanwhile), reason)
    change = RowChange("orders", key, {"refunded_cents": meanwhile})
    return ChaosTask(ChaosTaskKind.FULL_REFUND, text, (row,), (write,), "approve", change)


def _altered_plan(number: int, random: Random) -> ChaosTask:
    """What stands in the plan then is the whole of the order, which is a figure that was read.

    The approver said yes to less: whoever is asked again about the altered plan says no.
    """
    key, reason = _row_id("ORD", number), random.choice(_REASONS)
    amount = _money(_amount_over_limit(random) // 10 * 10 + 7)  # a figure that is written in one way only
    text = f"Refund {amount} of order {key} because {reason}."
    write, row = _refund_of(key, amount, reason), _order(key, random)
    alteration = PlanAlteration(amount, _money(_ORDER_CENTS))
    return ChaosTask(ChaosTaskKind.ALTERED_PLAN, text, (row,), (write,), "approve", alteration)


def _canceled_claim(number: int, random: Random) -> ChaosTask:
    """Nothing is to be written, although somebody says yes: the client took the task back before."""
    asked = _claim_maker(ChaosTaskKind.CANCELED_CLAIM, "approve", over=True)(number, random)
    return replace(asked, writes=())


def _siblings(number: int, random: Random) -> ChaosTask:
    """The first claim needs nobody, the second a manager, who says no to the plan."""
    first, second = _row_id("EXP", number), _row_id("EXP", number, 1)
    rows = (
        _expense(first, _amount_within_limit(random), random.choice(_CATEGORIES), random),
        _expense(second, _amount_over_limit(random), random.choice(_CATEGORIES), random),
    )
    return ChaosTask(ChaosTaskKind.SIBLINGS, f"Approve expense claims {first} and {second}.", rows, (), "reject")


def _phone(number: int, random: Random) -> ChaosTask:
    key = _row_id("EMP", number)
    cells: dict[str, str | int] = {
        "id": key,
        "name": f"Temp {key}",
        "email": f"{key.lower()}@company.example",
        "phone": "+1 555 0100",
        "title": "Temp",
        "department": random.choice(("Operations", "Product", "Engineering")),
    }
    phone = f"+1 555 {random.randint(1000, 9999)}"
    text = f"Change the phone number of employee {key} to {phone}."
    changed = IntendedWrite("update_employee_phone", (("employee_id", key),), (("phone", phone),))
    return ChaosTask(ChaosTaskKind.PHONE, text, (SeededRow("employees", cells),), (changed,))


def _question(number: int, random: Random) -> ChaosTask:
    key = _row_id("EXP", number)
    row = _expense(key, _amount_within_limit(random), random.choice(_CATEGORIES), random)
    return ChaosTask(ChaosTaskKind.QUESTION, f"What is the amount of expense claim {key}?", (row,))


_MAKERS: Mapping[ChaosTaskKind, Maker] = MappingProxyType(
    {
        ChaosTaskKind.CLAIM: _claim_maker(ChaosTaskKind.CLAIM, None, over=False),
        ChaosTaskKind.CLAIM_AND_NOTICE: _claim_and_notice,
        ChaosTaskKind.TWO_CLAIMS: _two_claims,
        ChaosTaskKind.REFUND: _refund_maker(ChaosTaskKind.REFUND, None, over=False),
        ChaosTaskKind.TWO_REFUNDS: _two_refunds,
        ChaosTaskKind.PHONE: _phone,
        ChaosTaskKind.APPROVED_CLAIM: _claim_maker(ChaosTaskKind.APPROVED_CLAIM, "approve", over=True),
        ChaosTaskKind.APPROVED_REFUND: _refund_maker(ChaosTaskKind.APPROVED_REFUND, "approve", over=True),
        ChaosTaskKind.REJECTED_CLAIM: _claim_maker(ChaosTaskKind.REJECTED_CLAIM, "reject", over=True),
        ChaosTaskKind.REJECTED_REFUND: _refund_maker(ChaosTaskKind.REJECTED_REFUND, "reject", over=True),
        ChaosTaskKind.BLOCKED_CLAIM: _claim_maker(ChaosTaskKind.BLOCKED_CLAIM, None, over=False, category="alcohol"),
        ChaosTaskKind.QUESTION: _question,
        ChaosTaskKind.LEFT_WAITING: _claim_maker(ChaosTaskKind.LEFT_WAITING, "", over=True),
        ChaosTaskKind.CANCELED_CLAIM: _canceled_claim,
        ChaosTaskKind.FULL_REFUND: _full_refund,
        ChaosTaskKind.SIBLINGS: _siblings,
        ChaosTaskKind.ALTERED_PLAN: _altered_plan,
    }
)
