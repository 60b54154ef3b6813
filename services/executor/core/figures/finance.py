"""The finance catalogue: every calculator by name, with the order of its figures and its formula.

Rates are in percent. Amounts that have to sum to a whole are rounded by their formula.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import (
    ROUND_CEILING,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from functools import partial
from inspect import signature
from statistics import NormalDist
from typing import NamedTuple

from services.executor.core.figures.calculator import (
    RATIO_PLACES,
    CannotCalculate,
    check_operands,
    format_decimal,
    round_half_up,
)

Figures = Sequence[Decimal]
_Formula = Callable[..., Decimal]
_FormulaTable = Mapping[str, tuple[str, _Formula]]  # by name, the arguments and the formula of a ``Calculator``
_ZERO = Decimal(0)


class Calculator(NamedTuple):
    """A formula with the names of its figures.

    ``arguments``: the names, in brackets if optional, ending in ``...`` if repeated. ``is_money``: the result is
    rounded half up to the currency's minor unit, else to six places. ``takes_dates``: the figures are days.
    """

    arguments: str
    formula: _Formula
    is_money: bool = False
    takes_dates: bool = False

    @property
    def rounds_parts(self) -> bool:
        """Whether the formula takes the number of decimal places and rounds by itself, so that rounded parts sum to the
        whole.
        """
        return "places" in signature(self.formula).parameters


def _require_whole(number: Decimal, name: str, low: int = 1, high: int = 1200) -> int:
    """The figure as an integer; raises ``CannotCalculate`` unless it is whole and within the bounds."""
    if number != number.to_integral_value() or not low <= number <= high:
        raise CannotCalculate(f"{name} must be a whole number from {low} to {high}, not {number:f}")
    return int(number)


def _require_positive(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` unless it is above zero."""
    if number <= 0:
        raise CannotCalculate(f"{name} must be above zero, not {number:f}")
    return number


def _require_not_negative(number: Decimal, name: str) -> Decimal:
    """The figure; raises ``CannotCalculate`` if it is below zero."""
    if number < 0:
        raise CannotCalculate(f"{name} must not be below zero, not {number:f}")
    return number


def _percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """amount x percent / 100."""
    return amount * percent / 100


def _add_figures(figures: Figures) -> Decimal:
    """The sum of the figures; 0 if there are none."""
    return sum(figures, Decimal(0))


def _split_into_lists(figures: Figures, number: int) -> list[Figures]:
    """The figures split in order into so many equally long lists; raises ``CannotCalculate`` if they do not divide."""
    size, remainder = divmod(len(figures), number)
    if remainder or not size:
        lists = {2: "two", 3: "three"}[number]
        raise CannotCalculate(f"{lists} lists of equal length are needed, not {len(figures)} figures")
    return [figures[index * size : (index + 1) * size] for index in range(number)]


def split_by_weights(whole_amount: Decimal, weights: Figures, places: int) -> list[Decimal]:
    """The amount split by weights into parts that sum to it, each at most one minor unit off.

    Raises ``CannotCalculate`` for a negative weight, and if the weights sum to 0.
    """
    sum_of_weights = _require_positive(
        _add_figures([_require_not_negative(weight, "a weight") for weight in weights]), "the weights"
    )
    parts = []
    weight_so_far = Decimal(0)
    amount_so_far = Decimal(0)
    for weight in weights[:-1]:
        weight_so_far += weight
        share = round_half_up(whole_amount * weight_so_far / sum_of_weights, places)
        parts.append(share - amount_so_far)
        amount_so_far = share
    return [*parts, whole_amount - amount_so_far]


def _compute_part_of_split(amount: Decimal, weights: Figures, part: Decimal, name: str, places: int) -> Decimal:
    """One part, counted from 1, of an amount that is split by weights, so that all parts sum to it."""
    return split_by_weights(amount, weights, places)[_require_whole(part, name, high=len(weights)) - 1]


