"""``calculate``: operands are looked up, the executor fills in the value, and a mistake is a sentence to mend it by."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from services.executor.core.figures.calculate import (
    CALCULATE_DEFINITION,
    calculate,
    define_calculate_tool,
    describe_value,
)
from services.executor.core.figures.calculator import CannotCalculate, MadeToolNotRun, MadeToolOutcome, MadeToolResults
from services.executor.core.figures.evaluate import find_wrong_values, recompute_values
from services.executor.core.figures.finance import CALCULATORS
from services.executor.core.figures.operands import OperandSources
from services.executor.core.session.values import NamedValue
from shared.contracts.made_tool import MadeTool
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact
from tests.unit.executor_core.test_finance_tables import WORKED

TODAY = date(2026, 1, 20)
TASK = (
    "Refund 20% of $1,500.00 from 15 January 2026, one third to Ann, 12 months, 30-day terms, half of it monthly. "
    "Is more than 50,000 left of 1.234,50 EUR? The fee is -5; 2.5 million; order O-7"
)
INVOICES: Json = {
    "items": [
        {"id": "I-1", "amount": "100.00", "vendor": "Acme", "status": "open", "due_date": "2026-01-10", "qty": 3},
        {"id": "I-2", "amount": "250.50", "vendor": "Bolt", "status": "Paid", "due_date": "2026-01-05", "qty": 1},
        {"id": "I-3", "amount": None, "vendor": "Acme", "status": "open", "due_date": "2026-02-01", "qty": 2},
        {"id": "I-4", "amount": "75.25", "vendor": "Acme", "status": "open", "due_date": "19.01.2026", "qty": 9},
    ],
    "total": 4,
}
BUDGET: Json = {
    "budget": {"remaining": "72,000.00", "currency": "USD", "limit": {"amount": "80000", "currency": "USD"}},
    "rate": "7.5",
    "amount_cents": 12345,
    "duration_minutes": 90,
    "notes": "pay 777.77 at once",
    "opened": "2025-12-31T22:00:00Z",
    "closed": "2026-01-01T01:30:00Z",
    "active": True,
    "memo": "",
}
MIXED: Json = [{"total": 51, "currency": "EUR", "state": "a"}, {"total": 71, "currency": "USD", "state": "b"}]
KNOWN = OperandSources((fact(INVOICES, "r1"), fact(BUDGET, "r2"), fact(MIXED, "r3")), (), (TASK,), TODAY)


def asked(operation: str, *operands: str, known: OperandSources = KNOWN, **more: Json) -> NamedValue:
    given: JsonObject = {"operation": operation, "operands": list(operands), **more}
    value = calculate(given, known)
    assert find_wrong_values([value], known) == {}
    assert recompute_values([value], known) == (value,)
    return value


def where(field: str, sign: str, value: str = "") -> Json:
    return [{"field": field, "is": sign, "value": value}]


@each_row(
    ("operation", "operands", "result"),
    ("sum", ["r1.items[*].amount"], "425.75"),
    ("sum", ["r1.amount"], "425.75"),
    ("sum", ["r1[status=open].amount"], "175.25"),
    ("count", ["r1"], "4"),
    ("count_distinct", ["r1.items[*].vendor"], "2"),
    ("which_has_most", ["r1.items[*].amount"], "I-2"),
    ("sum_of_products", ["r1.items[qty<3].qty", "r1.items[qty<3].qty"], "5"),
    ("percentage", ["1,500.00", "0.2"], "300.00"),
    ("product", ["1500", "1/3"], "500"),
    ("decrease_by_percent", ["1500", "20%"], "1200"),
    ("percent_share", ["20", "1500"], "1.333333"),
    ("percent_change", ["1500", "50,000"], "3233.333333"),
    ("difference", ["r2.budget.remaining", "50000"], "22000.00"),
    ("cents_to_units", ["r2.amount_cents", "EUR"], "123.45"),
    ("minutes_to_hours", ["r2.duration_minutes"], "1.5"),
    ("hours_between", ["r2.opened", "r2.closed"], "3.5"),
    ("days_between", ["2026-01-15", "today"], "5"),
    ("end_of_month", ["today"], "2026-01-31"),
    ("is_less", ["r1.items[0].due_date", "today"], "true"),
    ("is_overdue", ["r1.items[0].due_date"], "true"),
    ("all_of", ["r2.active"], "true"),
    ("none_of", ["r2.active"], "false"),
)
def test_an_operation_comes_to_its_value_and_can_be_computed_again(
    operation: str, operands: list[str], result: str
) -> None:
    assert asked(operation, *operands).value == result


@each_row(
    ("conditions", "result"),
    (where("qty", ">=", "1") + where("vendor", "=", "Acme"), "3"),  # type: ignore[operator]  # both are lists
    (where("due_date", "<", "15 January 2026"), "2"),
    (where("due_date", "overdue"), "2"),
    (where("vendor", "contains", "cm"), "3"),
    (where("amount", "is empty"), "1"),
    (where("amount", "is not empty"), "3"),
    (where("amount", ">", "qty"), "3"),
    ("status = paid", "1"),
)
def test_conditions_choose_the_rows_that_count(conditions: Json, result: str) -> None:
    assert asked("count", "r1", where=conditions).value == result


@pytest.mark.promise("money.reference")
def test_every_calculator_is_reached_from_plain_operands_of_the_task() -> None:
    for operation, operands, result in WORKED:
        figures = operands.split()
        if CALCULATORS[operation].takes_dates:
            figures = [date.fromordinal(int(figure)).isoformat() for figure in figures]
        known = OperandSources((), (), ("The figures are " + " and ".join(figures),), TODAY)
        assert Decimal(asked(operation, *figures, known=known).value) == Decimal(result), operation


def test_groups_are_summed_and_compared_by_name() -> None:
    sums = asked("sum", "r1.items[*].amount", by="vendor", name="by vendor")
    assert describe_value(sums)["value"] == {"Acme": "175.25", "Bolt": "250.50"}
    known = KNOWN._replace(values=(sums,))
    assert asked("difference", "by_vendor.Bolt", "by_vendor.Acme", known=known).value == "75.25"
    assert asked("which_has_least", "by_vendor", known=known).value == "Acme"
    assert asked("which_has_most", "r1.items[*].amount", by="vendor").value == "Bolt"
    assert asked("which_has_most", "r1", by="vendor").value == "Acme"


def test_a_sought_row_is_named_by_the_field_that_is_asked_for_and_ties_are_told() -> None:
    found = asked("which_has_most", "r1.items[*].qty", give="due date")
    assert (found.kind, found.value) == ("date", "2026-01-19")
    ordered = asked("which_has_most", "r1.items[*].qty", give="due date", date_order="day_first")
    assert (ordered.kind, ordered.value) == ("date", "2026-01-19")
    known = OperandSources((fact([{"id": "A", "n": 2}, {"id": "B", "n": 2}], "r1"),))
    assert "as much: B" in asked("which_has_most", "r1.n", known=known).note


def test_an_earlier_value_is_an_operand_with_its_currency() -> None:
    left = asked("difference", "r2.budget.remaining", "50,000", name="left over")
    assert (left.name, left.currency) == ("left_over", "USD")
    known = KNOWN._replace(values=(left,))
    assert asked("is_at_least", "left_over", "1500", known=known).value == "true"
    assert asked("percentage", "left over", "20%", known=known).currency == "USD"
    with pytest.raises(CannotCalculate, match="different currencies"):
        asked("sum", "left_over", "r3[0].total", known=known)


@each_row(
    ("operands", "unit"),
    (["r2.amount_cents", "3"], "cents"),
    (["r2.amount_cents", "r1.items[0].qty"], "cents"),
    (["r2.amount_cents", "r1.items[0].amount"], ""),  # how often one amount goes into another
    (["r2.amount_cents", "r2.amount_cents"], ""),
)
def test_what_cents_are_shared_out_to_is_in_cents(operands: list[str], unit: str) -> None:
    assert asked("quotient", *operands).unit == unit


def test_a_share_is_told_from_its_percentage() -> None:
    """The task's 20 % is 0.2 where figures are compared, and 20 where a percentage is taken."""
    known = KNOWN._replace(facts=(fact({"discount": "0.25", "net": 200}, "r1"),))
    assert asked("is_more", "r1.discount", "0.2", known=known).value == "true"
    assert asked("vat_on_net", "r1.net", "0.2", known=known).value == "40.00"
    assert asked("product", "r1.net", "20", known=known).value == "40"


