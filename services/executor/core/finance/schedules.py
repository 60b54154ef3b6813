"""Schedules in minor units: loans that end at zero and assets that end at their salvage value."""

from decimal import Decimal
from typing import NamedTuple

from services.executor.core.finance.money import (
    HUNDRED,
    CannotCalculate,
    Figures,
    not_negative,
    positive,
    split,
    to_minor_unit,
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


def level_payment(principal: Decimal, annual_rate: Decimal, months: int) -> Decimal:
    """P i / (1 - (1 + i)^-n) with i = annual rate / 1200, unrounded: the annuity formula (Excel's PMT)."""
    rate = annual_rate / HUNDRED / 12
    return principal * rate / (1 - (1 + rate) ** -months) if rate else principal / months


def amortize_loan(principal: Decimal, annual_rate: Decimal, months: int, places: int) -> list[Instalment]:
    """Every instalment: interest on the balance, rounded; the last pays whatever is left, so the balance ends at 0."""
    level = to_minor_unit(level_payment(principal, annual_rate, months), places)
    rows, balance = [], principal
    for month in range(1, months + 1):
        interest = to_minor_unit(balance * annual_rate / HUNDRED / 12, places)
        payment = balance + interest if month == months else min(level, balance + interest)
        balance += interest - payment
        rows.append(Instalment(payment, interest, balance))
    return rows


def loan_payment(figures: Figures, places: int) -> Decimal:
    """P i / (1 - (1 + i)^-n), the last one all that is left (Excel's PMT; seed 002, amortize_loan)."""
    return _instalment(figures, places).payment


def loan_interest(figures: Figures, places: int) -> Decimal:
    """Balance before the instalment x i (Excel's IPMT)."""
    return _instalment(figures, places).interest


def loan_balance(figures: Figures, places: int) -> Decimal:
    """Balance before the instalment + its interest - the instalment; 0 after the last one."""
    return _instalment(figures, places).balance


def loan_total_interest(figures: Figures, places: int) -> Decimal:
    """Sum of the interest of all instalments (Excel's CUMIPMT, on rounded instalments)."""
    return sum((row.interest for row in _loan(figures, places)), Decimal(0))


def straight_line(figures: Figures, places: int) -> Decimal:
    """(cost - salvage) / life in each period (IAS 16, paragraph 62); the periods sum to cost - salvage."""
    base, _, life, period = _asset(figures)
    return split(base, [Decimal(1)] * life, places)[period - 1]


def sum_of_years(figures: Figures, places: int) -> Decimal:
    """(cost - salvage) x remaining life / (n (n + 1) / 2) (Excel's SYD); the periods sum to cost - salvage."""
    base, _, life, period = _asset(figures)
    return split(base, [Decimal(left) for left in range(life, 0, -1)], places)[period - 1]


def declining_balance(figures: Figures, places: int) -> Decimal:
    """Book value x 2 / life, or straight line over what is left once that is more (Excel's VDB, factor 2)."""
    base, salvage, life, period = _asset(figures)
    book, charge = base + salvage, Decimal(0)
    for left in range(life, life - period, -1):
        doubled, straight = book * 2 / life, (book - salvage) / left
        charge = min(to_minor_unit(max(doubled, straight), places), book - salvage) if left > 1 else book - salvage
        book -= charge
    return charge


def units_of_production(figures: Figures, places: int) -> Decimal:
    """(cost - salvage) x units / all units, as the step between two rounded running shares: all of them sum."""
    cost, salvage, total, before, units = figures
    after = before + units
    if not 0 <= before <= after <= positive(total, "total units"):
        raise CannotCalculate(f"units must lie from 0 to {total:f}")
    shares = split(cost - salvage, [before, units, total - after], places)
    return shares[1]


def tax_depreciation(figures: Figures, places: int) -> Decimal:
    """MACRS, half-year convention, by year of a 3, 5, 7 or 10 year class (IRS Publication 946, table A-1)."""
    cost, asset_class, year = figures
    rates = _MACRS.get(whole(asset_class, "class"))
    if rates is None:
        raise CannotCalculate("class must be 3, 5, 7 or 10 years")
    shares = [Decimal(rate) for rate in rates.split()]
    return split(cost, shares, places)[whole(year, "year", high=len(shares)) - 1]


def _loan(figures: Figures, places: int) -> list[Instalment]:
    principal, rate, months = figures
    return amortize_loan(
        positive(principal, "principal"), not_negative(rate, "annual rate %"), whole(months, "months"), places
    )


def _instalment(figures: Figures, places: int) -> Instalment:
    *loan, month = figures
    rows = _loan(loan, places)
    return rows[whole(month, "month", high=len(rows)) - 1]


def _asset(figures: Figures) -> tuple[Decimal, Decimal, int, int]:
    cost, salvage, life, period = figures
    if not 0 <= salvage <= cost:
        raise CannotCalculate(f"salvage must lie from 0 to {cost:f}, not {salvage:f}")
    of = whole(life, "life")
    return cost - salvage, salvage, of, whole(period, "period", high=of)