def _prorate(amount: Decimal, used_days: Decimal, days: Decimal, *, places: int) -> Decimal:
    if not 0 <= used_days <= _require_positive(days, "total days"):
        raise CannotCalculate(f"days used must lie from 0 to {days:f}, not {used_days:f}")
    return round_half_up(amount * used_days / days, places)


def _recognize_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """The part of the value that is recognized straight-line after ``elapsed`` of ``months`` months; all once they are
    over.

    IFRS 15, paragraph 39. Raises ``CannotCalculate`` unless both are whole.
    """
    month_count = _require_whole(months, "months")
    elapsed_months = min(_require_whole(elapsed, "elapsed", 0, 12000), month_count)
    return value if elapsed_months == month_count else round_half_up(value * elapsed_months / month_count, places)


def _sum_over_contracts(formula: _Formula) -> _Formula:
    """The formula for the sum over several contracts, each rounded by itself.

    Its figures: the value of each, then the months of each, then the elapsed months of each.
    """
    return lambda *figures, places: _add_figures(
        [formula(*contract, places=places) for contract in zip(*_split_into_lists(figures, 3), strict=True)]
    )


def _find_rest_after(formula: _Formula) -> _Formula:
    """The formula for what is left of its first figure after what ``formula`` makes of all of them."""
    return lambda amount, *figures, places: amount - formula(amount, *figures, places=places)


