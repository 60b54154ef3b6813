"""Calculators over generated figures: against references that share nothing with them, and what must add up."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from services.executor.core.figures.finance import (
    CALCULATORS,
    amortize_loan,
    normal_cumulative,
    normal_quantile,
    run_calculator,
    split_by_weights,
)
from tests.examples import examples
from tests.unit.executor_core.finance_references import REFERENCES, owed_exactly, rounded

_CENT = Decimal("0.01")
_PLACES = st.sampled_from([0, 2, 3])  # of the currency
_UNITS = st.integers(1, 10**11)
_RATES = st.integers(0, 4000).map(lambda rate: Decimal(rate).scaleb(-2))
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
@pytest.mark.parametrize("operation", sorted(REFERENCES))
@given(data=st.data())
@examples(8, 200)
def test_a_calculator_agrees_with_its_reference(operation: str, data: st.DataObject) -> None:
    reference = REFERENCES[operation]
    operands = data.draw(reference.operands)
    exact = reference.value([Fraction(operand) for operand in operands])
    places = 2 if CALCULATORS[operation].is_money else 6

    found = run_calculator(operation, operands, 2)

    if isinstance(exact, float):
        assert abs(float(found) - exact) <= 0.500001 * 10**-places + 1e-9 * abs(exact)
    else:
        assert found == rounded(exact, places)


@pytest.mark.promise("money.reference")
@given(operands=REFERENCES["loan_balance"].operands)
def test_what_is_owed_stays_within_a_cent_a_month_of_the_closed_form(operands: list[Decimal]) -> None:
    exact = owed_exactly([Fraction(operand) for operand in operands], int(operands[3]))
    grown = (1 + Fraction(operands[1]) / 1200) ** int(operands[3])  # cents bear interest too
    assert abs(Fraction(run_calculator("loan_balance", operands)) - exact) <= Fraction(_CENT) * int(operands[3]) * grown


@pytest.mark.promise("money.gaps")
def test_each_of_the_thirty_six_gaps_is_closed_by_calculators_that_are_offered() -> None:
    assert len(GAPS) == 36
    assert {name for names in GAPS.values() for name in names.split()} <= set(CALCULATORS)


@pytest.mark.promise("money.splits")
@given(
    total=st.integers(-(10**12), 10**12),
    weights=st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    places=_PLACES,
)
def test_a_split_sums_to_its_whole_and_no_part_is_a_unit_off(total: int, weights: list[int], places: int) -> None:
    weights = [*weights, 1]
    amount = Decimal(total).scaleb(-places)

    parts = split_by_weights(amount, [Decimal(weight) for weight in weights], places)

    assert sum(parts) == amount
    for part, weight in zip(parts, weights, strict=True):
        assert abs(Fraction(part) - Fraction(amount) * weight / sum(weights)) <= Fraction(1, 10**places)
        assert part == part.quantize(Decimal(1).scaleb(-places))


@pytest.mark.promise("money.schedules")
@given(units=_UNITS, rate=_RATES, months=st.integers(1, 120), places=_PLACES)
def test_a_loan_ends_at_zero_and_its_principal_parts_are_the_loan(
    units: int, rate: Decimal, months: int, places: int
) -> None:
    principal = Decimal(units).scaleb(-places)

    rows = amortize_loan(principal, rate, Decimal(months), places)

    assert rows[-1].balance == 0
    assert sum(row.payment - row.interest for row in rows) == principal
    assert all(row.balance >= 0 <= row.interest for row in rows)


@given(share=st.integers(1, 9999))
def test_a_quantile_undoes_the_cumulative_share(share: int) -> None:
    probability = Decimal(share) / 10000
    assert abs(normal_cumulative(normal_quantile(probability)) - probability) < Decimal("1E-12")


@pytest.mark.promise("money.splits")
@given(units=_UNITS, months=st.integers(1, 60), places=_PLACES)
def test_all_months_recognise_the_whole_contract(units: int, months: int, places: int) -> None:
    value, count = Decimal(units).scaleb(-places), Decimal(months)
    steps = [run_calculator("split_part", [value, Decimal(month), count], places) for month in range(1, months + 1)]

    running = Decimal(0)
    for month, step in enumerate(steps, 1):
        running += step
        assert running == run_calculator("recognized_revenue", [value, count, Decimal(month)], places)
        assert running + run_calculator("deferred_revenue", [value, count, Decimal(month)], places) == value
    assert running == value


@pytest.mark.promise("money.splits")
@given(units=_UNITS, days=st.integers(1, 366), used=st.integers(0, 366), places=_PLACES)
def test_the_used_and_the_remaining_part_are_the_total(units: int, days: int, used: int, places: int) -> None:
    total, used = Decimal(units).scaleb(-places), min(used, days)
    operands = [total, Decimal(used), Decimal(days)]

    of_use = run_calculator("prorated_used", operands, places)

    assert of_use + run_calculator("prorated_remaining", operands, places) == total
    assert of_use == rounded(Fraction(total) * used / days, places)


@pytest.mark.promise("money.splits")
@given(units=_UNITS, rate=_RATES, places=_PLACES)
def test_what_is_withheld_and_what_is_paid_are_the_gross(units: int, rate: Decimal, places: int) -> None:
    gross = Decimal(units).scaleb(-places)
    withheld = run_calculator("tax_withheld", [gross, rate], places)

    assert withheld == rounded(Fraction(gross) * Fraction(rate) / 100, places)
    assert withheld + run_calculator("withholding_net", [gross, rate], places) == gross


@pytest.mark.promise("money.schedules")
@pytest.mark.parametrize("method", ["straight_line", "sum_of_years", "declining_balance"])
@given(units=_UNITS, salvage=st.integers(0, 100), life=st.integers(1, 60), places=_PLACES)
def test_depreciation_ends_at_the_salvage_value(method: str, units: int, salvage: int, life: int, places: int) -> None:
    cost = Decimal(units).scaleb(-places)
    left = Decimal(units * salvage // 100).scaleb(-places)

    charges = [
        run_calculator(method, [cost, left, Decimal(life), Decimal(year)], places) for year in range(1, life + 1)
    ]

    assert sum(charges) == cost - left
    assert min(charges) >= 0


@pytest.mark.promise("money.rounding")
@given(units=st.integers(-(10**15), 10**15), places=_PLACES)
def test_a_half_minor_unit_rounds_away_from_zero(units: int, places: int) -> None:
    """1.005 is 1.01 and -1.005 is -1.01: neither a banker's nor a float's answer."""
    exact = Decimal(units).scaleb(-places - 1)
    assert run_calculator("round_money", [exact], places) == rounded(Fraction(exact), places)
