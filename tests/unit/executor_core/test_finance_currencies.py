"""The arithmetic audit: a value comes out again from operands in their currencies, with dates and provenance."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.evaluate import recheck_figures, recompute
from services.executor.core.figures.operands import KnownFigures
from services.executor.core.figures.vocabulary import is_currency, one_currency, places
from services.executor.core.session.values import NamedValue, Operand
from services.executor.core.tools.record_tree import NoSuchPath
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, from_fact, from_task, from_value, value

TASK = (
    "Prorate the 1000 JPY plan: 1 of 3 months, from 2026-01-05 to 2026-01-12. Invoices reach $45,000; this one $6,000"
)
PLAN = fact({"price": 1000, "yen": "JPY", "dinar": "KWD", "fee": "12 USD", "tip": "€5", "lines": [1, 2, 3, 4]})
KNOWN = KnownFigures((PLAN,), (), (TASK,))
THIRD = (from_task("1"), from_task("3"))


@pytest.mark.promise("money.currency")
@each_row(
    ("stated", "operands"),
    [
        ("333.33", (from_fact("price"), *THIRD)),
        ("333", (from_fact("price"), *THIRD, from_fact("yen"))),
        ("333.333", (from_fact("dinar"), from_fact("price"), *THIRD)),
        ("333", (from_fact("price"), *THIRD, from_task("JPY"))),
    ],
)
def test_a_split_is_in_the_minor_unit_of_its_currency(stated: str, operands: tuple[Operand, ...]) -> None:
    assert recheck_figures([value("first", "split_part", stated, *operands)], KNOWN) == ()


@pytest.mark.promise("money.currency")
@each_row("operation", ["sum", "net_price_delta", "maximum"])
def test_amounts_in_two_currencies_are_never_put_together(operation: str) -> None:
    (problem,) = recheck_figures([value("both", operation, "17", from_fact("fee"), from_fact("tip"))], KNOWN)
    assert problem.startswith(f"both: {operation} of amounts in different currencies (12 USD, €5): convert them first")


@pytest.mark.promise("money.currency")
def test_a_currency_that_nobody_named_is_no_operand() -> None:
    (problem,) = recheck_figures([value("x", "split_part", "333", from_fact("price"), *THIRD, from_task("KRW"))], KNOWN)
    assert "states no figure 'KRW'" in problem


@pytest.mark.promise("money.currency")
@each_row(("code", "digits"), [("USD", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("", 2)])
def test_minor_units_follow_iso_4217(code: str, digits: int) -> None:
    assert places(code) == digits
    assert is_currency(code) == bool(code)


@pytest.mark.promise("money.currency")
@each_row(
    ("amounts", "code"),
    [
        (["USD 5"], "USD"), (["€5"], "EUR"), (["$5"], ""), (["ABC 5"], ""), ([5], ""), (["$5", "CAD"], "CAD"),
        (["¥5", 3, "JPY"], "JPY"), (["$5", "€5"], None), (["$5", "KWD"], None), (["5 EUR", "5 USD"], None),
    ],
)  # fmt: skip
def test_the_currency_of_amounts_is_the_one_that_fits_how_all_are_written(
    amounts: list[Json], code: str | None
) -> None:
    assert one_currency(amounts) == code


@pytest.mark.promise("I2.audit")
@each_row(
    "good",
    [
        value("days", "business_days", "5", from_task("2026-01-05"), from_task("2026-01-12")),
        value("credit", "sla_credit", "60", from_task("$6,000"), from_fact("lines[*]")),
        value("slope", "regression_slope", "1", from_fact("lines[*]"), from_fact("lines[*]")),
    ],
)
def test_a_calculator_is_recomputed_from_dates_and_lists_with_their_provenance(good: NamedValue) -> None:
    """The credit is of the invoice that is named, not of the largest amount in the text; so is the cap of its rule."""
    assert recheck_figures([good], KNOWN) == ()


@pytest.mark.promise("I2.audit")
def test_a_wrong_schedule_figure_is_found_and_values_chain() -> None:
    loan = fact({"principal": Decimal(2500), "rate": "8.24", "months": 12, "first": 1})
    operands = [from_fact(path) for path in ("principal", "rate", "months", "first")]
    interest = value("interest", "loan_interest", "17.17", *operands)

    known = KnownFigures((loan,))
    assert recheck_figures([interest, value("owed", "round_money", "17.17", from_value("interest"))], known) == ()
    assert recheck_figures([value("interest", "loan_interest", "17.18", *operands)], known)


REFUND = "Refund 20% of order O-7, at most $1,500.00, minus the fee of -5"
ORDER = fact({"total": Decimal("120.50"), "lines": [{"n": 1}, {"n": 2}], "note": "fragile"})
ORDERED = KnownFigures((ORDER,), (), (REFUND,))


@pytest.mark.promise("I2.audit")
@each_row(
    ("bad", "why"),
    [
        (value("x", "sum", "120.51", from_fact("total")), "is 120.50, not 120.51"),
        (value("x", "sum", "7", from_task("7")), "states no figure"),
        (value("x", "sum", "500", from_task("500")), "states no figure"),
        (value("x", "sum", "5", from_task("5")), "states no figure"),
        (value("x", "sum", "1", from_fact("note")), "is none"),
        (value("x", "sum", "1", from_fact("tax")), "no tax there"),
        (value("x", "sum", "1", from_fact("total", "f9")), "no fact has"),
        (value("x", "sum", "1", from_value("later")), "no earlier value"),
        (value("x", "power", "1", from_fact("total")), "unknown operation"),
        (value("x", "quotient", "0", from_fact("total"), from_task("0")), "states no figure"),
        (value("x", "sum", "a lot", from_fact("total")), "x:"),
    ],
)
def test_a_value_that_does_not_come_out_is_a_problem_with_its_name(bad: NamedValue, why: str) -> None:
    (problem,) = recheck_figures([bad], ORDERED)
    assert problem.startswith("x: ")
    assert why in problem


@pytest.mark.promise("I2.audit")
@given(cents=st.integers(0, 10**9), off=st.integers(-100, 100).filter(bool))
def test_one_cent_off_is_found(cents: int, off: int) -> None:
    amount = fact({"amount": Decimal(cents).scaleb(-2)})
    stated = f"{Decimal(cents + off).scaleb(-2):f}"

    assert recheck_figures([value("x", "sum", stated, from_fact("amount"))], KnownFigures((amount,)))


def test_values_build_on_earlier_values_are_named_once_and_recomputing_follows_the_facts() -> None:
    net = value("net", "sum", "120.50", from_fact("total"))
    half = value("half", "quotient", "60.25", from_value("net"), from_value("two"))
    two = value("two", "count", "2", from_fact("lines[*]"))

    assert recheck_figures([net, two, half], ORDERED) == ()
    assert recheck_figures([net, net], ORDERED) == ("net: named twice",)
    stale = value("refund", "percentage", "24.10", from_fact("total"), from_task("20%"))

    (fresh,) = recompute([stale], ORDERED._replace(facts=[fact({"total": 200})]))
    assert Decimal(fresh.value) == 40
    with pytest.raises(NoSuchPath):
        recompute([stale], ORDERED._replace(facts=[fact({})]))
