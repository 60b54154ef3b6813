"""Every calculator by name: what its figures are, in order, and what kind of figure comes out."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from services.executor.core.finance import calendar_days, money, operations, schedules, valuation
from services.executor.core.finance.money import Figures


class Result(StrEnum):
    MONEY = "money"  # rounded half up to the currency's minor unit
    RATIO = "ratio"  # rounded half up to six places


class Calculator(NamedTuple):
    arguments: str  # names by comma; the last ends in "..." where it may repeat
    result: Result
    function: Callable[[Figures, int], Decimal]
    dates: bool = False

    def fits(self, number: int) -> bool:
        """Whether it takes so many figures."""
        names = self.arguments.split(", ")
        single = [name for name in names if not name.endswith("...")]
        return number == len(single) if len(single) == len(names) else number >= max(len(single), 1)


CALCULATORS: Mapping[str, Calculator] = {
    "round_money": Calculator("amount", Result.MONEY, money.amount),
    "split_part": Calculator("total, part number, parts", Result.MONEY, money.split_part),
    "allocation": Calculator("total, part number, weight...", Result.MONEY, money.allocation),
    "prorated_used": Calculator("total, days used, total days", Result.MONEY, money.prorated_used),
    "prorated_remaining": Calculator("total, days used, total days", Result.MONEY, money.prorated_remaining),
    "recognized_revenue": Calculator("value, months, elapsed", Result.MONEY, money.recognized_revenue),
    "deferred_revenue": Calculator("value, months, elapsed", Result.MONEY, money.deferred_revenue),
    "recognized_revenue_total": Calculator(
        "values..., months..., elapsed...", Result.MONEY, money.recognized_revenue_total
    ),
    "deferred_revenue_total": Calculator(
        "values..., months..., elapsed...", Result.MONEY, money.deferred_revenue_total
    ),
    "termination_fee": Calculator("remaining value, fee %", Result.MONEY, money.termination_fee),
    "early_termination_refund": Calculator("remaining value, fee %", Result.MONEY, money.early_termination_refund),
    "contract_escalation": Calculator("base, yearly %, years", Result.MONEY, money.contract_escalation),
    "variance_percent": Calculator("invoiced, ordered", Result.RATIO, money.variance_percent),
    "variance_exceeds": Calculator("invoiced, ordered, threshold %", Result.RATIO, money.variance_exceeds),
    "sla_credit": Calculator(
        "invoice, credit % a breach, cap %, allowed downtime, downtime of a period...", Result.MONEY, money.sla_credit
    ),
    "sub_limit_payable": Calculator("claimed, sub-limit, rider", Result.MONEY, money.sub_limit_payable),
    "gift_card_capacity": Calculator("balance, incoming, limit", Result.MONEY, money.gift_card_capacity),
    "gift_card_overflow": Calculator("balance, incoming, limit", Result.MONEY, money.gift_card_overflow),
    "net_price_delta": Calculator("old prices..., new prices...", Result.MONEY, money.net_price_delta),
    "loan_payment": Calculator("principal, yearly %, months, month", Result.MONEY, schedules.loan_payment),
    "loan_interest": Calculator("principal, yearly %, months, month", Result.MONEY, schedules.loan_interest),
    "loan_balance": Calculator("principal, yearly %, months, month", Result.MONEY, schedules.loan_balance),
    "loan_total_interest": Calculator("principal, yearly %, months", Result.MONEY, schedules.loan_total_interest),
    "straight_line": Calculator("cost, salvage, life, period", Result.MONEY, schedules.straight_line),
    "declining_balance": Calculator("cost, salvage, life, period", Result.MONEY, schedules.declining_balance),
    "sum_of_years": Calculator("cost, salvage, life, period", Result.MONEY, schedules.sum_of_years),
    "units_of_production": Calculator(
        "cost, salvage, total units, units before, units", Result.MONEY, schedules.units_of_production
    ),
    "tax_depreciation": Calculator("cost, class in years, year", Result.MONEY, schedules.tax_depreciation),
    "npv": Calculator("rate %, flow from now on...", Result.MONEY, valuation.npv),
    "irr": Calculator("flow, flow...", Result.RATIO, valuation.irr),
    "bond_price": Calculator("face, coupon %, yield %, years, payments a year", Result.MONEY, valuation.bond_price),
    "wacc": Calculator("equity, debt, cost of equity %, cost of debt %, tax %", Result.RATIO, valuation.wacc),
    "compound_interest": Calculator(
        "principal, yearly %, times a year, years", Result.MONEY, valuation.compound_interest
    ),
    "monte_carlo": Calculator("start, yearly %, volatility %, years, trials", Result.MONEY, valuation.monte_carlo),
    "black_scholes_call": Calculator(
        "spot, strike, rate %, volatility %, years", Result.MONEY, valuation.black_scholes_call
    ),
    "black_scholes_put": Calculator(
        "spot, strike, rate %, volatility %, years", Result.MONEY, valuation.black_scholes_put
    ),
    "value_at_risk": Calculator(
        "value, daily %, daily volatility %, confidence %, days", Result.MONEY, valuation.value_at_risk
    ),
    "newton_raphson": Calculator("start, constant, coefficient...", Result.RATIO, valuation.newton_raphson),
    "overtime_pay": Calculator("hours, limit, hourly rate, multiplier", Result.MONEY, operations.overtime_pay),
    "benefits_cost": Calculator("salary, benefits %, fixed cost, heads", Result.MONEY, operations.benefits_cost),
    "headcount": Calculator("workload, capacity of one", Result.RATIO, operations.headcount),
    "uptime_percent": Calculator("period, downtime...", Result.RATIO, operations.uptime_percent),
    "late_penalty": Calculator("amount, % a day, days late, cap %", Result.MONEY, operations.late_penalty),
    "economic_order_quantity": Calculator(
        "yearly demand, cost of an order, cost of holding one", Result.RATIO, operations.economic_order_quantity
    ),
    "inventory_value": Calculator("quantities..., unit costs...", Result.MONEY, operations.inventory_value),
    "stockout_risk": Calculator("stock, daily demand, daily deviation, days", Result.RATIO, operations.stockout_risk),
    "vat_on_net": Calculator("net, rate %", Result.MONEY, operations.vat_on_net),
    "vat_in_gross": Calculator("gross, rate %", Result.MONEY, operations.vat_in_gross),
    "tax_withheld": Calculator("gross, rate %", Result.MONEY, operations.tax_withheld),
    "withholding_net": Calculator("gross, rate %", Result.MONEY, operations.withholding_net),
    "weighted_average": Calculator("values..., weights...", Result.RATIO, operations.weighted_average),
    "z_score": Calculator("value, value of the list...", Result.RATIO, operations.z_score),
    "regression_slope": Calculator("xs..., ys...", Result.RATIO, operations.regression_slope),
    "regression_forecast": Calculator("x, xs..., ys...", Result.RATIO, operations.regression_forecast),
    "concentration": Calculator("part...", Result.RATIO, operations.concentration),
    "bad_debt_allowance": Calculator("receivables..., loss rates %...", Result.MONEY, operations.bad_debt_allowance),
    "collection_rate": Calculator("collected, billed", Result.RATIO, operations.collection_rate),
    "days_sales_outstanding": Calculator(
        "receivables, credit sales, days", Result.RATIO, operations.days_sales_outstanding
    ),
    "days_between": Calculator("from, to", Result.RATIO, calendar_days.days_between, dates=True),
    "business_days": Calculator("from, to, holiday...", Result.RATIO, calendar_days.business_days, dates=True),
    "aging_bucket": Calculator("due, today", Result.RATIO, calendar_days.aging_bucket, dates=True),
}


def offered() -> str:
    """Every calculator with its figures, for who is to choose among them: ``npv(rate %, flow...); irr(...)``."""
    return "; ".join(f"{name}({calculator.arguments})" for name, calculator in CALCULATORS.items())
