"""What money is worth over time and at risk: discounting, rates of return, bonds, options, value at risk."""

from collections.abc import Callable
from decimal import Decimal

from services.executor.core.finance.money import HUNDRED, CannotCalculate, Figures, positive, whole
from services.executor.core.finance.normal_curve import cumulative, quantile

_CLOSE = Decimal("1E-20")
_LOWEST, _HIGHEST, _STEPS = Decimal("-0.99"), Decimal(10), 400
_MOST_FLOWS = 366
_SUREST = Decimal("99.99")
_WIDEST = Decimal(2)  # a wider spread has its mean in tails that few strata do not reach


def npv(figures: Figures, _places: int) -> Decimal:
    """Sum of flow_t / (1 + r)^t, the first flow at t = 0 (Brealey and Myers, chapter 2; Excel's NPV starts at 1)."""
    rate, *flows = figures
    return _present_value(1 + rate / HUNDRED, flows)


def irr(figures: Figures, _places: int) -> Decimal:
    """The one rate in percent, from -99 to 1000, at which the flows are worth 0; an error where none or several fit."""
    if len(figures) > _MOST_FLOWS:
        raise CannotCalculate(f"at most {_MOST_FLOWS} flows, not {len(figures)}")
    step = (_HIGHEST - _LOWEST) / _STEPS
    rates = [_LOWEST + step * number for number in range(_STEPS + 1)]
    worths = [_present_value(1 + rate, figures) for rate in rates]
    found = [number for number in range(_STEPS) if (worths[number] > 0) != (worths[number + 1] > 0)]
    if len(found) != 1:
        raise CannotCalculate(f"{'several rates fit' if found else 'no rate fits'} these flows")
    return _bisect(lambda rate: _present_value(1 + rate, figures), rates[found[0]], rates[found[0] + 1]) * HUNDRED


def bond_price(figures: Figures, _places: int) -> Decimal:
    """Coupons and face value discounted at the yield per coupon period (Fabozzi, Bond Markets, chapter 2)."""
    face, coupon, yearly_yield, years, a_year = figures
    periods = whole(years * a_year, "years x payments a year")
    factor = 1 + yearly_yield / HUNDRED / positive(a_year, "payments a year")
    payment = face * coupon / HUNDRED / a_year
    return _present_value(factor, [Decimal(0)] + [payment] * periods) + face / factor**periods


def wacc(figures: Figures, _places: int) -> Decimal:
    """E/V Re + D/V Rd (1 - T), in percent (Brealey and Myers, chapter 19)."""
    equity, debt, cost_of_equity, cost_of_debt, tax = figures
    weighted = equity * cost_of_equity + debt * cost_of_debt * (1 - tax / HUNDRED)
    return weighted / positive(equity + debt, "equity + debt")


def compound_interest(figures: Figures, _places: int) -> Decimal:
    """P (1 + r/n)^(n t) - P: the interest alone; years need not be whole."""
    principal, rate, a_year, years = figures
    growth = (1 + rate / HUNDRED / positive(a_year, "times a year")) ** (a_year * years)
    return principal * (growth - 1)


def monte_carlo(figures: Figures, _places: int) -> Decimal:
    """The mean end value of S exp((m - s^2/2) t + s sqrt(t) z) over evenly stratified draws z: the same every time."""
    start, mean, volatility, years, trials = figures
    count, deviation = whole(trials, "trials", high=500), volatility / HUNDRED
    drift, spread = (mean / HUNDRED - deviation**2 / 2) * years, deviation * years.sqrt()
    if spread > _WIDEST:
        raise CannotCalculate("volatility over that time is too great to be sampled")
    draws = (quantile((Decimal(number) + Decimal("0.5")) / count) for number in range(count))
    return start * sum(((drift + spread * draw).exp() for draw in draws), Decimal(0)) / count


def black_scholes_call(figures: Figures, _places: int) -> Decimal:
    """S N(d1) - K exp(-r t) N(d2): a European call without dividends (Hull, Options, chapter 15)."""
    spot, strike, rate, volatility, years = (positive(figure, "each figure") for figure in figures)
    spread = volatility / HUNDRED * years.sqrt()
    upper = ((spot / strike).ln() + (rate / HUNDRED) * years) / spread + spread / 2
    return spot * cumulative(upper) - _discounted_strike(figures) * cumulative(upper - spread)


def black_scholes_put(figures: Figures, places: int) -> Decimal:
    """By put-call parity: call - S + K exp(-r t)."""
    return black_scholes_call(figures, places) - figures[0] + _discounted_strike(figures)


def value_at_risk(figures: Figures, _places: int) -> Decimal:
    """V (z s sqrt(d) - m d), m and s a day: the variance-covariance method (RiskMetrics, 1996)."""
    value, mean, volatility, confidence, days = figures
    if not 50 < confidence <= _SUREST:
        raise CannotCalculate(f"confidence must lie above 50 and up to {_SUREST} %")
    spread = quantile(confidence / HUNDRED) * volatility / HUNDRED * positive(days, "days").sqrt()
    return value * (spread - mean / HUNDRED * days)


def newton_raphson(figures: Figures, _places: int) -> Decimal:
    """x - f(x) / f'(x) until it stands still: a root of a polynomial, its constant first (Newton's method)."""
    point, *coefficients = figures
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


def _present_value(factor: Decimal, flows: Figures) -> Decimal:
    worth = Decimal(0)
    for flow in reversed(flows):
        worth = worth / factor + flow
    return worth


def _bisect(worth: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    rising = worth(low) <= 0
    while high - low > _CLOSE:
        middle = (low + high) / 2
        if (worth(middle) <= 0) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _polynomial(coefficients: Figures, point: Decimal) -> Decimal:
    total = Decimal(0)
    for coefficient in reversed(coefficients):
        total = total * point + coefficient
    return total


def _discounted_strike(figures: Figures) -> Decimal:
    _, strike, rate, _, years = figures
    return strike * (-rate / HUNDRED * years).exp()
