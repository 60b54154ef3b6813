"""The rules of contracts, claims, loans and assets: parts that sum to the whole, fees, limits, schedules."""

from decimal import Decimal
from typing import NamedTuple

from services.executor.core.figures.calculator import (
    HUNDRED,
    CannotCalculate,
    divide_lists,
    money,
    not_negative,
    percent_of,
    positive,
    ratio,
    split,
    to_minor_unit,
    total,
    whole,
)


@money("amount")
def round_money(amount: Decimal) -> Decimal:
    """The amount itself, for rounding: half up to the minor unit (ISO 4217 has its places)."""
    return amount


@money("total, part number, parts")
def split_part(amount: Decimal, part: Decimal, parts: Decimal, *, places: int) -> Decimal:
    """total x k / n - total x (k - 1) / n, each rounded: the n parts sum to it."""
    of = whole(parts, "parts")
    return split(amount, [Decimal(1)] * of, places)[whole(part, "part", high=of) - 1]


@money("total, part number, weight...")
def allocation(amount: Decimal, part: Decimal, *weights: Decimal, places: int) -> Decimal:
    """total x weight / all weights, as the step between two rounded running shares: the parts sum to the total."""
    return split(amount, weights, places)[whole(part, "part", high=len(weights)) - 1]


@money("total, days used, total days")
def prorated_used(amount: Decimal, used: Decimal, days: Decimal, *, places: int) -> Decimal:
    """total x days used / total days."""
    if not 0 <= used <= positive(days, "total days"):
        raise CannotCalculate(f"days used must lie from 0 to {days:f}, not {used:f}")
    return to_minor_unit(amount * used / days, places)


@money("total, days used, total days")
def prorated_remaining(amount: Decimal, used: Decimal, days: Decimal, *, places: int) -> Decimal:
    """total - prorated_used: the two sum to the total."""
    return amount - prorated_used(amount, used, days, places=places)


@money("value, months, elapsed")
def recognized_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """value x elapsed / months, capped at the value: straight-line recognition (IFRS 15, paragraph 39)."""
    of = whole(months, "months")
    share = min(whole(elapsed, "elapsed", 0, 12000), of)
    return value if share == of else to_minor_unit(value * share / of, places)


@money("value, months, elapsed")
def deferred_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """value - recognised revenue (IFRS 15, paragraph 106): the two sum to the value."""
    return value - recognized_revenue(value, months, elapsed, places=places)


@money("values..., months..., elapsed...")
def recognized_revenue_total(*figures: Decimal, places: int) -> Decimal:
    """Sum of what is recognised of each contract, each rounded by itself, so that the parts sum to it."""
    contracts = zip(*divide_lists(figures, 3), strict=True)
    return total([recognized_revenue(*contract, places=places) for contract in contracts])


@money("values..., months..., elapsed...")
def deferred_revenue_total(*figures: Decimal, places: int) -> Decimal:
    """Sum of what is not yet recognised: with the recognised total it is the sum of the values."""
    return total(divide_lists(figures, 3)[0]) - recognized_revenue_total(*figures, places=places)


