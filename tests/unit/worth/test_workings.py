"""The calculations that the bench's perfect model names give the figures that they are meant to give."""

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from services.executor.core.figures.calculate import calculate
from services.executor.core.figures.operands import KnownFigures
from services.executor.core.session.values import Fact, NamedValue
from shared.domain.exact_json import dumps, loads, loads_object
from tools.bench.worth.tabular import ShownResult
from tools.bench.worth.workings import Working, WorkingSearch
from tools.bench.worth.worlds.data import Json

TODAY = date(2026, 3, 12)
INVOICES: Json = {
    "items": [
        {"invoice_id": "I-1", "status": "open", "due_on": "2026-01-10", "total": 120.5, "paid": 20, "seats": 3},
        {"invoice_id": "I-2", "status": "open", "due_on": "2026-04-10", "total": 300, "paid": 0, "seats": 5},
        {"invoice_id": "I-3", "status": "paid", "due_on": "2026-02-01", "total": 77, "paid": 77, "seats": 7},
    ]
}
KEYED: Json = {
    "items": {"A-1": {"owner": "x", "balance": 500}, "A-2": {"owner": "y", "balance": 1200}},
    "page": 1,
}
CLAIM: Json = {"claim": {"claim_id": "C-9", "estimate": 9200, "pallets": 8}}


def search_figure(figure: str, text: str = "Look at it.") -> Working | None:
    shown = (ShownResult("r1", INVOICES), ShownResult("r2", KEYED), ShownResult("r3", CLAIM))
    return WorkingSearch(text, shown, TODAY, "%Y-%m-%d", in_cents=False).find("wanted", Fraction(figure))


def calculate_all(working: Working, text: str) -> NamedValue:
    """The last value, as the worker's own calculator gives it."""
    results = {"r1": INVOICES, "r2": KEYED, "r3": CLAIM}
    facts = [
        Fact(ref=ref, connection_id="c", tool="t", arguments_json="{}", result_json=dumps(loads(_write(value))))
        for ref, value in results.items()
    ]
    values: list[NamedValue] = []
    for step in working:
        values.append(calculate(loads_object(_write(step)), KnownFigures(facts, values, (text,), TODAY)))
    return values[-1]


def _write(value: object) -> str:
    return json.dumps(value)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        pytest.param("497.5", "What is it in all?", id="the sum of a column"),
        pytest.param("420.5", "What is open?", id="the sum of some rows"),
        pytest.param("197.5", "What is overdue?", id="the sum of what is due"),
        pytest.param("1700", "What is on all accounts?", id="the sum over keyed records"),
        pytest.param("4600", "Pay half of it.", id="a share"),
        pytest.param("10120", "Raise it by 10 percent.", id="raised by a share"),
        pytest.param("8000", "Take off what A-2 has.", id="a difference"),
        pytest.param("7200", "Take 2,000 off.", id="less a number of the task"),
        pytest.param("2300", "Claim two of the pallets.", id="in proportion"),
        pytest.param("2400.5", "Seats times total?", id="a sum of products"),
    ],
)
def test_the_calculator_gives_the_figure_that_was_searched(figure: str, text: str) -> None:
    working = search_figure(figure, text)

    assert working is not None
    assert Decimal(calculate_all(working, text).value) == Decimal(figure)


def test_a_figure_that_follows_from_nothing_is_calculated_by_nobody() -> None:
    assert search_figure("98765.43") is None


def test_a_small_figure_is_rather_a_count() -> None:
    working = search_figure("2", "How many are open?")

    assert working is not None
    assert working[-1]["operation"] == "count"