def test_a_figure_in_two_currencies_of_the_task_has_none_and_a_name_is_never_taken_twice() -> None:
    known = OperandSources((), (), ("Change $500 into 500 EUR", "and 90 GBP"), TODAY)
    assert asked("sum", "500", known=known).currency == ""
    assert asked("sum", "90", known=known).currency == "GBP"
    first = asked("sum", "r1.amount", name="total")
    again = calculate({"operation": "count", "operands": ["r1"], "name": "Total"}, KNOWN._replace(values=(first,)))
    assert again.name == "Total_2"


@each_row(
    ("task", "limit", "result"),
    ("all of January 2026", "2026-01-31", "3"),
    ("in 2026", "2026-12-31", "4"),
    ("in Q1 2026", "2026-03-31", "4"),
    ("this month", "2026-02-01", "3"),
    ("by next week", "2026-01-26", "3"),
    ("due before 19 January", "2026-01-19", "2"),
)
def test_the_limits_of_a_period_that_the_task_names_are_stated(task: str, limit: str, result: str) -> None:
    known = KNOWN._replace(texts=(task,))
    assert asked("count", "r1", where=where("due_date", "<", limit), known=known).value == result
    with pytest.raises(CannotCalculate, match="stands neither"):
        asked("count", "r1", where=where("due_date", "<", "2019-05-07"), known=known)


