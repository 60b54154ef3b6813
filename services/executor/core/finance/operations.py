"""Figures of daily business: people, service levels, stock, receivables, taxes, concentration."""

from decimal import ROUND_CEILING, Decimal

from services.executor.core.finance.money import (
    HUNDRED,
    CannotCalculate,
    Figures,
    halves,
    not_negative,
    percent_of,
    positive,
    to_minor_unit,
    whole,
)
from services.executor.core.finance.normal_curve import cumulative


def overtime_pay(figures: Figures, _places: int) -> Decimal:
    """rate x (hours up to the limit + multiplier x hours above it): the whole pay (29 CFR 778.110)."""
    hours, limit, rate, multiplier = figures
    above = max(not_negative(hours, "hours") - limit, Decimal(0))
    return rate * (hours - above + above * multiplier)


def benefits_cost(figures: Figures, _places: int) -> Decimal:
    """salary x benefits % + fixed cost a head, for all heads."""
    salary, percent, fixed, heads = figures
    return (percent_of(salary, percent) + fixed) * whole(heads, "heads", 0, 10**7)


def headcount(figures: Figures, _places: int) -> Decimal:
    """The whole people that a workload takes: workload / capacity of one, rounded up."""
    workload, capacity = figures
    needed = not_negative(workload, "workload") / positive(capacity, "capacity of one")
    return needed.to_integral_value(ROUND_CEILING)


def uptime_percent(figures: Figures, _places: int) -> Decimal:
    """(period - downtimes) / period x 100: availability as ITIL has it."""
    period, *downtimes = figures
    down = sum(downtimes, Decimal(0))
    if not 0 <= down <= positive(period, "period"):
        raise CannotCalculate("downtime must lie within the period")
    return (period - down) * HUNDRED / period


def late_penalty(figures: Figures, _places: int) -> Decimal:
    """amount x min(rate % a day x days late, cap %); none in time."""
    amount, rate, days, cap = figures
    return percent_of(amount, min(rate * max(days, Decimal(0)), cap))


def economic_order_quantity(figures: Figures, _places: int) -> Decimal:
    """sqrt(2 x demand x cost of an order / cost of holding one): Harris, 1913."""
    demand, ordering, holding = figures
    return (2 * not_negative(demand, "demand") * ordering / positive(holding, "holding cost")).sqrt()


def inventory_value(figures: Figures, _places: int) -> Decimal:
    """Sum of quantity x unit cost."""
    quantities, costs = halves(figures)
    return sum((quantity * cost for quantity, cost in zip(quantities, costs, strict=True)), Decimal(0))


def stockout_risk(figures: Figures, _places: int) -> Decimal:
    """1 - N((stock - demand d) / (s sqrt(d))) in percent: demand of d days, normal (Silver and Pyke, chapter 7)."""
    stock, demand, deviation, days = figures
    spread = positive(deviation, "deviation") * positive(days, "days").sqrt()
    return (1 - cumulative((stock - demand * days) / spread)) * HUNDRED


def vat_on_net(figures: Figures, _places: int) -> Decimal:
    """net x rate / 100 (Directive 2006/112/EC: the taxable amount is without the tax)."""
    return percent_of(*figures)


def vat_in_gross(figures: Figures, _places: int) -> Decimal:
    """gross x rate / (100 + rate): solves gross = net + net x rate / 100."""
    gross, rate = figures
    return gross * rate / (HUNDRED + not_negative(rate, "rate %"))


def tax_withheld(figures: Figures, places: int) -> Decimal:
    """gross x rate / 100."""
    return to_minor_unit(percent_of(*figures), places)


def withholding_net(figures: Figures, places: int) -> Decimal:
    """gross - the tax withheld, so that the two sum to the gross."""
    return figures[0] - tax_withheld(figures, places)


def weighted_average(figures: Figures, _places: int) -> Decimal:
    """Sum of value x weight / sum of weights (the weighted mean); a risk score is the same."""
    values, weights = halves(figures)
    total = sum((value * weight for value, weight in zip(values, weights, strict=True)), Decimal(0))
    return total / positive(sum(weights, Decimal(0)), "the sum of the weights")


def z_score(figures: Figures, _places: int) -> Decimal:
    """(x - mean) / sample deviation, by n - 1, of the list (NIST/SEMATECH e-Handbook, 1.3.5)."""
    point, *values = figures
    mean = _mean(values)
    spread = sum(((value - mean) ** 2 for value in values), Decimal(0)) / positive(Decimal(len(values) - 1), "n - 1")
    return (point - mean) / positive(spread, "the variance").sqrt()


def regression_slope(figures: Figures, _places: int) -> Decimal:
    """Sxy / Sxx: least squares (NIST/SEMATECH e-Handbook, 4.1.4)."""
    xs, ys = halves(figures)
    mean_x, mean_y = _mean(xs), _mean(ys)
    together = sum(((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)), Decimal(0))
    return together / positive(sum(((x - mean_x) ** 2 for x in xs), Decimal(0)), "the spread of x")


def regression_forecast(figures: Figures, places: int) -> Decimal:
    """mean y + slope x (x - mean x): the least squares line at x."""
    point, *pairs = figures
    xs, ys = halves(pairs)
    return _mean(ys) + regression_slope(pairs, places) * (point - _mean(xs))


def concentration(figures: Figures, _places: int) -> Decimal:
    """Herfindahl-Hirschman index: the sum of squared shares in percent, up to 10,000."""
    total = positive(sum((not_negative(figure, "a part") for figure in figures), Decimal(0)), "the sum")
    return sum(((figure * HUNDRED / total) ** 2 for figure in figures), Decimal(0))


def bad_debt_allowance(figures: Figures, _places: int) -> Decimal:
    """Sum of receivable x loss rate % by age (IFRS 9, provision matrix, B5.5.35)."""
    amounts, rates = halves(figures)
    return sum((percent_of(amount, rate) for amount, rate in zip(amounts, rates, strict=True)), Decimal(0))


def collection_rate(figures: Figures, _places: int) -> Decimal:
    """collected / billed x 100."""
    collected, billed = figures
    return collected * HUNDRED / positive(billed, "billed")


def days_sales_outstanding(figures: Figures, _places: int) -> Decimal:
    """receivables / credit sales x days."""
    receivables, sales, days = figures
    return receivables / positive(sales, "credit sales") * days


def _mean(values: Figures) -> Decimal:
    return sum(values, Decimal(0)) / positive(Decimal(len(values)), "the number of values")
