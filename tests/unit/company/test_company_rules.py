"""The company's own rules: what it refuses, what its writes leave behind, its keys and the faults it has on purpose."""

from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from examples.company import ledger
from examples.company.books import CompanyBooks, KeyReused
from examples.company.catalogue import TOOLS
from examples.company.faults import ToolFault, ToolFaults
from examples.company.over_mcp import KEY, published_schema
from services.executor.core.tools.classes import classify_by_name
from shared.domain.exact_json import Json
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.company.books_stage import call


def fields(answer: Json, *names: str) -> tuple[Json, ...]:
    assert isinstance(answer, dict)
    return tuple(answer[name] for name in names)


@pytest.mark.promise("company.applied_writes_counted")
def test_every_applied_write_is_counted_with_its_canonical_arguments(books: CompanyBooks, database: Path) -> None:
    """The same call twice counts twice: the ledger counts, it does not deduplicate."""
    for amount in (10, "10.00"):
        call(books, "create_refund", order_id="ORD-2001", amount=amount, reason="damaged")

    assert ledger.count(database) == 2
    assert [write.arguments["amount"] for write in ledger.writes(database, "create_refund")] == ["10.00", "10.00"]


@each_row(
    ("tool", "arguments"),
    ("get_employee", {"employee_id": "EMP-1"}),
    ("get_expense", {"expense_id": "EXP-1"}),
    ("get_order", {"order_id": "ORD-1"}),
    ("get_refund", {"refund_id": "REF-1"}),
    ("get_reservation", {"reservation_id": "RSV-1"}),
    ("get_department_budget", {"department": "Mars"}),
)
def test_looking_up_what_is_not_there_is_a_negative_answer(
    books: CompanyBooks, tool: str, arguments: dict[str, JsonValue]
) -> None:
    assert fields(call(books, tool, **arguments), "found") == (False,)


@each_row(
    ("tool", "arguments", "count"),
    ("list_employees", {}, 14),
    ("list_employees", {"department": "finance"}, 2),
    ("search_employees", {"query": "designer"}, 1),
    ("list_expenses", {"status": "pending"}, 11),
    ("list_expenses", {"employee_id": "EMP-447"}, 2),
    ("list_expenses", {"employee_id": "nobody"}, 0),
    ("list_orders", {"customer_email": "ORDERS@brightcafe.example"}, 3),
    ("list_refunds", {"order_id": "ORD-2004"}, 2),
    ("list_budgets", {}, 5),
    ("list_reservations", {"department": "Marketing"}, 1),
)
def test_lists_are_filtered_and_may_be_empty(
    books: CompanyBooks, tool: str, arguments: dict[str, JsonValue], count: int
) -> None:
    found = call(books, tool, **arguments)

    assert isinstance(found, list)
    assert len(found) == count


@pytest.mark.parametrize("amount", [0, -1, "1.005", "much", "NaN", None, True, 10**12])
def test_an_amount_that_is_no_amount_is_refused(books: CompanyBooks, database: Path, amount: JsonValue) -> None:
    with pytest.raises(ValidationError):
        call(books, "create_refund", order_id="ORD-2001", amount=amount, reason="late")

    assert ledger.count(database) == 0


@pytest.mark.promise("company.honest")
def test_names_annotations_and_schemas_are_honest() -> None:
    """By name alone reads are reads, notices notices, and everything else changes; the annotation says the same."""
    assert len(TOOLS) >= 45
    for name, tool in TOOLS.items():
        expected = ToolClass.READ if tool.hints.read_only else ToolClass.CHANGE
        expected = ToolClass.NOTIFY if name.startswith(("notify_", "send_")) else expected
        assert (name, classify_by_name(name).tool_class) == (name, expected)
        assert tool.input_schema()["additionalProperties"] is False


def test_a_plain_copy_of_the_file_shows_every_write(books: CompanyBooks, database: Path, tmp_path: Path) -> None:
    """Each write is checkpointed into the main file at once."""
    call(books, "approve_expense", expense_id="EXP-1001")
    copy = tmp_path / "copy.db"
    copy.write_bytes(database.read_bytes())

    assert ledger.count(copy) == 1
    assert (ledger.row(copy, "expenses", "EXP-1001") or {})["status"] == "approved"


REFUND = {"order_id": "ORD-2001", "amount": "10.00", "reason": "late"}


def test_a_second_call_under_the_same_key_writes_nothing_and_a_key_of_another_call_is_refused(
    books: CompanyBooks, database: Path
) -> None:
    first = TOOLS["create_refund"].call(books, REFUND, "k1")
    before = ledger.count(database)
    assert TOOLS["create_refund"].call(books, REFUND, "k1") == first
    assert ledger.count(database) == before
    assert TOOLS["create_refund"].call(books, REFUND, "k2") != first
    TOOLS["create_refund"].call(books, REFUND, "k1")
    with pytest.raises(KeyReused):
        TOOLS["create_refund"].call(books, {**REFUND, "amount": "11.00"}, "k1")


def test_only_keyed_tools_take_a_key_and_only_over_mcp() -> None:
    for tool in TOOLS.values():
        properties = published_schema(tool)["properties"]
        assert isinstance(properties, dict)
        assert (KEY in properties) is tool.keyed
        own = tool.input_schema()["properties"]
        assert isinstance(own, dict)
        assert KEY not in own
        assert not (tool.keyed and tool.hints.read_only)


def test_a_fault_is_of_the_named_tool_alone_and_ends_after_so_many_calls() -> None:
    faults = ToolFaults({"get_order": ToolFault(fail="down", times=2)})

    assert [faults.take_fault("get_order").fail for _ in range(3)] == ["down", "down", None]
    faults = ToolFaults({"create_refund": ToolFault(claim_read_only=True)})

    assert faults.claims_read_only("create_refund")
    assert not faults.claims_read_only("cancel_order")
