"""Exact arithmetic in any currency, calculators against worked examples, and the audit that computes values again."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from services.executor.core.figures.calculator import CannotCalculate
from services.executor.core.figures.evaluate import find_wrong_values, recompute_values
from services.executor.core.figures.finance import CALCULATORS, run_calculator
from services.executor.core.figures.operands import OperandSources
from services.executor.core.figures.operations import compute_exactly, to_result_decimal
from services.executor.core.figures.vocabulary import common_currency, currency_places, is_currency_code
from services.executor.core.session.values import NamedValue, Operand
from services.executor.core.tools.record_tree import NoSuchPath
from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.executor_core.makers import fact, from_fact, from_task, from_value, value

# operation, operands, result; the source where it is not plain arithmetic
WORKED = [
    ("round_money", "1.005", "1.01"), ("round_money", "-1.005", "-1.01"),
    ("split_part", "100.01 1 2", "50.01"), ("split_part", "100.01 2 2", "50.00"),
    ("allocation", "100 3 1 1 1", "33.33"), ("allocation", "100 2 1 1 1", "33.34"),
    ("prorated_used", "1200 73 365", "240"), ("prorated_remaining", "1200 73 365", "960"),
    ("recognized_revenue", "1000 12 1", "83.33"), ("recognized_revenue", "1000 12 12", "1000"),
    ("deferred_revenue", "1000 12 1", "916.67"),
    # contracts of 1000 over 12 months and 100 over 3, one month in: 83.33 + 33.33 of 1100
    ("recognized_revenue_total", "1000 100 12 3 1 1", "116.66"),
    ("deferred_revenue_total", "1000 100 12 3 1 1", "983.34"),
    ("termination_fee", "960 15", "144"), ("early_termination_refund", "960 15", "816"),
    ("contract_escalation", "10000 3 5", "11592.74"),  # 10000 x 1.1592740743
    ("variance_percent", "1050 1000", "5"), ("variance_percent", "0.33 0.30", "10"),
    ("variance_exceeds", "0.33 0.30 10", "0"), ("variance_exceeds", "0.34 0.30 10", "1"),
    ("variance_exceeds", "5 0 10", "1"), ("variance_exceeds", "0 0 10", "0"),
    ("sla_credit", "6000 10 30 43.2 50 12 99", "1200"), ("sla_credit", "6000 10 15 43.2 50 12 99", "900"),
    ("sla_credit", "6000 10 30 43.2 43.2", "0"),
    ("sub_limit_payable", "9000 5000 2500", "7500"), ("sub_limit_payable", "4000 5000 0", "4000"),
    ("gift_card_capacity", "450 100 500", "50"), ("gift_card_overflow", "450 100 500", "50"),
    ("gift_card_capacity", "600 100 500", "0"), ("net_price_delta", "20 35.50 12 25 0 12", "-30.50"),
    ("loan_payment", "200000 7.5 180 1", "1854.02"),  # numpy-financial: pmt -1854.0247200054619
    ("loan_interest", "2500 8.24 12 1", "17.17"),  # numpy-financial's ipmt example: -17.17
    ("loan_balance", "2500 8.24 12 1", "2299.42"), ("loan_balance", "2500 8.24 12 12", "0"),
    ("loan_total_interest", "2500 8.24 12", "112.97"),  # numpy-financial: sum of ipmt -112.98; the last pays off
    ("straight_line", "30000 7500 10 1", "2250"),  # Excel SLN
    ("sum_of_years", "30000 7500 10 1", "4090.91"), ("sum_of_years", "30000 7500 10 10", "409.09"),  # Excel SYD
    ("declining_balance", "2400 300 10 1", "480"), ("declining_balance", "2400 300 10 2", "384"),  # Excel VDB
    ("units_of_production", "100000 10000 90000 0 12000", "12000"),
    ("tax_depreciation", "10000 5 1", "2000"), ("tax_depreciation", "10000 7 8", "446"),  # Publication 946, A-1
    ("npv", "8 -40000 5000 8000 12000 30000", "3065.22"),  # numpy-financial: 3065.2226681795255
    ("irr", "-100 39 59 55 20", "28.094842"), ("irr", "-150000 15000 25000 35000 45000 60000", "5.243289"),
    ("bond_price", "1000 6 5 10 2", "1077.95"), ("bond_price", "1000 6 6 10 2", "1000"),
    ("wacc", "600 400 10 5 20", "7.6"), ("compound_interest", "1500 4.3 4 6", "438.84"),
    ("monte_carlo", "100 5 0 1 10", "105.13"),  # no volatility: 100 e^0.05
    ("black_scholes_call", "42 40 10 20 0.5", "4.76"), ("black_scholes_put", "42 40 10 20 0.5", "0.81"),  # Hull, 15.6
    ("value_at_risk", "1000000 0 1 99 1", "23263.48"), ("newton_raphson", "1 -2 0 1", "1.414214"),
    ("overtime_pay", "45 40 20 1.5", "950"), ("overtime_pay", "38 40 20 1.5", "760"),
    ("benefits_cost", "50000 25 1200 3", "41100"), ("headcount", "101 25", "5"),
    ("uptime_percent", "43200 43.2", "99.9"), ("uptime_percent", "43200 0", "100"),
    ("late_penalty", "1000 0.5 10 10", "50"),
    ("late_penalty", "1000 0.5 30 10", "100"), ("late_penalty", "1000 0.5 -3 10", "0"),
    ("economic_order_quantity", "1000 10 0.5", "200"), ("inventory_value", "10 5 2.50 4", "45"),
    ("stockout_risk", "120 10 2 9", "0.000029"), ("stockout_risk", "90 10 2 9", "50"),
    ("vat_on_net", "100 21", "21"), ("vat_in_gross", "121 21", "21"),
    ("tax_withheld", "999.99 15", "150.00"), ("withholding_net", "999.99 15", "849.99"),
    ("weighted_average", "90 80 3 1", "87.5"), ("z_score", "8 2 4 4 4 5 5 7 9", "1.403122"),
    ("regression_slope", "1 2 3 2 4 6", "2"), ("regression_forecast", "4 1 2 3 2 4 6", "8"),
    ("concentration", "30 30 20 20", "2600"), ("bad_debt_allowance", "1000 500 1 10", "60"),
    ("collection_rate", "75 80", "93.75"), ("days_sales_outstanding", "150 900 90", "15"),
    ("aging_bucket", "738000 738000", "0"), ("aging_bucket", "738000 738030", "1"),
    ("aging_bucket", "738000 738031", "2"),
    ("aging_bucket", "738000 738091", "4"), ("days_between", "738000 738031", "31"),
    ("business_days", "738000 738007", "5"),
]  # fmt: skip


def numbers(text: str) -> list[Decimal]:
    return [Decimal(word) for word in text.split()]


@pytest.mark.promise("money.reference")
@each_row(("operation", "operands", "result"), WORKED)
def test_a_calculator_has_its_worked_result(operation: str, operands: str, result: str) -> None:
    assert run_calculator(operation, numbers(operands)) == Decimal(result)


@pytest.mark.promise("money.reference")
def test_every_calculator_has_a_worked_example() -> None:
    assert {operation for operation, _, _ in WORKED} == set(CALCULATORS)


@pytest.mark.promise("money.reference")
@each_row(
    ("operation", "operands"),
    ("loan_payment", "1000 5 0 1"), ("loan_payment", "1000 5 12 13"), ("loan_payment", "1000 5 1.5 1"),
    ("loan_payment", "-1 5 12 1"), ("loan_payment", "1000 5 12"), ("straight_line", "100 200 5 1"),
    ("tax_depreciation", "100 4 1"), ("variance_percent", "5 0"), ("prorated_used", "100 31 30"),
    ("irr", "100 200"), ("irr", "-100 230 -132"), ("npv", "-100 1 1"), ("allocation", "100 3 1 1"),
    ("split_part", "1 1 100000"), ("z_score", "1 2"), ("weighted_average", "1 2 3"), ("headcount", "1 0"),
    ("newton_raphson", "0 1 0 1"), ("black_scholes_call", "42 40 10 0 1"),
    ("value_at_risk", "1 0 1 99.9999999999999999999 1"), ("business_days", "738007 738000"),
    ("business_days", "1 700000"), ("monte_carlo", "100 5 10 1 100000"),
    ("contract_escalation", "1 1E20 1000"), ("units_of_production", "1 0 10 9 2"), ("compound_interest", "1 1"),
    ("economic_order_quantity", "-1 1 1"), ("net_price_delta", ""), ("net_price_delta", "1E60 1"),
    ("contract_escalation", "100 -200 3"),
    ("monte_carlo", "100 5 1E9 1 9"), ("round_money", "1234567890123456789012345.1"),
    ("concentration", ""), ("irr", ""),
)  # fmt: skip
def test_what_no_formula_covers_is_an_error_and_never_a_guess(operation: str, operands: str) -> None:
    with pytest.raises(CannotCalculate):
        run_calculator(operation, numbers(operands))


def calculate(operation: str, operands: list[Decimal]) -> Decimal:
    if operation in CALCULATORS:
        return run_calculator(operation, operands)
    value = compute_exactly(operation, [Fraction(operand) for operand in operands])
    return to_result_decimal(value) if isinstance(value, Fraction) else value


def decimals(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@each_row(
    ("operation", "operands", "result"),
    ("product", ("19.99", "3"), "59.97"),
    ("quotient", ("2", "3"), "0.666667"), ("quotient", ("1", "3"), "0.333333"),
    ("quotient", ("0.0000005", "1"), "0.000001"), ("percentage", ("1000", "2.5"), "25"),
    ("average", ("1", "2"), "1.5"), ("sum", (), "0"), ("sum", ("0.1", "0.2"), "0.3"),
)  # fmt: skip
def test_an_operation_has_its_textbook_result(operation: str, operands: tuple[str, ...], result: str) -> None:
    assert calculate(operation, decimals(*operands)) == Decimal(result)


@pytest.mark.promise("I8.exact_money")
@each_row(
    ("operation", "operands"),
    ("quotient", ("1", "0")), ("quotient", ("0", "0")), ("average", ()), ("difference", ("1",)), ("minimum", ()),
    ("percentage", ("1",)), ("sum", ("1E60", "1")), ("product", ("1E1000",) * 1001),
    ("quotient", ("1E50", "3")),
)  # fmt: skip
def test_what_cannot_be_calculated_exactly_is_an_error(operation: str, operands: tuple[str, ...]) -> None:
    """Never a rounded amount, and never another kind of error."""
    with pytest.raises(CannotCalculate):
        calculate(operation, decimals(*operands))


TASK = (
    "Prorate the 1000 JPY plan: 1 of 3 months, from 2026-01-05 to 2026-01-12. Invoices reach $45,000; this one $6,000"
)
PLAN = fact({"price": 1000, "yen": "JPY", "dinar": "KWD", "fee": "12 USD", "tip": "€5", "lines": [1, 2, 3, 4]})
KNOWN = OperandSources((PLAN,), (), (TASK,))
THIRD = (from_task("1"), from_task("3"))


@pytest.mark.promise("money.currency")
@each_row(
    ("stated", "operands"),
    ("333.33", (from_fact("price"), *THIRD)),
    ("333", (from_fact("price"), *THIRD, from_fact("yen"))),
    ("333.333", (from_fact("dinar"), from_fact("price"), *THIRD)),
    ("333", (from_fact("price"), *THIRD, from_task("JPY"))),
)
def test_a_split_is_in_the_minor_unit_of_its_currency(stated: str, operands: tuple[Operand, ...]) -> None:
    assert find_wrong_values([value("first", "split_part", stated, *operands)], KNOWN) == {}


@pytest.mark.promise("money.currency")
@each_row("operation", ["sum", "net_price_delta", "maximum"])
def test_amounts_in_two_currencies_are_never_put_together(operation: str) -> None:
    (problem,) = find_wrong_values([value("both", operation, "17", from_fact("fee"), from_fact("tip"))], KNOWN).values()
    assert problem.startswith(f"both: {operation} of amounts in different currencies (12 USD, €5): convert them first")


@pytest.mark.promise("money.currency")
@each_row(("code", "digits"), [("USD", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("", 2)])
def test_minor_units_follow_iso_4217(code: str, digits: int) -> None:
    assert currency_places(code) == digits
    assert is_currency_code(code) == bool(code)


@pytest.mark.promise("money.currency")
@each_row(
    ("amounts", "code"),
    (["USD 5"], "USD"), (["€5"], "EUR"), (["$5"], ""), (["ABC 5"], ""), (["$5", "CAD"], "CAD"),
    (["¥5", 3, "JPY"], "JPY"), (["$5", "€5"], None), (["$5", "KWD"], None), (["5 EUR", "5 USD"], None),
)  # fmt: skip
def test_the_currency_of_amounts_is_the_one_that_fits_how_all_are_written(
    amounts: list[Json], code: str | None
) -> None:
    assert common_currency(amounts) == code


@pytest.mark.promise("I2.audit")
@each_row(
    "good",
    value("days", "business_days", "5", from_task("2026-01-05"), from_task("2026-01-12")),
    value("credit", "sla_credit", "60", from_task("$6,000"), from_fact("lines[*]")),
    value("slope", "regression_slope", "1", from_fact("lines[*]"), from_fact("lines[*]")),
)
def test_a_calculator_is_recomputed_from_dates_and_lists_with_their_provenance(good: NamedValue) -> None:
    """The credit is of the invoice that is named, not of the largest amount in the text; so is the cap of its rule."""
    assert find_wrong_values([good], KNOWN) == {}


@pytest.mark.promise("I2.audit")
def test_a_wrong_schedule_figure_is_found_and_values_chain() -> None:
    loan = fact({"principal": Decimal(2500), "rate": "8.24", "months": 12, "first": 1})
    operands = [from_fact(path) for path in ("principal", "rate", "months", "first")]
    interest = value("interest", "loan_interest", "17.17", *operands)

    known = OperandSources((loan,))
    assert find_wrong_values([interest, value("owed", "round_money", "17.17", from_value("interest"))], known) == {}
    assert find_wrong_values([value("interest", "loan_interest", "17.18", *operands)], known)


REFUND = "Refund 20% of order O-7, at most $1,500.00, minus the fee of -5"
ORDER = fact({"total": Decimal("120.50"), "lines": [{"n": 1}, {"n": 2}], "note": "fragile"})
ORDERED = OperandSources((ORDER,), (), (REFUND,))


@pytest.mark.promise("I2.audit")
@each_row(
    ("bad", "why"),
    (value("x", "sum", "120.51", from_fact("total")), "is 120.50, not 120.51"),
    (value("x", "sum", "7", from_task("7")), "states no figure"),
    (value("x", "sum", "1", from_fact("note")), "is none"),
    (value("x", "sum", "1", from_fact("tax")), "no tax there"),
    (value("x", "sum", "1", from_fact("total", "f9")), "no fact has"),
    (value("x", "sum", "1", from_value("later")), "no earlier value"),
    (value("x", "power", "1", from_fact("total")), "unknown operation"),
    (value("x", "quotient", "0", from_fact("total"), from_task("0")), "states no figure"),
    (value("x", "sum", "a lot", from_fact("total")), "x:"),
)
def test_a_value_that_does_not_come_out_is_a_problem_with_its_name(bad: NamedValue, why: str) -> None:
    (problem,) = find_wrong_values([bad], ORDERED).values()
    assert problem.startswith("x: ")
    assert why in problem


@pytest.mark.promise("I2.audit")
@given(cents=st.integers(0, 10**9), off=st.integers(-100, 100).filter(bool))
def test_one_cent_off_is_found(cents: int, off: int) -> None:
    amount = fact({"amount": Decimal(cents).scaleb(-2)})
    stated = f"{Decimal(cents + off).scaleb(-2):f}"

    assert find_wrong_values([value("x", "sum", stated, from_fact("amount"))], OperandSources((amount,)))


def test_values_build_on_earlier_values_are_named_once_and_recomputing_follows_the_facts() -> None:
    net = value("net", "sum", "120.50", from_fact("total"))
    half = value("half", "quotient", "60.25", from_value("net"), from_value("two"))
    two = value("two", "count", "2", from_fact("lines[*]"))

    assert find_wrong_values([net, two, half], ORDERED) == {}
    assert find_wrong_values([net, net], ORDERED) == {"net": "net: named twice"}
    stale = value("refund", "percentage", "24.10", from_fact("total"), from_task("20%"))

    (fresh,) = recompute_values([stale], ORDERED._replace(facts=[fact({"total": 200})]))
    assert Decimal(fresh.value) == 40
    with pytest.raises(NoSuchPath):
        recompute_values([stale], ORDERED._replace(facts=[fact({})]))
