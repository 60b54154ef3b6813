"""Independent references for the calculators that are more than a line of arithmetic.

Whole-number fractions, or the standard library's statistics: nothing is shared with the calculators, no decimal and no
rounding of theirs. A fraction is compared to the last place; a float (normal distribution, roots) to half a unit of it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist, linear_regression, mean, stdev
from typing import NamedTuple

from hypothesis import strategies as st

Operands = list[Decimal]
Exact = Fraction | float
F = Fraction
_NORMAL = NormalDist()
# IRS Publication 946, table A-1, half-year convention, percent by year
_TABLE_A1 = {
    3: ["33.33", "44.45", "14.81", "7.41"],
    5: ["20", "32", "19.20", "11.52", "11.52", "5.76"],
    7: ["14.29", "24.49", "17.49", "12.49", "8.93", "8.92", "8.93", "4.46"],
    10: ["10", "18", "14.40", "11.52", "9.22", "7.37", "6.55", "6.55", "6.56", "6.55", "3.28"],
}


class Reference(NamedTuple):
    operands: st.SearchStrategy[Operands]
    value: Callable[[Sequence[Fraction]], Exact]


def rounded(exact: Fraction, places: int) -> Decimal:
    """Half up, away from zero, by whole-number division alone."""
    units = abs(exact) * 10**places
    whole = (2 * units.numerator + units.denominator) // (2 * units.denominator)
    return Decimal(whole if exact >= 0 else -whole).scaleb(-places)


def cents(exact: Fraction) -> Fraction:
    return Fraction(rounded(exact, 2))


def money(low: int = 0, high: int = 10**9) -> st.SearchStrategy[Decimal]:
    return st.integers(low, high).map(lambda units: Decimal(units).scaleb(-2))


def count(low: int, high: int) -> st.SearchStrategy[Decimal]:
    return st.integers(low, high).map(Decimal)


SOME = money(1)
PERCENT, SOME_PERCENT = money(0, 4000), money(1, 4000)


def row(*parts: st.SearchStrategy[Decimal]) -> st.SearchStrategy[Operands]:
    return st.tuples(*parts).map(list)


def then_some(
    first: st.SearchStrategy[Operands], more: st.SearchStrategy[Decimal], least: int = 1
) -> st.SearchStrategy[Operands]:
    return st.tuples(first, st.lists(more, min_size=least, max_size=8)).map(lambda both: [*both[0], *both[1]])


def part_of(most: int) -> st.SearchStrategy[Operands]:
    """A number from 1, and how many there are."""
    return st.integers(1, most).flatmap(
        lambda parts: st.integers(1, parts).map(lambda part: [Decimal(part), Decimal(parts)])
    )


def _life(most: int = 40) -> st.SearchStrategy[Operands]:
    """Cost, salvage, life, period."""
    return st.tuples(SOME, st.integers(0, 100), part_of(most)).map(
        lambda t: [t[0], Decimal(int(t[0] * t[1])).scaleb(-2), t[2][1], t[2][0]]
    )


def _loan() -> st.SearchStrategy[Operands]:
    return st.tuples(money(10_000), SOME_PERCENT, part_of(60)).map(lambda t: [t[0], t[1], t[2][1], t[2][0]])


def _pairs(figures: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    size = len(figures) // 2
    return list(zip(figures[:size], figures[size:], strict=True))


def _step(total: Fraction, before: Fraction, after: Fraction) -> Fraction:
    """What lies between two running shares of a total, each in whole cents."""
    return cents(total * after) - cents(total * before)


def _level(f: Sequence[Fraction]) -> Fraction:
    """The annuity formula."""
    rate = f[1] / 1200
    growth = (1 + rate) ** int(f[2])
    return f[0] * rate * growth / (growth - 1)


def owed_exactly(f: Sequence[Fraction], month: int) -> Fraction:
    """The closed form of an annuity's balance after so many unrounded payments."""
    rate = f[1] / 1200
    growth = (1 + rate) ** month
    return f[0] * growth - _level(f) * (growth - 1) / rate


