"""What money is worth over time and at risk: discounting, rates of return, bonds, options, value at risk."""

from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal
from statistics import NormalDist

from services.executor.core.figures.calculator import (
    HUNDRED,
    CannotCalculate,
    Figures,
    divide_lists,
    money,
    not_negative,
    percent_of,
    positive,
    ratio,
    to_minor_unit,
    total,
    whole,
)

_CLOSE = Decimal("1E-20")
_LOWEST, _HIGHEST, _STEPS = Decimal("-0.99"), Decimal(10), 400
_MOST_FLOWS = 366
_SUREST = Decimal("99.99")
_WIDEST = Decimal(2)  # a wider spread has its mean in tails that few strata do not reach
_TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021")
_TAIL = Decimal(9)  # beyond this nothing is left in eighteen places
_SMALL = Decimal("1E-30")


@money("rate %, flow from now on...")
def npv(rate: Decimal, *flows: Decimal) -> Decimal:
    """Sum of flow_t / (1 + r)^t, the first flow at t = 0 (Brealey and Myers, chapter 2; Excel's NPV starts at 1)."""
    return _present_value(1 + rate / HUNDRED, flows)


@ratio("flow, flow...")
def irr(*flows: Decimal) -> Decimal:
    """The one rate in percent, from -99 to 1000, at which the flows are worth 0; an error where none or several fit."""
    if len(flows) > _MOST_FLOWS:
        raise CannotCalculate(f"at most {_MOST_FLOWS} flows, not {len(flows)}")
    step = (_HIGHEST - _LOWEST) / _STEPS
    rates = [_LOWEST + step * number for number in range(_STEPS + 1)]
    worths = [_present_value(1 + rate, flows) for rate in rates]
    found = [number for number in range(_STEPS) if (worths[number] > 0) != (worths[number + 1] > 0)]
    if len(found) != 1:
        raise CannotCalculate(f"{'several rates fit' if found else 'no rate fits'} these flows")
    return _bisect(lambda rate: _present_value(1 + rate, flows), rates[found[0]], rates[found[0] + 1]) * HUNDRED


@money("face, coupon %, yield %, years, payments a year")
def bond_price(face: Decimal, coupon: Decimal, yearly_yield: Decimal, years: Decimal, a_year: Decimal) -> Decimal:
    """Coupons and face value discounted at the yield per coupon period (Fabozzi, Bond Markets, chapter 2)."""
    periods = whole(years * a_year, "years x payments a year")
    factor = 1 + yearly_yield / HUNDRED / positive(a_year, "payments a year")
    payment = face * coupon / HUNDRED / a_year
    return _present_value(factor, [Decimal(0)] + [payment] * periods) + face / factor**periods


@ratio("equity, debt, cost of equity %, cost of debt %, tax %")
def wacc(equity: Decimal, debt: Decimal, cost_of_equity: Decimal, cost_of_debt: Decimal, tax: Decimal) -> Decimal:
    """E/V Re + D/V Rd (1 - T), in percent (Brealey and Myers, chapter 19)."""
    weighted = equity * cost_of_equity + debt * cost_of_debt * (1 - tax / HUNDRED)
    return weighted / positive(equity + debt, "equity + debt")


@money("principal, yearly %, times a year, years")
def compound_interest(principal: Decimal, rate: Decimal, a_year: Decimal, years: Decimal) -> Decimal:
    """P (1 + r/n)^(n t) - P: the interest alone; years need not be whole."""
    growth = (1 + rate / HUNDRED / positive(a_year, "times a year")) ** (a_year * years)
    return principal * (growth - 1)


@money("start, yearly %, volatility %, years, trials")
def monte_carlo(start: Decimal, mean: Decimal, volatility: Decimal, years: Decimal, trials: Decimal) -> Decimal:
    """The mean end value of S exp((m - s^2/2) t + s sqrt(t) z) over evenly stratified draws z: the same every time."""
    count, deviation = whole(trials, "trials", high=500), volatility / HUNDRED
    drift, spread = (mean / HUNDRED - deviation**2 / 2) * years, deviation * years.sqrt()
    if spread > _WIDEST:
        raise CannotCalculate("volatility over that time is too great to be sampled")
    draws = [quantile((Decimal(number) + Decimal("0.5")) / count) for number in range(count)]
    return start * total([(drift + spread * draw).exp() for draw in draws]) / count


