"""Schedules in minor units: loans that end at zero and assets that end at their salvage value."""

from decimal import Decimal
from typing import NamedTuple

from services.executor.core.finance.calculator import (
    HUNDRED,
    CannotCalculate,
    money,
    not_negative,
    positive,
    split,
    to_minor_unit,
    total,
    whole,
)

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
    """Every instalment: P i / (1 - (1 + i)^-n), with i = annual rate / 1200, and interest on the balance, both rounded.

    The last one pays whatever is left, so that the balance ends at 0.
    """
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
    """P i / (1 - (1 + i)^-n), the last one all that is left (Excel's PMT; seed 002, amortize_loan)."""
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