def test_made_tools_are_further_operations() -> None:
    own = MadeTool(
        name="markup", purpose="with a markup", arguments=("net", "percent"), result="money", code="c",
        code_sha256="s", cases=(), made_at=datetime(2026, 1, 1, tzinfo=UTC), task_id="t",
    )  # fmt: skip
    made = MadeToolResults([own])
    given: JsonObject = {"operation": "markup", "operands": ["1500", "12"]}
    assert "markup" in dumps(define_calculate_tool(made).input_schema)  # type: ignore[arg-type]  # a schema is JSON
    with pytest.raises(MadeToolNotRun) as missing:
        calculate(given, KNOWN, made)
    made.add_outcome(missing.value.call, MadeToolOutcome("1680.005"))
    value = calculate(given, KNOWN, made)
    assert (value.value, value.made_by) == ("1680.01", own.reference)
    assert find_wrong_values([value], KNOWN, made) == {}


@each_row(
    ("operation", "operands", "more", "why"),
    ("sum", ["777"], {}, "stands neither in the task nor in a result"),
    ("sum", ["777.77"], {}, "only within a text of r2"),
    ("sum", ["r9.total"], {}, "known references: r1, r2, r3"),
    ("sum", ["r1.items[*].price"], {}, "there are amount, due_date, id, qty, status, vendor"),
    ("sum", ["r1.items[*].vendor"], {}, "needs figures"),
    ("sum", ["r3[*].total"], {}, "different currencies"),
    ("sum", ["r2.amount_cents", "1500"], {}, "cents_to_units"),
    ("difference", ["1500", "20%"], {}, "decrease_by_percent"),
    ("loan_payment", ["1500", "20%"], {}, "principal, yearly %, months, month"),
    ("sum", ["r1.amount"], {"where": where("colour", "=", "red")}, "no row has the field 'colour'"),
    ("sum", ["r1.amount"], {"where": where("vendor", ">", "12")}, "cannot be ordered"),
    ("sum", ["r1.amount"], {"by": "colour"}, "no row has the field 'colour' to group by"),
    ("difference", ["r1.items[0].due_date", "12"], {}, "days_between"),
    ("days_between", ["today", "r1.items[0].id"], {}, "needs dates"),
)
def test_what_does_not_fit_is_a_sentence_that_says_what_to_do(
    operation: str, operands: list[str], more: JsonObject, why: str
) -> None:
    with pytest.raises(CannotCalculate, match=why.replace("%", ".")):
        calculate({"operation": operation, "operands": [*operands], **more}, KNOWN)


def test_dates_whose_order_nothing_settles_are_asked_about() -> None:
    known = OperandSources((fact([{"due": "03/04/2026"}, {"due": "05/04/2026"}], "r1"),), (), (), TODAY)
    with pytest.raises(CannotCalculate, match="date_order"):
        asked("minimum", "r1.due", known=known)
    assert asked("minimum", "r1.due", known=known, date_order="day_first").value == "2026-04-03"
    settled = OperandSources((fact([{"due": "03/04/2026"}, {"due": "25/04/2026"}], "r1"),), (), (), TODAY)
    assert asked("minimum", "r1.due", known=settled).value == "2026-04-03"


def test_rows_without_a_figure_are_left_out_and_told_of() -> None:
    value = asked("sum", "r1.items[*].amount")
    assert value.note == "1 rows have nothing in r1.items[*].amount and are left out"
    partly = fact(INVOICES, "r1").model_copy(update={"note": "NOT all rows: 4 of 90"})
    assert "NOT all rows" in asked("sum", "r1.amount", known=OperandSources((partly,))).note


def test_a_plain_figure_keeps_one_source_by_what_identifies_its_row() -> None:
    (operand,) = asked("sum", "250.5").operands
    assert (operand.source, operand.ref, operand.path) == ("result", "r1", "items[id='I-2'].amount")
    (dollars,) = asked("sum", "1500").operands
    assert (dollars.source, dollars.literal) == ("task", "$1,500.00")


def test_recomputing_follows_rows_that_moved_and_limits_that_changed() -> None:
    own = asked("sum", "250.5")
    late = asked("count", "r1", where=where("amount", ">", "r2.rate"))
    moved: Json = [{"id": "I-9", "amount": "120", "qty": 1}, {"id": "I-2", "amount": "251", "qty": 1}]
    facts = (fact({"items": moved}, "r1"), fact({"rate": "130"}, "r2"))
    values = recompute_values([own, late], KNOWN._replace(facts=facts))
    assert [value.value for value in values] == ["251", "1"]