@money("spot, strike, rate %, volatility %, years")
def black_scholes_call(spot: Decimal, strike: Decimal, rate: Decimal, volatility: Decimal, years: Decimal) -> Decimal:
    """S N(d1) - K exp(-r t) N(d2): a European call without dividends (Hull, Options, chapter 15)."""
    for figure in (spot, strike, rate, volatility, years):
        positive(figure, "each figure")
    spread = volatility / HUNDRED * years.sqrt()
    upper = ((spot / strike).ln() + (rate / HUNDRED) * years) / spread + spread / 2
    return spot * cumulative(upper) - _discount_strike(strike, rate, years) * cumulative(upper - spread)


@money("spot, strike, rate %, volatility %, years")
def black_scholes_put(spot: Decimal, strike: Decimal, rate: Decimal, volatility: Decimal, years: Decimal) -> Decimal:
    """By put-call parity: call - S + K exp(-r t)."""
    return black_scholes_call(spot, strike, rate, volatility, years) - spot + _discount_strike(strike, rate, years)


@money("value, daily %, daily volatility %, confidence %, days")
def value_at_risk(value: Decimal, mean: Decimal, volatility: Decimal, confidence: Decimal, days: Decimal) -> Decimal:
    """V (z s sqrt(d) - m d), m and s a day: the variance-covariance method (RiskMetrics, 1996)."""
    if not 50 < confidence <= _SUREST:
        raise CannotCalculate(f"confidence must lie above 50 and up to {_SUREST} %")
    spread = quantile(confidence / HUNDRED) * volatility / HUNDRED * positive(days, "days").sqrt()
    return value * (spread - mean / HUNDRED * days)


@ratio("start, constant, coefficient...")
def newton_raphson(point: Decimal, *coefficients: Decimal) -> Decimal:
    """x - f(x) / f'(x) until it stands still: a root of a polynomial, its constant first (Newton's method)."""
    slopes = [power * coefficient for power, coefficient in enumerate(coefficients)][1:]
    for _ in range(200):
        slope = _polynomial(slopes, point)
        if not slope:
            raise CannotCalculate("the slope is 0 there; begin elsewhere")
        step = _polynomial(coefficients, point) / slope
        point -= step
        if abs(step) < _CLOSE:
            return point
    raise CannotCalculate("no root was found from that start")


def _density(point: Decimal) -> Decimal:
    """exp(-x^2 / 2) / sqrt(2 pi)."""
    return (-point * point / 2).exp() / _TWO_PI.sqrt()


def cumulative(point: Decimal) -> Decimal:
    """1/2 + density(x) (x + x^3/3 + x^5/(3 5) + ...): Abramowitz and Stegun 26.2.11."""
    if abs(point) > _TAIL:
        return Decimal(point > 0)
    term = total_of_terms = point
    odd = 1
    while abs(term) > _SMALL:
        odd += 2
        term *= point * point / odd
        total_of_terms += term
    return Decimal("0.5") + _density(point) * total_of_terms


def quantile(probability: Decimal) -> Decimal:
    """The point at which the cumulative share is ``probability``: Wichura's AS241, and two Newton steps, so that the
    answer is the same on every machine.
    """
    point = Decimal(str(NormalDist().inv_cdf(float(probability))))
    for _ in range(2):
        point -= (cumulative(point) - probability) / _density(point)
    return point


def _present_value(factor: Decimal, flows: Figures) -> Decimal:
    worth = Decimal(0)
    for flow in reversed(flows):
        worth = worth / factor + flow
    return worth