@money("remaining value, fee %")
def termination_fee(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    """remaining value x fee % / 100."""
    return to_minor_unit(percent_of(remaining, not_negative(fee, "fee %")), places)


@money("remaining value, fee %")
def early_termination_refund(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    """remaining value - termination fee, never below zero."""
    return max(remaining - termination_fee(remaining, fee, places=places), Decimal(0))


@money("base, yearly %, years")
def contract_escalation(base: Decimal, rate: Decimal, years: Decimal) -> Decimal:
    """base x (1 + rate / 100) ^ years: a yearly rise on the risen amount (compound growth)."""
    return base * positive(1 + rate / HUNDRED, "1 + the yearly rate") ** whole(years, "years", 0)


@ratio("invoiced, ordered")
def variance_percent(invoiced: Decimal, ordered: Decimal) -> Decimal:
    """(invoiced - ordered) / ordered x 100; undefined where nothing was ordered."""
    return (invoiced - ordered) * HUNDRED / positive(ordered, "ordered")


@ratio("invoiced, ordered, threshold %")
def variance_exceeds(invoiced: Decimal, ordered: Decimal, threshold: Decimal) -> Decimal:
    """1 if |invoiced - ordered| x 100 > threshold x ordered, else 0: no division, so nothing rounds and 0 is served."""
    return Decimal(abs(invoiced - ordered) * HUNDRED > threshold * abs(ordered))


@money("invoice, credit % a breach, cap %, allowed downtime, downtime of a period...")
def sla_credit(
    invoice: Decimal, credit_percent: Decimal, cap_percent: Decimal, allowed: Decimal, *downtimes: Decimal
) -> Decimal:
    """min(breaches x credit %, cap %) of the invoice; a breach is a period with more downtime than allowed."""
    breaches = sum(downtime > allowed for downtime in downtimes)
    credit = breaches * not_negative(credit_percent, "credit %")
    return percent_of(invoice, min(credit, not_negative(cap_percent, "cap %")))


@money("claimed, sub-limit, rider")
def sub_limit_payable(claimed: Decimal, limit: Decimal, rider: Decimal) -> Decimal:
    """min(claimed, sub-limit + rider): a rider raises the sub-limit."""
    return min(claimed, limit + rider)


@money("balance, incoming, limit")
def gift_card_capacity(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    """max(0, min(incoming, limit - balance)): what fits on a card."""
    return max(Decimal(0), min(incoming, limit - balance))


@money("balance, incoming, limit")
def gift_card_overflow(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    """incoming - capacity: what does not fit."""
    return incoming - gift_card_capacity(balance, incoming, limit)


@money("old prices..., new prices...")
def net_price_delta(*figures: Decimal) -> Decimal:
    """Sum of the new prices - sum of the old ones, item for item; 0 if cancelled."""
    old, new = divide_lists(figures, 2)
    return total(new) - total(old)


# Half-year convention, in percent: IRS Publication 946, table A-1.
_MACRS = {
    3: "33.33 44.45 14.81 7.41",
    5: "20 32 19.20 11.52 11.52 5.76",
    7: "14.29 24.49 17.49 12.49 8.93 8.92 8.93 4.46",
    10: "10 18 14.40 11.52 9.22 7.37 6.55 6.55 6.56 6.55 3.28",
}


class Instalment(NamedTuple):
    payment: Decimal
    interest: Decimal
    balance: Decimal


def amortize_loan(principal: Decimal, annual_rate: Decimal, months: Decimal, places: int) -> list[Instalment]:
    """Every instalment: P i / (1 - (1 + i)^-n), i = annual rate / 1200, both rounded; the last pays what is left."""
    rate, number = not_negative(annual_rate, "annual rate %") / HUNDRED / 12, whole(months, "months")
    balance = positive(principal, "principal")
    level = to_minor_unit(balance * rate / (1 - (1 + rate) ** -number) if rate else balance / number, places)
    rows = []
    for month in range(1, number + 1):
        interest = to_minor_unit(balance * annual_rate / HUNDRED / 12, places)
        payment = balance + interest if month == number else min(level, balance + interest)
        balance += interest - payment
        rows.append(Instalment(payment, interest, balance))
    return rows


@money("principal, yearly %, months, month")
def loan_payment(principal: Decimal, rate: Decimal, months: Decimal, month: Decimal, *, places: int) -> Decimal:
    """P i / (1 - (1 + i)^-n), the last one all that is left (Excel's PMT)."""
    return _instalment(amortize_loan(principal, rate, months, places), month).payment


@money("principal, yearly %, months, month")
def loan_interest(principal: Decimal, rate: Decimal, months: Decimal, month: Decimal, *, places: int) -> Decimal:
    """Balance before the instalment x i (Excel's IPMT)."""
    return _instalment(amortize_loan(principal, rate, months, places), month).interest


@money("principal, yearly %, months, month")
def loan_balance(principal: Decimal, rate: Decimal, months: Decimal, month: Decimal, *, places: int) -> Decimal:
    """Balance before the instalment + its interest - the instalment; 0 after the last one."""
    return _instalment(amortize_loan(principal, rate, months, places), month).balance


@money("principal, yearly %, months")
def loan_total_interest(principal: Decimal, rate: Decimal, months: Decimal, *, places: int) -> Decimal:
    """Sum of the interest of all instalments (Excel's CUMIPMT, on rounded instalments)."""
    return total([row.interest for row in amortize_loan(principal, rate, months, places)])


@money("cost, salvage, life, period")
def straight_line(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int) -> Decimal:
    """(cost - salvage) / life in each period (IAS 16, paragraph 62); the periods sum to cost - salvage."""
    years, at = _asset_life(cost, salvage, life, period)
    return split(cost - salvage, [Decimal(1)] * years, places)[at - 1]


@money("cost, salvage, life, period")
def declining_balance(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int) -> Decimal:
    """Book value x 2 / life, or straight line over what is left once that is more (Excel's VDB, factor 2)."""
    years, at = _asset_life(cost, salvage, life, period)
    book, charge = cost, Decimal(0)
    for left in range(years, years - at, -1):
        faster = max(book * 2 / years, (book - salvage) / left)
        charge = min(to_minor_unit(faster, places), book - salvage) if left > 1 else book - salvage
        book -= charge
    return charge


@money("cost, salvage, life, period")
def sum_of_years(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int) -> Decimal:
    """(cost - salvage) x remaining life / (n (n + 1) / 2) (Excel's SYD); the periods sum to cost - salvage."""
    years, at = _asset_life(cost, salvage, life, period)
    return split(cost - salvage, [Decimal(left) for left in range(years, 0, -1)], places)[at - 1]


@money("cost, salvage, total units, units before, units")
def units_of_production(
    cost: Decimal, salvage: Decimal, all_units: Decimal, before: Decimal, units: Decimal, *, places: int
) -> Decimal:
    """(cost - salvage) x units / all units, as the step between two rounded running shares: all of them sum."""
    after = before + units
    if not 0 <= before <= after <= positive(all_units, "total units"):
        raise CannotCalculate(f"units must lie from 0 to {all_units:f}")
    return split(cost - salvage, [before, units, all_units - after], places)[1]


@money("cost, class in years, year")
def tax_depreciation(cost: Decimal, asset_class: Decimal, year: Decimal, *, places: int) -> Decimal:
    """MACRS, half-year convention, by year of a 3, 5, 7 or 10 year class (IRS Publication 946, table A-1)."""
    rates = _MACRS.get(whole(asset_class, "class"))
    if rates is None:
        raise CannotCalculate("class must be 3, 5, 7 or 10 years")
    shares = [Decimal(rate) for rate in rates.split()]
    return split(cost, shares, places)[whole(year, "year", high=len(shares)) - 1]


def _instalment(rows: list[Instalment], month: Decimal) -> Instalment:
    return rows[whole(month, "month", high=len(rows)) - 1]


def _asset_life(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal) -> tuple[int, int]:
    if not 0 <= salvage <= cost:
        raise CannotCalculate(f"salvage must lie from 0 to {cost:f}, not {salvage:f}")
    years = whole(life, "life")
    return years, whole(period, "period", high=years)
