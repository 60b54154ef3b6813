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
from statistics import NormalDist
from typing import NamedTuple

from services.executor.core.figures.calculator import (
    HUNDRED,
    RATIO_PLACES,
    Calculator,
    CannotCalculate,
    Figures,
    add_figures,
    check_operands,
    format_decimal,
    make_money_calculator,
    percent_of,
    require_not_negative,
    require_positive,
    require_whole,
    round_half_up,
    split_by_weights,
    split_into_lists,
)

_ZERO = Decimal(0)


def _compute_part_of_split(amount: Decimal, weights: Figures, part: Decimal, name: str, places: int) -> Decimal:
    """One part, counted from 1, of an amount that is split by weights, so that all parts sum to it."""
    return split_by_weights(amount, weights, places)[require_whole(part, name, high=len(weights)) - 1]


def _prorate(amount: Decimal, used_days: Decimal, days: Decimal, *, places: int) -> Decimal:
    if not 0 <= used_days <= require_positive(days, "total days"):
        raise CannotCalculate(f"days used must lie from 0 to {days:f}, not {used_days:f}")
    return round_half_up(amount * used_days / days, places)


def _recognize_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """The part of the value that is recognized straight-line after ``elapsed`` of ``months`` months; all once they are
    over.

    IFRS 15, paragraph 39. Raises ``CannotCalculate`` unless both are whole.
    """
    month_count = require_whole(months, "months")
    elapsed_months = min(require_whole(elapsed, "elapsed", 0, 12000), month_count)
    return value if elapsed_months == month_count else round_half_up(value * elapsed_months / month_count, places)


def _recognize_revenue_of_contracts(*figures: Decimal, places: int) -> Decimal:
    """The revenue recognized of several contracts, each rounded by itself.

    ``figures``: the value of each, then the months of each, then the elapsed months of each.
    """
    contracts = zip(*split_into_lists(figures, 3), strict=True)
    return add_figures([_recognize_revenue(*contract, places=places) for contract in contracts])