def _compute_termination_fee(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    return round_half_up(_percent_of(remaining, _require_not_negative(fee, "fee %")), places)


def _compute_service_level_credit(
    invoice: Decimal, credit_percent: Decimal, cap_percent: Decimal, allowed_downtime: Decimal, *downtimes: Decimal
) -> Decimal:
    """The credit on the invoice: a percentage for each period with more downtime than allowed, up to the cap."""
    credit = sum(downtime > allowed_downtime for downtime in downtimes) * _require_not_negative(
        credit_percent, "credit %"
    )
    return _percent_of(invoice, min(credit, _require_not_negative(cap_percent, "cap %")))


def _find_gift_card_capacity(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    return max(_ZERO, min(incoming, limit - balance))


def _sum_price_changes(*figures: Decimal) -> Decimal:
    old, new = _split_into_lists(figures, 2)
    return _add_figures(new) - _add_figures(old)


class Instalment(NamedTuple):
    payment: Decimal
    interest: Decimal
    balance: Decimal


def amortize_loan(principal: Decimal, annual_rate: Decimal, months: Decimal, places: int) -> list[Instalment]:
    """Every instalment of a loan as an annuity, payment and interest rounded; the last one pays what is left.

    ``annual_rate``: in per cent. Raises ``CannotCalculate`` for a principal that is not above zero, a negative rate, or
    months that are no whole number.
    """
    rate = _require_not_negative(annual_rate, "annual rate %") / 100 / 12
    number = _require_whole(months, "months")
    balance = _require_positive(principal, "principal")
    level = round_half_up(balance * rate / (1 - (1 + rate) ** -number) if rate else balance / number, places)
    rows = []
    for month in range(1, number + 1):
        interest = round_half_up(balance * annual_rate / 100 / 12, places)
        payment = balance + interest if month == number else min(level, balance + interest)
        balance += interest - payment
        rows.append(Instalment(payment, interest, balance))
    return rows


def _find_field_of_instalment(
    field: int, principal: Decimal, rate: Decimal, months: Decimal, month: Decimal, *, places: int
) -> Decimal:
    """One field of a loan's instalment, by its position in ``Instalment``; ``month`` counts from 1."""
    rows = amortize_loan(principal, rate, months, places)
    return rows[_require_whole(month, "month", high=len(rows)) - 1][field]


def _subtract_salvage(cost: Decimal, salvage: Decimal) -> Decimal:
    if not 0 <= salvage <= cost:
        raise CannotCalculate(f"salvage must lie from 0 to {cost:f}, not {salvage:f}")
    return cost - salvage


def _depreciate_declining(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int) -> Decimal:
    """The charge of one period: book value x 2 / life, or straight line over the remaining life once that is more."""
    amount_left, years = _subtract_salvage(cost, salvage), _require_whole(life, "life")
    charge = _ZERO
    for years_left in range(years, years - _require_whole(period, "period", high=years), -1):
        declining_charge = max((amount_left + salvage) * 2 / years, amount_left / years_left)
        charge = min(round_half_up(declining_charge, places), amount_left) if years_left > 1 else amount_left
        amount_left -= charge
    return charge


def _depreciate_by_sum_of_years(
    cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int
) -> Decimal:
    amount = _subtract_salvage(cost, salvage)
    weights = [*map(Decimal, range(_require_whole(life, "life"), 0, -1))]
    return _compute_part_of_split(amount, weights, period, "period", places)


def _depreciate_by_units(
    cost: Decimal, salvage: Decimal, all_units: Decimal, units_before: Decimal, units: Decimal, *, places: int
) -> Decimal:
    units_after = units_before + units
    if not 0 <= units_before <= units_after <= _require_positive(all_units, "total units"):
        raise CannotCalculate(f"units must lie from 0 to {all_units:f}")
    return split_by_weights(cost - salvage, [units_before, units, all_units - units_after], places)[1]


# Half-year convention, in percent by class in years: IRS Publication 946, table A-1.
_MACRS_RATES_BY_CLASS = {
    3: "33.33 44.45 14.81 7.41",
    5: "20 32 19.20 11.52 11.52 5.76",
    7: "14.29 24.49 17.49 12.49 8.93 8.92 8.93 4.46",
    10: "10 18 14.40 11.52 9.22 7.37 6.55 6.55 6.56 6.55 3.28",
}


def _depreciate_for_tax(cost: Decimal, asset_class: Decimal, year: Decimal, *, places: int) -> Decimal:
    rates = _MACRS_RATES_BY_CLASS.get(_require_whole(asset_class, "class"))
    if rates is None:
        raise CannotCalculate("class must be 3, 5, 7 or 10 years")
    return _compute_part_of_split(cost, [Decimal(rate) for rate in rates.split()], year, "year", places)


_ROOT_PRECISION = Decimal("1E-20")
_LOWEST_RATE = Decimal("-0.99")
_HIGHEST_RATE = Decimal(10)
_RATE_STEPS = 400
_MOST_FLOWS = 366


def _present_value(factor: Decimal, flows: Figures) -> Decimal:
    """Sum of flow_t / factor^t, the first flow at t = 0."""
    value = _ZERO
    for flow in reversed(flows):
        value = value / factor + flow
    return value


def _find_internal_rate_of_return(*flows: Decimal) -> Decimal:
    """The rate in percent (-99 to 1000) that makes the present value 0; raises ``CannotCalculate`` unless one fits."""
    if len(flows) > _MOST_FLOWS:
        raise CannotCalculate(f"at most {_MOST_FLOWS} flows, not {len(flows)}")
    step = (_HIGHEST_RATE - _LOWEST_RATE) / _RATE_STEPS
    rates = [_LOWEST_RATE + step * number for number in range(_RATE_STEPS + 1)]
    values = [_present_value(1 + rate, flows) for rate in rates]
    sign_changes = [number for number in range(_RATE_STEPS) if (values[number] > 0) != (values[number + 1] > 0)]
    if len(sign_changes) != 1:
        raise CannotCalculate(f"{'several rates fit' if sign_changes else 'no rate fits'} these flows")
    low = rates[sign_changes[0]]
    high = rates[sign_changes[0] + 1]
    is_rising = values[sign_changes[0]] <= 0
    while high - low > _ROOT_PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if (_present_value(1 + middle, flows) <= 0) == is_rising else (low, middle)
    return (low + high) / 2 * 100


def _price_bond(
    face: Decimal, coupon: Decimal, yearly_yield: Decimal, years: Decimal, payments_a_year: Decimal
) -> Decimal:
    periods = _require_whole(years * payments_a_year, "years x payments a year")
    factor = 1 + yearly_yield / 100 / _require_positive(payments_a_year, "payments a year")
    payment = face * coupon / 100 / payments_a_year
    return _present_value(factor, [_ZERO] + [payment] * periods) + face / factor**periods


_MOST_LOGNORMAL_SPREAD = Decimal(2)  # a wider spread has its mean in tails that few strata do not reach
_TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021")
_FARTHEST_NORMAL_QUANTILE = Decimal(9)  # beyond this nothing is left in eighteen places
_LEAST_SERIES_TERM = Decimal("1E-30")
_HIGHEST_CONFIDENCE = Decimal("99.99")


def _normal_density(point: Decimal) -> Decimal:
    """exp(-x^2 / 2) / sqrt(2 pi)."""
    return (-point * point / 2).exp() / _TWO_PI.sqrt()


def normal_cumulative(point: Decimal) -> Decimal:
    """1/2 + density(x) (x + x^3/3 + x^5/(3 5) + ...): Abramowitz and Stegun 26.2.11."""
    if abs(point) > _FARTHEST_NORMAL_QUANTILE:
        return Decimal(point > 0)
    term = total_of_terms = point
    odd = 1
    while abs(term) > _LEAST_SERIES_TERM:
        odd += 2
        term *= point * point / odd
        total_of_terms += term
    return Decimal("0.5") + _normal_density(point) * total_of_terms


def normal_quantile(probability: Decimal) -> Decimal:
    """The point below which the share ``probability`` lies: AS241 and two Newton steps, the same on every machine."""
    point = Decimal(str(NormalDist().inv_cdf(float(probability))))
    for _ in range(2):
        point -= (normal_cumulative(point) - probability) / _normal_density(point)
    return point


def _simulate_growth(start: Decimal, mean: Decimal, volatility: Decimal, years: Decimal, trials: Decimal) -> Decimal:
    """The mean of S exp((m - s^2/2) t + s sqrt(t) z) over evenly stratified draws z, the same at every run.

    ``mean`` and ``volatility``: per cent a year. Raises ``CannotCalculate`` if the volatility over that time is too
    great to be sampled, or the trials are no whole number up to 500.
    """
    count, deviation = _require_whole(trials, "trials", high=500), volatility / 100
    drift, spread = (mean / 100 - deviation**2 / 2) * years, deviation * years.sqrt()
    if spread > _MOST_LOGNORMAL_SPREAD:
        raise CannotCalculate("volatility over that time is too great to be sampled")
    draws = [normal_quantile((Decimal(number) + Decimal("0.5")) / count) for number in range(count)]
    return start * _add_figures([(drift + spread * draw).exp() for draw in draws]) / count


def _discount_strike(strike: Decimal, rate: Decimal, years: Decimal) -> Decimal:
    return strike * (-rate / 100 * years).exp()


def _price_call_option(spot: Decimal, strike: Decimal, rate: Decimal, volatility: Decimal, years: Decimal) -> Decimal:
    for figure in (spot, strike, rate, volatility, years):
        _require_positive(figure, "each figure")
    spread = volatility / 100 * years.sqrt()
    upper = ((spot / strike).ln() + (rate / 100) * years) / spread + spread / 2
    return spot * normal_cumulative(upper) - _discount_strike(strike, rate, years) * normal_cumulative(upper - spread)


def _compute_value_at_risk(
    value: Decimal, mean: Decimal, volatility: Decimal, confidence: Decimal, days: Decimal
) -> Decimal:
    if not 50 < confidence <= _HIGHEST_CONFIDENCE:
        raise CannotCalculate(f"confidence must lie above 50 and up to {_HIGHEST_CONFIDENCE} %")
    spread = normal_quantile(confidence / 100) * volatility / 100 * _require_positive(days, "days").sqrt()
    return value * (spread - mean / 100 * days)


def _evaluate_polynomial(coefficients: Figures, point: Decimal) -> Decimal:
    value = _ZERO
    for coefficient in reversed(coefficients):
        value = value * point + coefficient
    return value


def _find_polynomial_root(point: Decimal, *coefficients: Decimal) -> Decimal:
    """A root of a polynomial by Newton's method, from ``point``; the coefficients begin with the constant.

    Raises ``CannotCalculate`` if none is found.
    """
    slopes = [power * coefficient for power, coefficient in enumerate(coefficients)][1:]
    for _ in range(200):
        slope = _evaluate_polynomial(slopes, point)
        if not slope:
            raise CannotCalculate("the slope is 0 there; begin elsewhere")
        step = _evaluate_polynomial(coefficients, point) / slope
        point -= step
        if abs(step) < _ROOT_PRECISION:
            return point
    raise CannotCalculate("no root was found from that start")


def _compute_pay_with_overtime(hours: Decimal, limit: Decimal, rate: Decimal, multiplier: Decimal) -> Decimal:
    above = max(_require_not_negative(hours, "hours") - limit, _ZERO)
    return rate * (hours - above + above * multiplier)


def _compute_uptime_percent(period: Decimal, *downtimes: Decimal) -> Decimal:
    down = _add_figures(downtimes)
    if not 0 <= down <= _require_positive(period, "period"):
        raise CannotCalculate("downtime must lie within the period")
    return (period - down) * 100 / period


def _compute_stockout_risk(stock: Decimal, demand: Decimal, deviation: Decimal, days: Decimal) -> Decimal:
    """1 - N((stock - demand d) / (s sqrt(d))) in percent: Silver and Pyke, chapter 7."""
    spread = _require_positive(deviation, "deviation") * _require_positive(days, "days").sqrt()
    return 100 * (1 - normal_cumulative((stock - demand * days) / spread))


def _compute_withheld_tax(gross: Decimal, rate: Decimal, *, places: int) -> Decimal:
    return round_half_up(_percent_of(gross, rate), places)


def _sum_of_products(figures: Figures, other_figures: Figures) -> Decimal:
    return _add_figures([figure * other_figure for figure, other_figure in zip(figures, other_figures, strict=True)])


def _sum_products_of_lists(*figures: Decimal) -> Decimal:
    """The sum of the products of the first half of the figures with the other half, one by one."""
    return _sum_of_products(*_split_into_lists(figures, 2))


def _mean(values: Figures) -> Decimal:
    return _add_figures(values) / _require_positive(Decimal(len(values)), "the number of values")


def _compute_weighted_average(*values_then_weights: Decimal) -> Decimal:
    values, weights = _split_into_lists(values_then_weights, 2)
    return _sum_of_products(values, weights) / _require_positive(_add_figures(weights), "the sum of the weights")


def _compute_z_score(point: Decimal, *values: Decimal) -> Decimal:
    mean = _mean(values)
    degrees_of_freedom = _require_positive(Decimal(len(values) - 1), "n - 1")
    variance = _add_figures([(value - mean) ** 2 for value in values]) / degrees_of_freedom
    return (point - mean) / _require_positive(variance, "the variance").sqrt()


def _find_regression_slope(*figures: Decimal) -> Decimal:
    xs, ys = _split_into_lists(figures, 2)
    means = _mean(xs), _mean(ys)
    from_mean_x, from_mean_y = ([point - mean for point in axis] for axis, mean in zip((xs, ys), means, strict=True))
    spread = _require_positive(_sum_of_products(from_mean_x, from_mean_x), "the spread of x")
    return _sum_of_products(from_mean_x, from_mean_y) / spread


def _forecast_linear(point: Decimal, *pairs: Decimal) -> Decimal:
    xs, ys = _split_into_lists(pairs, 2)
    return _mean(ys) + _find_regression_slope(*pairs) * (point - _mean(xs))


def _compute_herfindahl_index(*parts: Decimal) -> Decimal:
    whole_amount = _require_positive(_add_figures([_require_not_negative(part, "a part") for part in parts]), "the sum")
    return _add_figures([(part * 100 / whole_amount) ** 2 for part in parts])


_MOST_DAYS = 40_000
_LAST_DAY = 3_652_059  # the number of the calendar's last day, 31 December 9999


def _count_business_days(*figures: Decimal) -> Decimal:
    """Mondays to Fridays from the first day up to but without the last, without the holidays that follow.

    ``figures``: days as ordinals. Raises ``CannotCalculate`` if the last lies before the first, or a century after it.
    """
    first_day, end_day, *holidays_listed = (_require_whole(figure, "a day", high=_LAST_DAY) for figure in figures)
    holidays = frozenset(holidays_listed)
    if not 0 <= end_day - first_day <= _MOST_DAYS:
        raise CannotCalculate("the second date must not lie before the first, nor a century after it")
    return Decimal(sum((day - 1) % 7 < 5 and day not in holidays for day in range(first_day, end_day)))


# By name, what the calculators take and their formulas: first those whose result is an amount of money.
_MONEY_FORMULAS: _FormulaTable = {
    "round_money": ("amount", lambda amount: amount),
    "split_part": (
        "total, part number, parts",
        lambda amount, part, parts, *, places: _compute_part_of_split(
            amount, [Decimal(1)] * _require_whole(parts, "parts"), part, "part", places
        ),
    ),
    "allocation": (
        "total, part number, weight...",
        lambda amount, part, *weights, places: _compute_part_of_split(amount, weights, part, "part", places),
    ),
    "prorated_used": ("total, days used, total days", _prorate),
    "prorated_remaining": ("total, days used, total days", _find_rest_after(_prorate)),
    "recognized_revenue": ("value, months, elapsed", _recognize_revenue),
    "deferred_revenue": ("value, months, elapsed", _find_rest_after(_recognize_revenue)),  # IFRS 15, paragraph 106
    "recognized_revenue_total": ("values..., months..., elapsed...", _sum_over_contracts(_recognize_revenue)),
    "deferred_revenue_total": (
        "values..., months..., elapsed...", _sum_over_contracts(_find_rest_after(_recognize_revenue))
    ),
    "termination_fee": ("remaining value, fee %", _compute_termination_fee),
    "early_termination_refund": (
        "remaining value, fee %",
        lambda *figures, places: max(_find_rest_after(_compute_termination_fee)(*figures, places=places), _ZERO),
    ),
    "contract_escalation": (  # a yearly rise on the risen amount
        "base, yearly %, years",
        lambda base, rate, years: (
            base * _require_positive(1 + rate / 100, "1 + the yearly rate") ** _require_whole(years, "years", 0)
        ),
    ),
    "sla_credit": (
        "invoice, credit % a breach, cap %, allowed downtime, downtime of a period...", _compute_service_level_credit
    ),
    "sub_limit_payable": (  # a rider raises the sub-limit
        "claimed, sub-limit, rider", lambda claimed, limit, rider: min(claimed, limit + rider)
    ),
    "gift_card_capacity": ("balance, incoming, limit", _find_gift_card_capacity),
    "gift_card_overflow": (
        "balance, incoming, limit",
        lambda balance, incoming, limit: incoming - _find_gift_card_capacity(balance, incoming, limit),
    ),
    "net_price_delta": ("old prices..., new prices...", _sum_price_changes),
    "loan_payment": ("principal, yearly %, months, month", partial(_find_field_of_instalment, 0)),  # PMT
    "loan_interest": ("principal, yearly %, months, month", partial(_find_field_of_instalment, 1)),  # IPMT
    "loan_balance": ("principal, yearly %, months, month", partial(_find_field_of_instalment, 2)),
    "loan_total_interest": (  # CUMIPMT, on rounded instalments
        "principal, yearly %, months",
        lambda principal, rate, months, *, places: _add_figures(
            [row.interest for row in amortize_loan(principal, rate, months, places)]
        ),
    ),
    "straight_line": (  # IAS 16, paragraph 62
        "cost, salvage, life, period",
        lambda cost, salvage, life, period, *, places: _compute_part_of_split(
            _subtract_salvage(cost, salvage), [Decimal(1)] * _require_whole(life, "life"), period, "period", places
        ),
    ),
    "declining_balance": ("cost, salvage, life, period", _depreciate_declining),  # VDB, factor 2
    "sum_of_years": ("cost, salvage, life, period", _depreciate_by_sum_of_years),  # SYD
    "units_of_production": ("cost, salvage, total units, units before, units", _depreciate_by_units),
    "tax_depreciation": ("cost, class in years, year", _depreciate_for_tax),
    "npv": (  # Brealey and Myers, chapter 2; Excel's NPV has the first flow at t = 1
        "rate %, flow from now on...", lambda rate, *flows: _present_value(1 + rate / 100, flows)
    ),
    "bond_price": ("face, coupon %, yield %, years, payments a year", _price_bond),  # Fabozzi, Bond Markets, chapter 2
    "compound_interest": (  # P (1 + r/n)^(n t) - P: the interest alone; years need not be whole
        "principal, yearly %, times a year, years",
        lambda principal, rate, a_year, years: (
            principal * ((1 + rate / 100 / _require_positive(a_year, "times a year")) ** (a_year * years) - 1)
        ),
    ),
    "monte_carlo": ("start, yearly %, volatility %, years, trials", _simulate_growth),
    # European, without dividends: Hull, Options, chapter 15; the put by put-call parity
    "black_scholes_call": ("spot, strike, rate %, volatility %, years", _price_call_option),
    "black_scholes_put": (
        "spot, strike, rate %, volatility %, years",
        lambda spot, strike, rate, volatility, years: (
            _price_call_option(spot, strike, rate, volatility, years) - spot + _discount_strike(strike, rate, years)
        ),
    ),
    # V (z s sqrt(d) - m d), m and s a day: RiskMetrics, 1996
    "value_at_risk": ("value, daily %, daily volatility %, confidence %, days", _compute_value_at_risk),
    # the whole pay: 29 CFR 778.110
    "overtime_pay": ("hours, limit, hourly rate, multiplier", _compute_pay_with_overtime),
    "benefits_cost": (
        "salary, benefits %, fixed cost, heads",
        lambda salary, percent, fixed, heads: (
            (_percent_of(salary, percent) + fixed) * _require_whole(heads, "heads", 0, 10**7)
        ),
    ),
    "late_penalty": (
        "amount, % a day, days late, cap %",
        lambda amount, rate, days, cap: _percent_of(amount, min(rate * max(days, _ZERO), cap)),
    ),
    "inventory_value": ("quantities..., unit costs...", _sum_products_of_lists),
    # Directive 2006/112/EC: the taxable amount is without the tax
    "vat_on_net": ("net, rate %", _percent_of),
    "vat_in_gross": (  # solves gross = net + net x rate / 100
        "gross, rate %", lambda gross, rate: gross * rate / (100 + _require_not_negative(rate, "rate %"))
    ),
    "tax_withheld": ("gross, rate %", _compute_withheld_tax),
    "withholding_net": ("gross, rate %", _find_rest_after(_compute_withheld_tax)),
    "bad_debt_allowance": (  # IFRS 9, provision matrix, B5.5.35
        "receivables..., loss rates %...", lambda *figures: _sum_products_of_lists(*figures) / 100
    ),
}  # fmt: skip
_RATIO_FORMULAS: _FormulaTable = {
    "variance_percent": (
        "invoiced, ordered",
        lambda invoiced, ordered: (invoiced - ordered) * 100 / _require_positive(ordered, "ordered"),
    ),
    "variance_exceeds": (  # 1 if so, else 0: no division, so nothing rounds and 0 ordered is served
        "invoiced, ordered, threshold %",
        lambda invoiced, ordered, threshold: Decimal(abs(invoiced - ordered) * 100 > threshold * abs(ordered)),
    ),
    "irr": ("flow, flow...", _find_internal_rate_of_return),
    "wacc": (  # E/V Re + D/V Rd (1 - T): Brealey and Myers, chapter 19
        "equity, debt, cost of equity %, cost of debt %, tax %",
        lambda equity, debt, for_equity, for_debt, tax: (
            (equity * for_equity + debt * for_debt * (1 - tax / 100))
            / _require_positive(equity + debt, "equity + debt")
        ),
    ),
    "newton_raphson": ("start, constant, coefficient...", _find_polynomial_root),
    "headcount": (
        "workload, capacity of one",
        lambda workload, capacity: (
            _require_not_negative(workload, "workload") / _require_positive(capacity, "capacity of one")
        ).to_integral_value(ROUND_CEILING),
    ),
    "uptime_percent": ("period, downtime...", _compute_uptime_percent),  # availability as ITIL has it
    "economic_order_quantity": (  # Harris, 1913
        "yearly demand, cost of an order, cost of holding one",
        lambda demand, ordering, holding: (
            2 * _require_not_negative(demand, "demand") * ordering / _require_positive(holding, "holding cost")
        ).sqrt(),
    ),
    "stockout_risk": ("stock, daily demand, daily deviation, days", _compute_stockout_risk),
    "weighted_average": ("values..., weights...", _compute_weighted_average),  # a risk score is the same
    "z_score": ("value, value of the list...", _compute_z_score),  # by n - 1: NIST/SEMATECH e-Handbook, 1.3.5
    # least squares: NIST/SEMATECH e-Handbook, 4.1.4
    "regression_slope": ("xs..., ys...", _find_regression_slope),
    "regression_forecast": ("x, xs..., ys...", _forecast_linear),
    "concentration": ("part...", _compute_herfindahl_index),  # Herfindahl-Hirschman index, up to 10,000
    "collection_rate": (
        "collected, billed", lambda collected, billed: collected * 100 / _require_positive(billed, "billed")
    ),
    "days_sales_outstanding": (
        "receivables, credit sales, days",
        lambda receivables, sales, days: receivables / _require_positive(sales, "credit sales") * days,
    ),
}  # fmt: skip
_DAY_FORMULAS: _FormulaTable = {
    "days_between": ("from, to", lambda first, last: last - first),
    "business_days": ("from, to, [holiday...]", _count_business_days),
    "aging_bucket": (  # 0 not due, 1 up to 30 days overdue, 2 up to 60, 3 up to 90, 4 beyond
        "due, today", lambda due, today: Decimal(min((max(int(today - due), 0) + 29) // 30, 4))
    ),
}  # fmt: skip
CALCULATORS: Mapping[str, Calculator] = {
    **{name: Calculator(*row, is_money=True) for name, row in _MONEY_FORMULAS.items()},
    **{name: Calculator(*row) for name, row in _RATIO_FORMULAS.items()},
    **{name: Calculator(*row, takes_dates=True) for name, row in _DAY_FORMULAS.items()},
}


_ROUNDING_CONTEXT = Context(prec=50, rounding=ROUND_HALF_UP, traps=[DivisionByZero, InvalidOperation, Overflow])


def run_calculator(name: str, operands: Sequence[Decimal], places: int = 2) -> Decimal:
    """A calculator's result, rounded once: money to ``places``, else to six. Raises ``CannotCalculate``."""
    calculator = CALCULATORS[name]
    check_operands(name, calculator.arguments, operands)
    try:
        with localcontext(_ROUNDING_CONTEXT):
            result = calculator.formula(*operands, **({"places": places} if calculator.rounds_parts else {}))
            return round_half_up(result, places if calculator.is_money else RATIO_PLACES)
    except ArithmeticError as error:
        figures = ", ".join(map(format_decimal, operands))
        raise CannotCalculate(f"{name} of {figures[:120]}: {type(error).__name__}") from None
