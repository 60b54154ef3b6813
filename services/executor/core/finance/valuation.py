"""What money is worth over time and at risk: discounting, rates of return, bonds, options, value at risk."""

from collections.abc import Callable
from decimal import Decimal
from statistics import NormalDist

from services.executor.core.finance.calculator import (
    HUNDRED,
    CannotCalculate,
    Figures,
    money,
    positive,
    ratio,
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
    """Where the cumulative share is ``probability`` (above 0, below 1): Wichura's AS241, refined by two Newton steps.

    The refinement makes the answer the same on every machine, to more places than anything here keeps.
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