def _bisect(worth: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    rising = worth(low) <= 0
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if (worth(middle) <= 0) == rising else (low, middle)
    return (low + high) / 2


def _polynomial(coefficients: Figures, point: Decimal) -> Decimal:
    value = Decimal(0)
    for coefficient in reversed(coefficients):
        value = value * point + coefficient
    return value


def _discount_strike(strike: Decimal, rate: Decimal, years: Decimal) -> Decimal:
    return strike * (-rate / HUNDRED * years).exp()


_MOST_DAYS = 40_000
_LAST_DAY = 3_652_059  # the number of the calendar's last day, 31 December 9999


@money("hours, limit, hourly rate, multiplier")
def overtime_pay(hours: Decimal, limit: Decimal, rate: Decimal, multiplier: Decimal) -> Decimal:
    """rate x (hours up to the limit + multiplier x hours above it): the whole pay (29 CFR 778.110)."""
    above = max(not_negative(hours, "hours") - limit, Decimal(0))
    return rate * (hours - above + above * multiplier)


@money("salary, benefits %, fixed cost, heads")
def benefits_cost(salary: Decimal, percent: Decimal, fixed: Decimal, heads: Decimal) -> Decimal:
    """salary x benefits % + fixed cost a head, for all heads."""
    return (percent_of(salary, percent) + fixed) * whole(heads, "heads", 0, 10**7)


@ratio("workload, capacity of one")
def headcount(workload: Decimal, capacity: Decimal) -> Decimal:
    """The whole people that a workload takes: workload / capacity of one, rounded up."""
    needed = not_negative(workload, "workload") / positive(capacity, "capacity of one")
    return needed.to_integral_value(ROUND_CEILING)


@ratio("period, downtime...")
def uptime_percent(period: Decimal, *downtimes: Decimal) -> Decimal:
    """(period - downtimes) / period x 100: availability as ITIL has it."""
    down = total(downtimes)
    if not 0 <= down <= positive(period, "period"):
        raise CannotCalculate("downtime must lie within the period")
    return (period - down) * HUNDRED / period


@money("amount, % a day, days late, cap %")
def late_penalty(amount: Decimal, rate: Decimal, days: Decimal, cap: Decimal) -> Decimal:
    """amount x min(rate % a day x days late, cap %); none in time."""
    return percent_of(amount, min(rate * max(days, Decimal(0)), cap))


@ratio("yearly demand, cost of an order, cost of holding one")
def economic_order_quantity(demand: Decimal, ordering: Decimal, holding: Decimal) -> Decimal:
    """sqrt(2 x demand x cost of an order / cost of holding one): Harris, 1913."""
    return (2 * not_negative(demand, "demand") * ordering / positive(holding, "holding cost")).sqrt()


@money("quantities..., unit costs...")
def inventory_value(*figures: Decimal) -> Decimal:
    """Sum of quantity x unit cost."""
    quantities, costs = divide_lists(figures, 2)
    return _sum_of_products(quantities, costs)


@ratio("stock, daily demand, daily deviation, days")
def stockout_risk(stock: Decimal, demand: Decimal, deviation: Decimal, days: Decimal) -> Decimal:
    """1 - N((stock - demand d) / (s sqrt(d))) in percent: demand of d days, normal (Silver and Pyke, chapter 7)."""
    spread = positive(deviation, "deviation") * positive(days, "days").sqrt()
    return (1 - cumulative((stock - demand * days) / spread)) * HUNDRED


@money("net, rate %")
def vat_on_net(net: Decimal, rate: Decimal) -> Decimal:
    """net x rate / 100 (Directive 2006/112/EC: the taxable amount is without the tax)."""
    return percent_of(net, rate)


@money("gross, rate %")
def vat_in_gross(gross: Decimal, rate: Decimal) -> Decimal:
    """gross x rate / (100 + rate): solves gross = net + net x rate / 100."""
    return gross * rate / (HUNDRED + not_negative(rate, "rate %"))


@money("gross, rate %")
def tax_withheld(gross: Decimal, rate: Decimal, *, places: int) -> Decimal:
    """gross x rate / 100."""
    return to_minor_unit(percent_of(gross, rate), places)


@money("gross, rate %")
def withholding_net(gross: Decimal, rate: Decimal, *, places: int) -> Decimal:
    """gross - the tax withheld, so that the two sum to the gross."""
    return gross - tax_withheld(gross, rate, places=places)


@ratio("values..., weights...")
def weighted_average(*figures: Decimal) -> Decimal:
    """Sum of value x weight / sum of weights (the weighted mean); a risk score is the same."""
    values, weights = divide_lists(figures, 2)
    return _sum_of_products(values, weights) / positive(total(weights), "the sum of the weights")


@ratio("value, value of the list...")
def z_score(point: Decimal, *values: Decimal) -> Decimal:
    """(x - mean) / sample deviation, by n - 1, of the list (NIST/SEMATECH e-Handbook, 1.3.5)."""
    mean = _mean(values)
    spread = total([(value - mean) ** 2 for value in values]) / positive(Decimal(len(values) - 1), "n - 1")
    return (point - mean) / positive(spread, "the variance").sqrt()


@ratio("xs..., ys...")
def regression_slope(*figures: Decimal) -> Decimal:
    """Sxy / Sxx: least squares (NIST/SEMATECH e-Handbook, 4.1.4)."""
    xs, ys = divide_lists(figures, 2)
    from_mean_x, from_mean_y = ([value - _mean(values) for value in values] for values in (xs, ys))
    return _sum_of_products(from_mean_x, from_mean_y) / positive(
        _sum_of_products(from_mean_x, from_mean_x), "the spread of x"
    )


@ratio("x, xs..., ys...")
def regression_forecast(point: Decimal, *pairs: Decimal) -> Decimal:
    """mean y + slope x (x - mean x): the least squares line at x."""
    xs, ys = divide_lists(pairs, 2)
    return _mean(ys) + regression_slope(*pairs) * (point - _mean(xs))


@ratio("part...")
def concentration(*parts: Decimal) -> Decimal:
    """Herfindahl-Hirschman index: the sum of squared shares in percent, up to 10,000."""
    whole_amount = positive(total([not_negative(part, "a part") for part in parts]), "the sum")
    return total([(part * HUNDRED / whole_amount) ** 2 for part in parts])


@money("receivables..., loss rates %...")
def bad_debt_allowance(*figures: Decimal) -> Decimal:
    """Sum of receivable x loss rate % by age (IFRS 9, provision matrix, B5.5.35)."""
    amounts, rates = divide_lists(figures, 2)
    return _sum_of_products(amounts, rates) / HUNDRED


@ratio("collected, billed")
def collection_rate(collected: Decimal, billed: Decimal) -> Decimal:
    """collected / billed x 100."""
    return collected * HUNDRED / positive(billed, "billed")


@ratio("receivables, credit sales, days")
def days_sales_outstanding(receivables: Decimal, sales: Decimal, days: Decimal) -> Decimal:
    """receivables / credit sales x days."""
    return receivables / positive(sales, "credit sales") * days


@ratio("from, to", dates=True)
def days_between(first: Decimal, last: Decimal) -> Decimal:
    """to - from in calendar days; negative where it lies before."""
    return last - first


@ratio("from, to, [holiday...]", dates=True)
def business_days(*figures: Decimal) -> Decimal:
    """Mondays to Fridays from the first day up to but without the last, less the holidays among them."""
    first, last, *free = (whole(figure, "a day", high=_LAST_DAY) for figure in figures)
    holidays = frozenset(free)
    if not 0 <= last - first <= _MOST_DAYS:
        raise CannotCalculate("the second date must not lie before the first, nor a century after it")
    return Decimal(sum((day - 1) % 7 < 5 and day not in holidays for day in range(first, last)))


@ratio("due, today", dates=True)
def aging_bucket(due: Decimal, today: Decimal) -> Decimal:
    """The age group of an invoice: 0 not due, 1 up to 30 days overdue, 2 up to 60, 3 up to 90, 4 beyond."""
    return Decimal(min((max(int(today - due), 0) + 29) // 30, 4))


def _sum_of_products(ones: Figures, others: Figures) -> Decimal:
    return total([one * other for one, other in zip(ones, others, strict=True)])


def _mean(values: Figures) -> Decimal:
    return total(values) / positive(Decimal(len(values)), "the number of values")