def _termination_fee(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    return round_half_up(percent_of(remaining, require_not_negative(fee, "fee %")), places)


def _service_level_credit(
    invoice: Decimal, credit_percent: Decimal, cap_percent: Decimal, allowed_downtime: Decimal, *downtimes: Decimal
) -> Decimal:
    """The credit on the invoice: a percentage for each period with more downtime than allowed, up to the cap."""
    credit = sum(downtime > allowed_downtime for downtime in downtimes) * require_not_negative(
        credit_percent, "credit %"
    )
    return percent_of(invoice, min(credit, require_not_negative(cap_percent, "cap %")))


def _gift_card_capacity(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    return max(_ZERO, min(incoming, limit - balance))


def _net_price_change(*figures: Decimal) -> Decimal:
    old, new = split_into_lists(figures, 2)
    return add_figures(new) - add_figures(old)


class Instalment(NamedTuple):
    payment: Decimal
    interest: Decimal
    balance: Decimal


def amortize_loan(principal: Decimal, annual_rate: Decimal, months: Decimal, places: int) -> list[Instalment]:
    """Every instalment of a loan as an annuity, payment and interest rounded; the last one pays what is left.

    ``annual_rate``: in per cent. Raises ``CannotCalculate`` for a principal that is not above zero, a negative rate, or
    months that are no whole number.
    """
    rate, number = require_not_negative(annual_rate, "annual rate %") / HUNDRED / 12, require_whole(months, "months")
    balance = require_positive(principal, "principal")
    level = round_half_up(balance * rate / (1 - (1 + rate) ** -number) if rate else balance / number, places)
    rows = []
    for month in range(1, number + 1):
        interest = round_half_up(balance * annual_rate / HUNDRED / 12, places)
        payment = balance + interest if month == number else min(level, balance + interest)
        balance += interest - payment
        rows.append(Instalment(payment, interest, balance))
    return rows


def _instalment_formula(field: int) -> Callable[..., Decimal]:
    """The formula for one field of a loan's instalment, by its position in ``Instalment``."""

    def compute_field(principal: Decimal, rate: Decimal, months: Decimal, month: Decimal, *, places: int) -> Decimal:
        rows = amortize_loan(principal, rate, months, places)
        return rows[require_whole(month, "month", high=len(rows)) - 1][field]

    return compute_field


def _subtract_salvage(cost: Decimal, salvage: Decimal) -> Decimal:
    if not 0 <= salvage <= cost:
        raise CannotCalculate(f"salvage must lie from 0 to {cost:f}, not {salvage:f}")
    return cost - salvage


def _depreciate_declining(cost: Decimal, salvage: Decimal, life: Decimal, period: Decimal, *, places: int) -> Decimal:
    """The charge of one period: book value x 2 / life, or straight line over the remaining life once that is more."""
    amount_left, years = _subtract_salvage(cost, salvage), require_whole(life, "life")
    charge = _ZERO
    for years_left in range(years, years - require_whole(period, "period", high=years), -1):
        declining_charge = max((amount_left + salvage) * 2 / years, amount_left / years_left)
        charge = min(round_half_up(declining_charge, places), amount_left) if years_left > 1 else amount_left
        amount_left -= charge
    return charge


def _depreciate_by_units(
    cost: Decimal, salvage: Decimal, all_units: Decimal, units_before: Decimal, units: Decimal, *, places: int
) -> Decimal:
    units_after = units_before + units
    if not 0 <= units_before <= units_after <= require_positive(all_units, "total units"):
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
    rates = _MACRS_RATES_BY_CLASS.get(require_whole(asset_class, "class"))
    if rates is None:
        raise CannotCalculate("class must be 3, 5, 7 or 10 years")
    return _compute_part_of_split(cost, [Decimal(rate) for rate in rates.split()], year, "year", places)


_ROOT_PRECISION = Decimal("1E-20")
_LOWEST_RATE, _HIGHEST_RATE, _RATE_STEPS = Decimal("-0.99"), Decimal(10), 400
_MOST_FLOWS = 366


def _present_value(factor: Decimal, flows: Figures) -> Decimal:
    """Sum of flow_t / factor^t, the first flow at t = 0."""
    value = _ZERO
    for flow in reversed(flows):
        value = value / factor + flow
    return value


def _internal_rate_of_return(*flows: Decimal) -> Decimal:
    """The rate in percent (-99 to 1000) that makes the present value 0; raises ``CannotCalculate`` unless one fits."""
    if len(flows) > _MOST_FLOWS:
        raise CannotCalculate(f"at most {_MOST_FLOWS} flows, not {len(flows)}")
    step = (_HIGHEST_RATE - _LOWEST_RATE) / _RATE_STEPS
    rates = [_LOWEST_RATE + step * number for number in range(_RATE_STEPS + 1)]
    values = [_present_value(1 + rate, flows) for rate in rates]
    sign_changes = [number for number in range(_RATE_STEPS) if (values[number] > 0) != (values[number + 1] > 0)]
    if len(sign_changes) != 1:
        raise CannotCalculate(f"{'several rates fit' if sign_changes else 'no rate fits'} these flows")
    low, high, is_rising = rates[sign_changes[0]], rates[sign_changes[0] + 1], values[sign_changes[0]] <= 0
    while high - low > _ROOT_PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if (_present_value(1 + middle, flows) <= 0) == is_rising else (low, middle)
    return (low + high) / 2 * HUNDRED


def _price_bond(
    face: Decimal, coupon: Decimal, yearly_yield: Decimal, years: Decimal, payments_a_year: Decimal
) -> Decimal:
    periods = require_whole(years * payments_a_year, "years x payments a year")
    factor = 1 + yearly_yield / HUNDRED / require_positive(payments_a_year, "payments a year")
    payment = face * coupon / HUNDRED / payments_a_year
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
    count, deviation = require_whole(trials, "trials", high=500), volatility / HUNDRED
    drift, spread = (mean / HUNDRED - deviation**2 / 2) * years, deviation * years.sqrt()
    if spread > _MOST_LOGNORMAL_SPREAD:
        raise CannotCalculate("volatility over that time is too great to be sampled")
    draws = [normal_quantile((Decimal(number) + Decimal("0.5")) / count) for number in range(count)]
    return start * add_figures([(drift + spread * draw).exp() for draw in draws]) / count


def _discount_strike(strike: Decimal, rate: Decimal, years: Decimal) -> Decimal:
    return strike * (-rate / HUNDRED * years).exp()


def _price_call_option(spot: Decimal, strike: Decimal, rate: Decimal, volatility: Decimal, years: Decimal) -> Decimal:
    for figure in (spot, strike, rate, volatility, years):
        require_positive(figure, "each figure")
    spread = volatility / HUNDRED * years.sqrt()
    upper = ((spot / strike).ln() + (rate / HUNDRED) * years) / spread + spread / 2
    return spot * normal_cumulative(upper) - _discount_strike(strike, rate, years) * normal_cumulative(upper - spread)


def _value_at_risk(value: Decimal, mean: Decimal, volatility: Decimal, confidence: Decimal, days: Decimal) -> Decimal:
    if not 50 < confidence <= _HIGHEST_CONFIDENCE:
        raise CannotCalculate(f"confidence must lie above 50 and up to {_HIGHEST_CONFIDENCE} %")
    spread = normal_quantile(confidence / HUNDRED) * volatility / HUNDRED * require_positive(days, "days").sqrt()
    return value * (spread - mean / HUNDRED * days)


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
    above = max(require_not_negative(hours, "hours") - limit, _ZERO)
    return rate * (hours - above + above * multiplier)


def _compute_uptime_percent(period: Decimal, *downtimes: Decimal) -> Decimal:
    down = add_figures(downtimes)
    if not 0 <= down <= require_positive(period, "period"):
        raise CannotCalculate("downtime must lie within the period")
    return (period - down) * HUNDRED / period


def _stockout_risk(stock: Decimal, demand: Decimal, deviation: Decimal, days: Decimal) -> Decimal:
    """1 - N((stock - demand d) / (s sqrt(d))) in percent: Silver and Pyke, chapter 7."""
    spread = require_positive(deviation, "deviation") * require_positive(days, "days").sqrt()
    return HUNDRED * (1 - normal_cumulative((stock - demand * days) / spread))


def _compute_withheld_tax(gross: Decimal, rate: Decimal, *, places: int) -> Decimal:
    return round_half_up(percent_of(gross, rate), places)


def _sum_of_products(figures: Figures, other_figures: Figures) -> Decimal:
    return add_figures([figure * other_figure for figure, other_figure in zip(figures, other_figures, strict=True)])


def _mean(values: Figures) -> Decimal:
    return add_figures(values) / require_positive(Decimal(len(values)), "the number of values")


def _weighted_average(*values_then_weights: Decimal) -> Decimal:
    values, weights = split_into_lists(values_then_weights, 2)
    return _sum_of_products(values, weights) / require_positive(add_figures(weights), "the sum of the weights")


def _z_score(point: Decimal, *values: Decimal) -> Decimal:
    mean = _mean(values)
    degrees_of_freedom = require_positive(Decimal(len(values) - 1), "n - 1")
    variance = add_figures([(value - mean) ** 2 for value in values]) / degrees_of_freedom
    return (point - mean) / require_positive(variance, "the variance").sqrt()


def _regression_slope(*figures: Decimal) -> Decimal:
    xs, ys = split_into_lists(figures, 2)
    means = _mean(xs), _mean(ys)
    from_mean_x, from_mean_y = ([point - mean for point in axis] for axis, mean in zip((xs, ys), means, strict=True))
    spread = require_positive(_sum_of_products(from_mean_x, from_mean_x), "the spread of x")
    return _sum_of_products(from_mean_x, from_mean_y) / spread


def _forecast_linear(point: Decimal, *pairs: Decimal) -> Decimal:
    xs, ys = split_into_lists(pairs, 2)
    return _mean(ys) + _regression_slope(*pairs) * (point - _mean(xs))


def _herfindahl_index(*parts: Decimal) -> Decimal:
    whole_amount = require_positive(add_figures([require_not_negative(part, "a part") for part in parts]), "the sum")
    return add_figures([(part * HUNDRED / whole_amount) ** 2 for part in parts])


_MOST_DAYS = 40_000
_LAST_DAY = 3_652_059  # the number of the calendar's last day, 31 December 9999


def _count_business_days(*figures: Decimal) -> Decimal:
    """Mondays to Fridays from the first day up to but without the last, without the holidays that follow.

    ``figures``: days as ordinals. Raises ``CannotCalculate`` if the last lies before the first, or a century after it.
    """
    first_day, end_day, *holidays_listed = (require_whole(figure, "a day", high=_LAST_DAY) for figure in figures)
    holidays = frozenset(holidays_listed)
    if not 0 <= end_day - first_day <= _MOST_DAYS:
        raise CannotCalculate("the second date must not lie before the first, nor a century after it")
    return Decimal(sum((day - 1) % 7 < 5 and day not in holidays for day in range(first_day, end_day)))


CALCULATORS: Mapping[str, Calculator] = {
    "round_money": make_money_calculator("amount", lambda amount: amount),
    "split_part": make_money_calculator(
        "total, part number, parts",
        lambda amount, part, parts, *, places: _compute_part_of_split(
            amount, [Decimal(1)] * require_whole(parts, "parts"), part, "part", places
        ),
    ),
    "allocation": make_money_calculator(
        "total, part number, weight...",
        lambda amount, part, *weights, places: _compute_part_of_split(amount, weights, part, "part", places),
    ),
    "prorated_used": make_money_calculator("total, days used, total days", _prorate),
    "prorated_remaining": make_money_calculator(
        "total, days used, total days",
        lambda amount, used, days, *, places: amount - _prorate(amount, used, days, places=places),
    ),
    "recognized_revenue": make_money_calculator("value, months, elapsed", _recognize_revenue),
    "deferred_revenue": make_money_calculator(  # IFRS 15, paragraph 106
        "value, months, elapsed", lambda value, *time, places: value - _recognize_revenue(value, *time, places=places)
    ),
    "recognized_revenue_total": make_money_calculator(
        "values..., months..., elapsed...", _recognize_revenue_of_contracts
    ),
    "deferred_revenue_total": make_money_calculator(
        "values..., months..., elapsed...",
        lambda *figures, places: (
            add_figures(split_into_lists(figures, 3)[0]) - _recognize_revenue_of_contracts(*figures, places=places)
        ),
    ),
    "termination_fee": make_money_calculator("remaining value, fee %", _termination_fee),
    "early_termination_refund": make_money_calculator(
        "remaining value, fee %",
        lambda remaining, fee, *, places: max(remaining - _termination_fee(remaining, fee, places=places), _ZERO),
    ),
    "contract_escalation": make_money_calculator(  # a yearly rise on the risen amount
        "base, yearly %, years",
        lambda base, rate, years: (
            base * require_positive(1 + rate / HUNDRED, "1 + the yearly rate") ** require_whole(years, "years", 0)
        ),
    ),
    "variance_percent": Calculator(
        "invoiced, ordered",
        lambda invoiced, ordered: (invoiced - ordered) * HUNDRED / require_positive(ordered, "ordered"),
    ),
    "variance_exceeds": Calculator(  # 1 if so, else 0: no division, so nothing rounds and 0 ordered is served
        "invoiced, ordered, threshold %",
        lambda invoiced, ordered, threshold: Decimal(abs(invoiced - ordered) * HUNDRED > threshold * abs(ordered)),
    ),
    "sla_credit": make_money_calculator(
        "invoice, credit % a breach, cap %, allowed downtime, downtime of a period...", _service_level_credit
    ),
    "sub_limit_payable": make_money_calculator(  # a rider raises the sub-limit
        "claimed, sub-limit, rider", lambda claimed, limit, rider: min(claimed, limit + rider)
    ),
    "gift_card_capacity": make_money_calculator("balance, incoming, limit", _gift_card_capacity),
    "gift_card_overflow": make_money_calculator(
        "balance, incoming, limit",
        lambda balance, incoming, limit: incoming - _gift_card_capacity(balance, incoming, limit),
    ),
    "net_price_delta": make_money_calculator("old prices..., new prices...", _net_price_change),
    "loan_payment": make_money_calculator("principal, yearly %, months, month", _instalment_formula(0)),  # PMT
    "loan_interest": make_money_calculator("principal, yearly %, months, month", _instalment_formula(1)),  # IPMT
    "loan_balance": make_money_calculator("principal, yearly %, months, month", _instalment_formula(2)),
    "loan_total_interest": make_money_calculator(  # CUMIPMT, on rounded instalments
        "principal, yearly %, months",
        lambda principal, rate, months, *, places: add_figures(
            [row.interest for row in amortize_loan(principal, rate, months, places)]
        ),
    ),
    "straight_line": make_money_calculator(  # IAS 16, paragraph 62
        "cost, salvage, life, period",
        lambda cost, salvage, life, period, *, places: _compute_part_of_split(
            _subtract_salvage(cost, salvage), [Decimal(1)] * require_whole(life, "life"), period, "period", places
        ),
    ),
    "declining_balance": make_money_calculator("cost, salvage, life, period", _depreciate_declining),  # VDB, factor 2
    "sum_of_years": make_money_calculator(  # SYD
        "cost, salvage, life, period",
        lambda cost, salvage, life, period, *, places: _compute_part_of_split(
            _subtract_salvage(cost, salvage),
            [Decimal(left) for left in range(require_whole(life, "life"), 0, -1)],
            period,
            "period",
            places,
        ),
    ),
    "units_of_production": make_money_calculator(
        "cost, salvage, total units, units before, units", _depreciate_by_units
    ),
    "tax_depreciation": make_money_calculator("cost, class in years, year", _depreciate_for_tax),
    "npv": make_money_calculator(  # Brealey and Myers, chapter 2; Excel's NPV has the first flow at t = 1
        "rate %, flow from now on...", lambda rate, *flows: _present_value(1 + rate / HUNDRED, flows)
    ),
    "irr": Calculator("flow, flow...", _internal_rate_of_return),
    "bond_price": make_money_calculator(  # Fabozzi, Bond Markets, chapter 2
        "face, coupon %, yield %, years, payments a year", _price_bond
    ),
    "wacc": Calculator(  # E/V Re + D/V Rd (1 - T): Brealey and Myers, chapter 19
        "equity, debt, cost of equity %, cost of debt %, tax %",
        lambda equity, debt, for_equity, for_debt, tax: (
            (equity * for_equity + debt * for_debt * (1 - tax / HUNDRED))
            / require_positive(equity + debt, "equity + debt")
        ),
    ),
    "compound_interest": make_money_calculator(  # P (1 + r/n)^(n t) - P: the interest alone; years need not be whole
        "principal, yearly %, times a year, years",
        lambda principal, rate, a_year, years: (
            principal * ((1 + rate / HUNDRED / require_positive(a_year, "times a year")) ** (a_year * years) - 1)
        ),
    ),
    "monte_carlo": make_money_calculator("start, yearly %, volatility %, years, trials", _simulate_growth),
    "black_scholes_call": make_money_calculator(  # European, without dividends: Hull, Options, chapter 15
        "spot, strike, rate %, volatility %, years", _price_call_option
    ),
    "black_scholes_put": make_money_calculator(  # by put-call parity
        "spot, strike, rate %, volatility %, years",
        lambda spot, strike, rate, volatility, years: (
            _price_call_option(spot, strike, rate, volatility, years) - spot + _discount_strike(strike, rate, years)
        ),
    ),
    "value_at_risk": make_money_calculator(  # V (z s sqrt(d) - m d), m and s a day: RiskMetrics, 1996
        "value, daily %, daily volatility %, confidence %, days", _value_at_risk
    ),
    "newton_raphson": Calculator("start, constant, coefficient...", _find_polynomial_root),
    # the whole pay: 29 CFR 778.110
    "overtime_pay": make_money_calculator("hours, limit, hourly rate, multiplier", _compute_pay_with_overtime),
    "benefits_cost": make_money_calculator(
        "salary, benefits %, fixed cost, heads",
        lambda salary, percent, fixed, heads: (
            (percent_of(salary, percent) + fixed) * require_whole(heads, "heads", 0, 10**7)
        ),
    ),
    "headcount": Calculator(
        "workload, capacity of one",
        lambda workload, capacity: (
            require_not_negative(workload, "workload") / require_positive(capacity, "capacity of one")
        ).to_integral_value(ROUND_CEILING),
    ),
    "uptime_percent": Calculator("period, downtime...", _compute_uptime_percent),  # availability as ITIL has it
    "late_penalty": make_money_calculator(
        "amount, % a day, days late, cap %",
        lambda amount, rate, days, cap: percent_of(amount, min(rate * max(days, _ZERO), cap)),
    ),
    "economic_order_quantity": Calculator(  # Harris, 1913
        "yearly demand, cost of an order, cost of holding one",
        lambda demand, ordering, holding: (
            2 * require_not_negative(demand, "demand") * ordering / require_positive(holding, "holding cost")
        ).sqrt(),
    ),
    "inventory_value": make_money_calculator(
        "quantities..., unit costs...", lambda *figures: _sum_of_products(*split_into_lists(figures, 2))
    ),
    "stockout_risk": Calculator("stock, daily demand, daily deviation, days", _stockout_risk),
    # Directive 2006/112/EC: the taxable amount is without the tax
    "vat_on_net": make_money_calculator("net, rate %", percent_of),
    "vat_in_gross": make_money_calculator(  # solves gross = net + net x rate / 100
        "gross, rate %", lambda gross, rate: gross * rate / (HUNDRED + require_not_negative(rate, "rate %"))
    ),
    "tax_withheld": make_money_calculator("gross, rate %", _compute_withheld_tax),
    "withholding_net": make_money_calculator(
        "gross, rate %", lambda gross, rate, *, places: gross - _compute_withheld_tax(gross, rate, places=places)
    ),
    "weighted_average": Calculator("values..., weights...", _weighted_average),  # a risk score is the same
    "z_score": Calculator("value, value of the list...", _z_score),  # by n - 1: NIST/SEMATECH e-Handbook, 1.3.5
    # least squares: NIST/SEMATECH e-Handbook, 4.1.4
    "regression_slope": Calculator("xs..., ys...", _regression_slope),
    "regression_forecast": Calculator("x, xs..., ys...", _forecast_linear),
    "concentration": Calculator("part...", _herfindahl_index),  # Herfindahl-Hirschman index, up to 10,000
    "bad_debt_allowance": make_money_calculator(  # IFRS 9, provision matrix, B5.5.35
        "receivables..., loss rates %...", lambda *figures: _sum_of_products(*split_into_lists(figures, 2)) / HUNDRED
    ),
    "collection_rate": Calculator(
        "collected, billed", lambda collected, billed: collected * HUNDRED / require_positive(billed, "billed")
    ),
    "days_sales_outstanding": Calculator(
        "receivables, credit sales, days",
        lambda receivables, sales, days: receivables / require_positive(sales, "credit sales") * days,
    ),
    "days_between": Calculator("from, to", lambda first, last: last - first, takes_dates=True),
    "business_days": Calculator("from, to, [holiday...]", _count_business_days, takes_dates=True),
    "aging_bucket": Calculator(  # 0 not due, 1 up to 30 days overdue, 2 up to 60, 3 up to 90, 4 beyond
        "due, today", lambda due, today: Decimal(min((max(int(today - due), 0) + 29) // 30, 4)), takes_dates=True
    ),
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
