"""The arithmetic audit: a value that does not come out again, or has no operand, is a problem."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.evaluate import audit, recompute
from services.executor.core.figures.operands import KnownFigures
from services.executor.core.session.values import NamedValue
from services.executor.core.tools.record_tree import NoSuchPath
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, from_fact, from_task, from_value, value

TASK = "Refund 20% of order O-7, at most $1,500.00, minus the fee of -5"
ORDER = fact({"total": Decimal("120.50"), "lines": [{"n": 1}, {"n": 2}], "note": "fragile"})
KNOWN = KnownFigures((ORDER,), (), (TASK,))


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
    (problem,) = audit([bad], KNOWN)
    assert problem.startswith("x: ")
    assert why in problem


@pytest.mark.promise("I2.audit")
@given(cents=st.integers(0, 10**9), off=st.integers(-100, 100).filter(bool))
def test_one_cent_off_is_found(cents: int, off: int) -> None:
    amount = fact({"amount": Decimal(cents).scaleb(-2)})
    stated = f"{Decimal(cents + off).scaleb(-2):f}"

    assert audit([value("x", "sum", stated, from_fact("amount"))], KnownFigures((amount,)))


def test_values_build_on_earlier_values_and_are_named_once() -> None:
    net = value("net", "sum", "120.50", from_fact("total"))
    half = value("half", "quotient", "60.25", from_value("net"), from_value("two"))
    two = value("two", "count", "2", from_fact("lines[*]"))

    assert audit([net, two, half], KNOWN) == ()
    assert audit([net, net], KNOWN) == ("net: named twice",)


def test_recomputing_follows_the_facts() -> None:
    stale = value("refund", "percentage", "24.10", from_fact("total"), from_task("20%"))

    (fresh,) = recompute([stale], KNOWN._replace(facts=[fact({"total": 200})]))
    assert Decimal(fresh.value) == 40
    with pytest.raises(NoSuchPath):
        recompute([stale], KNOWN._replace(facts=[fact({})]))