@pytest.mark.promise("I2.audit")
@each_row(
    "forged",
    {"operands": [{"source": "constant", "literal": "777"}]},
    {"operands": [{"source": "task", "literal": "777"}]},
    {"value": "425.76"},
    {"kind": "text"},
)
def test_a_value_that_does_not_come_out_again_is_found(forged: JsonObject) -> None:
    good = asked("sum", "r1.amount", name="total")
    bad = NamedValue.model_validate({**good.model_dump(), **forged})
    assert len(find_wrong_values([bad], KNOWN)) == 1


def test_a_value_of_an_older_journal_is_read_as_a_decimal() -> None:
    old = NamedValue.model_validate_json(
        '{"name":"t","operation":"sum","operands":[{"source":"result","ref":"r2","path":"rate"}],"value":"7.5"}'
    )
    assert (old.kind, old.number) == ("decimal", Decimal("7.5"))
    assert find_wrong_values([old], KNOWN) == {}


def test_the_tool_is_described_briefly_and_its_schema_is_closed() -> None:
    assert len(CALCULATE_DEFINITION.description) <= 1200
    assert CALCULATE_DEFINITION.input_schema["additionalProperties"] is False
    text = dumps(CALCULATE_DEFINITION.input_schema)  # type: ignore[arg-type]  # a schema is JSON
    assert all(re.search(rf"\b{name}[(/]", text) for name in CALCULATORS)


@each_row("operands", ['["r1.items[*].amount"]', [{"ref": "r1", "path": "items[*].amount"}]])
def test_operands_are_read_however_a_model_wraps_them(operands: Json) -> None:
    assert calculate({"operation": "Sum", "operands": operands}, KNOWN).value == "425.75"


@each_row(
    ("path", "count"),
    ("r1.orders[*].tests[*]", "3"),  # objects under names that are no ids, in each row
    ("r1.orders.7.tests[*].value", "2"),
)
def test_objects_under_names_are_rows_where_the_path_says_so(path: str, count: str) -> None:
    tests: Json = {"zinc": {"value": 4}, "iron": {"value": 5}}
    rows: Json = {"orders": {"7": {"tests": tests}, "8": {"tests": {"zinc": {"value": 6}}}}}
    value = calculate(
        {"operation": "count", "operands": [path], "name": "n"}, KNOWN._replace(facts=(fact(rows, "r1"),))
    )
    assert value.value == count


@each_row(
    "rows",
    [{"k": "a", "d": "2 EUR"}, {"k": "b", "d": "90 USD"}],
    [{"k": "a", "d": "5 kg"}, {"k": "b", "d": "900 g"}, {"k": "b", "d": "900 g"}],
    [{"k": "a", "d": "2 hours"}, {"k": "b", "d": "90 minutes"}],
    [{"k": "EUR", "d": "100 EUR"}, {"k": "JPY", "d": "5000 JPY"}],
)
def test_groups_in_several_currencies_or_units_are_not_compared(rows: list[JsonObject]) -> None:
    known = KNOWN._replace(facts=(fact([*rows], "r1"),))
    with pytest.raises(CannotCalculate, match="convert them first"):
        asked("which_has_most", "r1[*].d", by="k", known=known)
    if rows[0]["k"] == "a":
        with pytest.raises(CannotCalculate, match=r"differ in (currency|unit)"):
            asked("sum", "r1[*].d", by="k", known=known)


def test_a_group_for_each_currency_is_what_was_asked_for() -> None:
    rows: Json = [{"d": "2 EUR", "c": "EUR"}, {"d": "90 USD", "c": "USD"}]
    assert asked("sum", "r1[*].d", by="c", known=KNOWN._replace(facts=(fact(rows, "r1"),))).value == dumps(
        {"EUR": "2", "USD": "90"}
    )


@each_row(("field", "sign", "other"), ("paid", ">", "due"), ("due", "<", "paid"))
def test_a_date_that_can_be_two_leaves_no_row_out_on_either_side(field: str, sign: str, other: str) -> None:
    rows: list[Json] = [
        {"due": "2026-03-01", "paid": day, "d": paid} for day, paid in (("04/03/2026", 10), ("2026-03-09", 1))
    ]
    known = KNOWN._replace(facts=(fact(rows, "r1"),))
    condition = where(field, sign, other)
    with pytest.raises(CannotCalculate, match="date_order"):
        asked("sum", "r1[*].d", where=condition, known=known)
    assert asked("sum", "r1[*].d", where=condition, known=known, date_order="day_first").value == "11"
    told = KNOWN._replace(facts=(fact([*rows, {"due": "2026-01-20", "paid": "25/01/2026", "d": 100}], "r1"),))
    assert asked("sum", "r1[*].d", where=condition, known=told).value == "111"
