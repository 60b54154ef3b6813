"""Every calculator over generated figures against a reference that shares nothing with it, to the cent."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.core.figures.calculator import CalculatorResult
from services.executor.core.figures.catalogue import CALCULATORS, calculate
from tests.each_row import each_row
from tests.unit.executor_core.finance_references import REFERENCES, owed_exactly, rounded

_CENT = Decimal("0.01")
# The gaps for which a worker of this kind wants a tool, by field, and the calculators that close them.
GAPS: Mapping[str, str] = {
    "npv": "npv", "irr": "irr", "bond price": "bond_price",
    "depreciation": "straight_line declining_balance sum_of_years units_of_production", "wacc": "wacc",
    "compound interest": "compound_interest",
    "loan amortization": "loan_payment loan_interest loan_balance loan_total_interest",
    "monte carlo": "monte_carlo", "black scholes": "black_scholes_call black_scholes_put",
    "value at risk": "value_at_risk", "newton raphson": "newton_raphson",
    "overtime": "overtime_pay", "salary proration": "prorated_used prorated_remaining",
    "benefits cost": "benefits_cost", "headcount": "headcount",
    "sla credit": "sla_credit", "uptime": "uptime_percent", "penalty": "late_penalty",
    "order quantity": "economic_order_quantity", "inventory value": "inventory_value",
    "stockout risk": "stockout_risk",
    "business days": "business_days", "pro rata by days": "days_between prorated_used", "aging": "aging_bucket",
    "z score": "z_score", "weighted average": "weighted_average",
    "regression": "regression_slope regression_forecast",
    "vat": "vat_on_net vat_in_gross", "withholding": "tax_withheld withholding_net",
    "tax depreciation": "tax_depreciation",
    "weighted risk score": "weighted_average", "concentration": "concentration",
    "bad debt": "bad_debt_allowance", "collection": "collection_rate days_sales_outstanding",
    "escalation": "contract_escalation", "termination fee": "termination_fee early_termination_refund",
}  # fmt: skip


@pytest.mark.promise("money.reference")
@pytest.mark.parametrize("operation", sorted(CALCULATORS))
@given(data=st.data())
@settings(max_examples=20)
def test_a_calculator_agrees_with_its_reference(operation: str, data: st.DataObject) -> None:
    reference = REFERENCES[operation]
    operands = data.draw(reference.operands)
    exact = reference.value([Fraction(operand) for operand in operands])
    places = 2 if CALCULATORS[operation].result is CalculatorResult.MONEY else 6

    found = calculate(operation, operands, 2)

    if isinstance(exact, float):
        assert abs(float(found) - exact) <= 0.500001 * 10**-places + 1e-9 * abs(exact)
    else:
        assert found == rounded(exact, places)


@pytest.mark.promise("money.reference")
def test_every_calculator_has_a_reference_over_generated_figures() -> None:
    assert set(REFERENCES) == set(CALCULATORS)


@pytest.mark.promise("money.reference")
@given(operands=REFERENCES["loan_balance"].operands)
def test_what_is_owed_stays_within_a_cent_a_month_of_the_closed_form(operands: list[Decimal]) -> None:
    exact = owed_exactly([Fraction(operand) for operand in operands], int(operands[3]))
    grown = (1 + Fraction(operands[1]) / 1200) ** int(operands[3])  # cents bear interest too
    assert abs(Fraction(calculate("loan_balance", operands)) - exact) <= Fraction(_CENT) * int(operands[3]) * grown


@pytest.mark.promise("money.gaps")
def test_each_of_the_thirty_six_gaps_is_closed_by_calculators_that_are_offered() -> None:
    assert len(GAPS) == 36
    assert {name for names in GAPS.values() for name in names.split()} <= set(CALCULATORS)


@pytest.mark.promise("money.gaps")
@each_row("operation", sorted(CALCULATORS))
def test_a_calculator_says_by_which_formula_it_works(operation: str) -> None:
    assert (CALCULATORS[operation].function.__doc__ or "").strip()


@pytest.mark.promise("money.splits")
@given(units=st.integers(1, 10**9), steps=st.lists(st.integers(0, 500), min_size=1, max_size=20))
def test_the_charges_by_units_are_the_whole_of_what_is_written_off(units: int, steps: list[int]) -> None:
    cost, total, before, written_off = Decimal(units).scaleb(-2), Decimal(sum(steps) or 1), Decimal(0), Decimal(0)
    for step in steps if sum(steps) else [1]:
        written_off += calculate("units_of_production", [cost, Decimal(0), total, before, Decimal(step)])
        before += step
    assert written_off == cost


@pytest.mark.promise("money.splits")
@given(amounts=st.lists(st.integers(0, 10**8), min_size=3, max_size=3))
def test_what_fits_on_a_card_and_what_does_not_are_the_incoming_amount(amounts: list[int]) -> None:
    operands = [Decimal(amount).scaleb(-2) for amount in amounts]
    fits, rest = (calculate(f"gift_card_{part}", operands) for part in ("capacity", "overflow"))
    assert fits + rest == operands[1]
    assert min(fits, rest) >= 0


@pytest.mark.promise("money.splits")
@given(lines=st.lists(st.tuples(st.integers(0, 10**8), st.integers(1, 48), st.integers(0, 60)), min_size=1, max_size=9))
def test_of_many_contracts_what_is_and_is_not_recognised_are_all_of_them(lines: list[tuple[int, int, int]]) -> None:
    values = [Decimal(line[0]).scaleb(-2) for line in lines]
    operands = [*values, *(Decimal(line[1]) for line in lines), *(Decimal(line[2]) for line in lines)]
    parts = (calculate(f"{part}_revenue_total", operands) for part in ("recognized", "deferred"))
    assert sum(parts) == sum(values)


@pytest.mark.promise("money.splits")
@given(value=st.integers(0, 10**9), percent=st.integers(0, 10_000))
def test_the_fee_and_the_refund_are_what_remained(value: int, percent: int) -> None:
    operands = [Decimal(value).scaleb(-2), Decimal(percent).scaleb(-2)]
    assert calculate("termination_fee", operands) + calculate("early_termination_refund", operands) == operands[0]