def _instalments(f: Sequence[Fraction]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Payment, interest and what is owed then, in whole cents; the last payment is all that is left."""
    level, owed, lines = cents(_level(f)), f[0], []
    for month in range(int(f[2])):
        interest = cents(owed * f[1] / 1200)
        paid = owed + interest if month + 1 == f[2] else min(level, owed + interest)
        owed += interest - paid
        lines.append((paid, interest, owed))
    return lines


def _month(f: Sequence[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    return _instalments(f)[int(f[3]) - 1]


def _declining(f: Sequence[Fraction]) -> Fraction:
    """Twice the straight rate of the book value, in cents; straight over what is left from where that is more."""
    cost, salvage, life, period = f
    book, charge = cost, F(0)
    for year in range(int(period)):
        most = book - salvage
        charge = most if year + 1 == life else min(cents(max(book * 2 / life, most / (life - year))), most)
        book -= charge
    return charge


def _digits(f: Sequence[Fraction]) -> Fraction:
    """Sum of the years' digits, between running shares."""
    life, all_digits = int(f[2]), f[2] * (f[2] + 1) / 2
    seen = sum(range(life, life - int(f[3]), -1))
    return _step(f[0] - f[1], (seen - (f[2] - f[3] + 1)) / all_digits, seen / all_digits)


def _by_table(f: Sequence[Fraction]) -> Fraction:
    rates, year = [F(rate) / 100 for rate in _TABLE_A1[int(f[1])]], int(f[2])
    return _step(f[0], sum(rates[: year - 1], F(0)), sum(rates[:year], F(0)))


def _present(factor: Fraction, flows: Sequence[Fraction]) -> Fraction:
    return sum((flow / factor**year for year, flow in enumerate(flows)), F(0))


def _bond(f: Sequence[Fraction]) -> Fraction:
    face, coupon, earned, years, a_year = f
    factor, periods = 1 + earned / 100 / a_year, int(years * a_year)
    return _present(factor, [F(0), *[face * coupon / 100 / a_year] * periods]) + face / factor**periods


def _call(f: Sequence[Fraction]) -> float:
    spot, strike, rate, volatility, years = map(float, f)
    spread = volatility / 100 * math.sqrt(years)
    upper = (math.log(spot / strike) + (rate / 100 + (volatility / 100) ** 2 / 2) * years) / spread
    return spot * _NORMAL.cdf(upper) - strike * math.exp(-rate / 100 * years) * _NORMAL.cdf(upper - spread)


def _put(f: Sequence[Fraction]) -> float:
    spot, strike, rate, volatility, years = map(float, f)
    spread = volatility / 100 * math.sqrt(years)
    upper = (math.log(spot / strike) + (rate / 100 + (volatility / 100) ** 2 / 2) * years) / spread
    return strike * math.exp(-rate / 100 * years) * _NORMAL.cdf(spread - upper) - spot * _NORMAL.cdf(-upper)


def _sampled(f: Sequence[Fraction]) -> float:
    start, drift, volatility, years = map(float, f[:4])
    trials, spread = int(f[4]), volatility / 100 * math.sqrt(years)
    draws = (_NORMAL.inv_cdf((number + 0.5) / trials) for number in range(trials))
    return start * mean(math.exp((drift / 100) * years - spread**2 / 2 + spread * draw) for draw in draws)


def _at_risk(f: Sequence[Fraction]) -> float:
    value, drift, volatility, confidence, days = map(float, f)
    return value * (_NORMAL.inv_cdf(confidence / 100) * volatility / 100 * math.sqrt(days) - drift / 100 * days)


def _stockout(f: Sequence[Fraction]) -> float:
    stock, demand, deviation, days = map(float, f)
    return 100 * (1 - NormalDist(demand * days, deviation * math.sqrt(days)).cdf(stock))


def _rate_of_return(f: Sequence[Fraction]) -> float:
    """By halving in floats: an outlay, then income alone, so that one rate fits."""
    low, high = -0.99, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        worth = sum(float(flow) / (1 + middle) ** year for year, flow in enumerate(f))
        low, high = (middle, high) if worth > 0 else (low, middle)
    return low * 100


def _square_root(f: Sequence[Fraction]) -> float:
    return math.sqrt(-f[1])


def _slope(f: Sequence[Fraction]) -> float:
    xs, ys = zip(*_pairs(f), strict=True)
    return float(linear_regression(list(map(float, xs)), list(map(float, ys))).slope)


def _forecast(f: Sequence[Fraction]) -> float:
    xs, ys = zip(*_pairs(f[1:]), strict=True)
    line = linear_regression(list(map(float, xs)), list(map(float, ys)))
    return float(line.slope) * float(f[0]) + float(line.intercept)


def _score(f: Sequence[Fraction]) -> float:
    values = [float(value) for value in f[1:]]
    return (float(f[0]) - mean(values)) / stdev(values)


def _spread_out(points: st.SearchStrategy[Decimal]) -> st.SearchStrategy[Operands]:
    """Different xs, and as many ys."""
    xs = st.lists(st.integers(0, 50), min_size=2, max_size=8, unique=True)
    both = xs.flatmap(
        lambda found: st.tuples(st.just(found), st.lists(points, min_size=len(found), max_size=len(found)))
    )
    return both.map(lambda t: [*map(Decimal, t[0]), *t[1]])


def _day(number: Fraction) -> date:
    return date.fromordinal(int(number))


def _working(f: Sequence[Fraction]) -> Fraction:
    first, last, *free = map(_day, f)
    days = (first + timedelta(days=each) for each in range((last - first).days))
    return F(sum(day.isoweekday() <= 5 and day not in free for day in days))


DAY = count(735_000, 735_700)
_RANGE = st.tuples(st.integers(735_000, 735_400), st.integers(0, 200)).map(lambda t: [Decimal(t[0]), Decimal(sum(t))])
_UNITS = st.lists(st.integers(0, 9999), min_size=3, max_size=3).map(
    lambda n: [Decimal(sum(n) + 1), Decimal(n[0]), Decimal(n[1])]
)
_OUTLAY = st.tuples(st.integers(1000, 10**6), st.lists(st.integers(0, 80), min_size=1, max_size=8)).map(
    lambda t: [Decimal(-t[0]), *(Decimal(t[0] * share) / 100 for share in [*t[1], 100])]
)
_OPTION = (money(100, 50_000), money(100, 50_000), SOME_PERCENT, money(500, 9000), count(1, 5))


REFERENCES: Mapping[str, Reference] = {
    "loan_payment": Reference(_loan(), lambda f: _month(f)[0]),
    "loan_interest": Reference(_loan(), lambda f: _month(f)[1]),
    "loan_balance": Reference(_loan(), lambda f: _month(f)[2]),
    "loan_total_interest": Reference(
        _loan().map(lambda operands: operands[:3]), lambda f: sum((line[1] for line in _instalments(f)), F(0))
    ),
    "declining_balance": Reference(_life(), _declining),
    "sum_of_years": Reference(_life(), _digits),
    "units_of_production": Reference(
        st.tuples(SOME, _UNITS).map(lambda t: [t[0], t[0] / 10, *t[1]]).map(lambda o: [o[0], round(o[1], 2), *o[2:]]),
        lambda f: _step(f[0] - f[1], f[3] / f[2], (f[3] + f[4]) / f[2]),
    ),
    "tax_depreciation": Reference(
        st.sampled_from([*_TABLE_A1]).flatmap(lambda kind: row(SOME, st.just(Decimal(kind)), count(1, kind + 1))),
        _by_table,
    ),
    "npv": Reference(then_some(row(PERCENT), money(-(10**8), 10**8)), lambda f: _present(1 + f[0] / 100, f[1:])),
    "irr": Reference(_OUTLAY, _rate_of_return),
    "bond_price": Reference(
        row(SOME, PERCENT, PERCENT, count(1, 15), st.sampled_from([Decimal(1), Decimal(2), Decimal(4)])), _bond
    ),
    "monte_carlo": Reference(row(money(100, 10**6), PERCENT, money(0, 6000), count(1, 4), count(1, 40)), _sampled),
    "black_scholes_call": Reference(row(*_OPTION), _call),
    "black_scholes_put": Reference(row(*_OPTION), _put),
    "value_at_risk": Reference(
        row(money(100, 10**8), money(0, 50), PERCENT, money(5001, 9999), count(1, 30)), _at_risk
    ),
    "newton_raphson": Reference(
        row(st.just(Decimal(100)), count(-9000, -1), st.just(Decimal(0)), st.just(Decimal(1))), _square_root
    ),
    "economic_order_quantity": Reference(
        row(count(0, 10**6), SOME, SOME), lambda f: math.sqrt(2 * float(f[0]) * float(f[1]) / float(f[2]))
    ),
    "stockout_risk": Reference(row(money(0, 10**5), money(0, 5000), money(100, 5000), count(1, 30)), _stockout),
    "z_score": Reference(
        st.tuples(count(0, 500), st.lists(st.integers(0, 500), min_size=2, max_size=8, unique=True)).map(
            lambda t: [t[0], *map(Decimal, t[1])]
        ),
        _score,
    ),
    "regression_slope": Reference(_spread_out(money(0, 10**6)), _slope),
    "regression_forecast": Reference(
        st.tuples(count(0, 99), _spread_out(money(0, 10**6))).map(lambda t: [t[0], *t[1]]), _forecast
    ),
    "business_days": Reference(then_some(_RANGE, DAY, 0), _working),
}
