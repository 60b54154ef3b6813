"""Money over generated inputs: parts sum to the whole, schedules end at zero, and fractions give the same cents."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.figures.calculator import split
from services.executor.core.figures.catalogue import calculate
from services.executor.core.figures.contracts import amortize_loan
from services.executor.core.figures.valuation import cumulative, quantile

PLACES = st.sampled_from([0, 2, 3])
UNITS = st.integers(1, 10**11)
RATES = st.integers(0, 4000).map(lambda rate: Decimal(rate).scaleb(-2))
LIVES = st.integers(1, 60)


def rounded(exact: Fraction, places: int) -> Decimal:
    """Half up, by whole-number division alone: the independent reference."""
    units = abs(exact) * 10**places
    whole = (2 * units.numerator + units.denominator) // (2 * units.denominator)
    return Decimal(whole if exact >= 0 else -whole).scaleb(-places)


@pytest.mark.promise("money.splits")
@given(
    total=st.integers(-(10**12), 10**12), weights=st.lists(st.integers(0, 1000), min_size=1, max_size=30), places=PLACES
)
def test_a_split_sums_to_its_whole_and_no_part_is_a_unit_off(total: int, weights: list[int], places: int) -> None:
    weights = [*weights, 1]
    amount = Decimal(total).scaleb(-places)

    parts = split(amount, [Decimal(weight) for weight in weights], places)

    assert sum(parts) == amount
    for part, weight in zip(parts, weights, strict=True):
        assert abs(Fraction(part) - Fraction(amount) * weight / sum(weights)) <= Fraction(1, 10**places)
        assert part == part.quantize(Decimal(1).scaleb(-places))


@pytest.mark.promise("money.splits")
@given(units=UNITS, months=LIVES, places=PLACES)
def test_all_months_recognise_the_whole_contract(units: int, months: int, places: int) -> None:
    value, count = Decimal(units).scaleb(-places), Decimal(months)
    steps = [calculate("split_part", [value, Decimal(month), count], places) for month in range(1, months + 1)]

    running = Decimal(0)
    for month, step in enumerate(steps, 1):
        running += step
        assert running == calculate("recognized_revenue", [value, count, Decimal(month)], places)
        assert running + calculate("deferred_revenue", [value, count, Decimal(month)], places) == value
    assert running == value


@pytest.mark.promise("money.splits")
@given(units=UNITS, days=st.integers(1, 366), used=st.integers(0, 366), places=PLACES)
def test_the_used_and_the_remaining_part_are_the_total(units: int, days: int, used: int, places: int) -> None:
    total, used = Decimal(units).scaleb(-places), min(used, days)
    operands = [total, Decimal(used), Decimal(days)]

    of_use = calculate("prorated_used", operands, places)

    assert of_use + calculate("prorated_remaining", operands, places) == total
    assert of_use == rounded(Fraction(total) * used / days, places)


@pytest.mark.promise("money.splits")
@given(units=UNITS, rate=RATES, places=PLACES)
def test_what_is_withheld_and_what_is_paid_are_the_gross(units: int, rate: Decimal, places: int) -> None:
    gross = Decimal(units).scaleb(-places)
    withheld = calculate("tax_withheld", [gross, rate], places)

    assert withheld == rounded(Fraction(gross) * Fraction(rate) / 100, places)
    assert withheld + calculate("withholding_net", [gross, rate], places) == gross


@pytest.mark.promise("money.schedules")
@given(units=UNITS, rate=RATES, months=st.integers(1, 120), places=PLACES)
def test_a_loan_ends_at_zero_and_its_principal_parts_are_the_loan(
    units: int, rate: Decimal, months: int, places: int
) -> None:
    principal = Decimal(units).scaleb(-places)

    rows = amortize_loan(principal, rate, Decimal(months), places)

    assert rows[-1].balance == 0
    assert sum(row.payment - row.interest for row in rows) == principal
    assert all(row.balance >= 0 <= row.interest for row in rows)


@pytest.mark.promise("money.reference")
@given(units=UNITS, rate=RATES.filter(bool), months=st.integers(2, 120))
def test_an_instalment_is_the_annuity_of_exact_fractions(units: int, rate: Decimal, months: int) -> None:
    """P i (1 + i)^n / ((1 + i)^n - 1) in whole-number fractions: no decimal, no float."""
    principal, monthly = Decimal(units).scaleb(-2), Fraction(rate) / 1200
    growth = (1 + monthly) ** months

    first = calculate("loan_payment", [principal, rate, Decimal(months), Decimal(1)])

    assert first == rounded(Fraction(principal) * monthly * growth / (growth - 1), 2)


@pytest.mark.promise("money.schedules")
@pytest.mark.parametrize("method", ["straight_line", "sum_of_years", "declining_balance"])
@given(units=UNITS, salvage=st.integers(0, 100), life=LIVES, places=PLACES)
def test_depreciation_ends_at_the_salvage_value(method: str, units: int, salvage: int, life: int, places: int) -> None:
    cost = Decimal(units).scaleb(-places)
    left = Decimal(units * salvage // 100).scaleb(-places)

    charges = [calculate(method, [cost, left, Decimal(life), Decimal(year)], places) for year in range(1, life + 1)]

    assert sum(charges) == cost - left
    assert min(charges) >= 0


@pytest.mark.promise("money.schedules")
@pytest.mark.parametrize("asset_class", [3, 5, 7, 10])
@given(units=UNITS)
def test_tax_depreciation_writes_off_the_whole_cost(asset_class: int, units: int) -> None:
    cost = Decimal(units).scaleb(-2)
    years = range(1, asset_class + 2)

    assert sum(calculate("tax_depreciation", [cost, Decimal(asset_class), Decimal(year)]) for year in years) == cost


@pytest.mark.promise("money.reference")
@given(flows=st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=30), rate=RATES)
def test_a_net_present_value_is_that_of_exact_fractions(flows: list[int], rate: Decimal) -> None:
    factor = 1 + Fraction(rate) / 100
    exact = sum((Fraction(flow, 100) / factor**year for year, flow in enumerate(flows)), Fraction(0))

    assert calculate("npv", [rate, *(Decimal(flow).scaleb(-2) for flow in flows)]) == rounded(exact, 2)


@pytest.mark.promise("money.reference")
@given(outlay=st.integers(1000, 10**6), shares=st.lists(st.integers(1, 100), min_size=1, max_size=10))
def test_at_the_internal_rate_of_return_the_flows_are_worth_nothing(outlay: int, shares: list[int]) -> None:
    flows = [Decimal(-outlay), *(Decimal(outlay * share) / 100 for share in shares)]
    if sum(shares) < 30:
        return  # it would lie below the lowest rate
    rate = calculate("irr", flows)
    slack = Decimal("0.000001")
    assert calculate("npv", [rate - slack, *flows], 6) >= 0 >= calculate("npv", [rate + slack, *flows], 6)


@pytest.mark.promise("money.rounding")
@given(invoiced=st.integers(0, 10**9), ordered=st.integers(0, 10**9), threshold=st.integers(0, 100))
def test_a_variance_exceeds_exactly_as_fractions_say(invoiced: int, ordered: int, threshold: int) -> None:
    exceeds = abs(invoiced - ordered) * 100 > threshold * ordered
    operands = [Decimal(invoiced).scaleb(-2), Decimal(ordered).scaleb(-2), Decimal(threshold)]

    assert calculate("variance_exceeds", operands) == exceeds


@pytest.mark.promise("money.rounding")
@given(units=st.integers(-(10**15), 10**15), places=PLACES)
def test_a_half_minor_unit_rounds_away_from_zero(units: int, places: int) -> None:
    """1.005 is 1.01 and -1.005 is -1.01: neither a banker's nor a float's answer."""
    exact = Decimal(units).scaleb(-places - 1)
    assert calculate("round_money", [exact], places) == rounded(Fraction(exact), places)


@given(share=st.integers(1, 9999))
def test_a_quantile_undoes_the_cumulative_share(share: int) -> None:
    probability = Decimal(share) / 10000
    assert abs(cumulative(quantile(probability)) - probability) < Decimal("1E-12")
