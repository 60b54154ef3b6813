"""Figures of daily business: people, service levels, stock, receivables, taxes, concentration, days."""

from decimal import ROUND_CEILING, Decimal

from services.executor.core.finance.calculator import (
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
from services.executor.core.finance.valuation import cumulative

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


@ratio("from, to, holiday...", dates=True)
def business_days(*figures: Decimal) -> Decimal:
    """Mondays to Fridays from the first day up to but without the last, less the holidays among them."""
    first, last, *free = (whole(figure, "a day", high=_LAST_DAY) for figure in figures)
    holidays = frozenset(free)
    if not 0 <= last - first <= _MOST_DAYS:
        raise CannotCalculate("the second date must not lie before the first, nor a century after it")
    return Decimal(sum((day - 1) % 7 < 5 and day not in holidays for day in range(first, last)))


@ratio("due, today", dates=True)
def aging_bucket(due: Decimal, today: Decimal) -> Decimal:
    """Where an invoice's age falls: 0 not due, 1 up to 30 days overdue, 2 up to 60, 3 up to 90, 4 beyond."""
    return Decimal(min((max(int(today - due), 0) + 29) // 30, 4))


def _sum_of_products(ones: Figures, others: Figures) -> Decimal:
    return total([one * other for one, other in zip(ones, others, strict=True)])


def _mean(values: Figures) -> Decimal:
    return total(values) / positive(Decimal(len(values)), "the number of values")
