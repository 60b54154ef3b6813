"""Money in minor units: rounding half up, splits whose parts sum to the whole, and the rules of contracts and claims.

Every function here and beside it takes its figures in the order its row in ``catalogue`` names them and answers
unrounded unless it says otherwise; ``calculators`` rounds the answer once. Rates are in percent: 7.5 is 7.5 %.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

Figures = Sequence[Decimal]
HUNDRED = Decimal(100)


class CannotCalculate(ValueError):
    """The operation does not fit its operands; the message says why."""


def to_minor_unit(amount: Decimal, places: int) -> Decimal:
    """The amount rounded half up (away from zero at the half) to so many decimal places."""
    return amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def whole(number: Decimal, name: str, low: int = 1, high: int = 1200) -> int:
    """A figure that counts things; ``CannotCalculate`` unless it is whole and within the bounds."""
    if number != number.to_integral_value() or not low <= number <= high:
        raise CannotCalculate(f"{name} must be a whole number from {low} to {high}, not {number:f}")
    return int(number)


def positive(number: Decimal, name: str) -> Decimal:
    """The figure; ``CannotCalculate`` unless it is above zero."""
    if number <= 0:
        raise CannotCalculate(f"{name} must be above zero, not {number:f}")
    return number


def not_negative(number: Decimal, name: str) -> Decimal:
    """The figure; ``CannotCalculate`` if it is below zero."""
    if number < 0:
        raise CannotCalculate(f"{name} must not be below zero, not {number:f}")
    return number


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """amount x percent / 100."""
    return amount * percent / HUNDRED


def split(total: Decimal, weights: Sequence[Decimal], places: int) -> list[Decimal]:
    """Parts in proportion to the weights that sum to the total: each is the step between two rounded running shares.

    No part is more than one minor unit from its exact share. The total's own excess places stay in the last part.
    """
    sum_of_weights = positive(sum((not_negative(weight, "a weight") for weight in weights), Decimal(0)), "the weights")
    parts, seen, given = [], Decimal(0), Decimal(0)
    for weight in weights[:-1]:
        seen += weight
        share = to_minor_unit(total * seen / sum_of_weights, places)
        parts.append(share - given)
        given = share
    return [*parts, total - given]


def amount(figures: Figures, _places: int) -> Decimal:
    """The amount itself, for rounding: half up to the minor unit (ISO 4217 has its places)."""
    return figures[0]


def split_part(figures: Figures, places: int) -> Decimal:
    """total x k / n - total x (k - 1) / n, each rounded: the n parts sum to it (seed 002, prorated_for_period)."""
    total, part, parts = figures
    number, of = whole(part, "part"), whole(parts, "parts")
    whole(part, "part", high=of)
    return split(total, [Decimal(1)] * of, places)[number - 1]


def allocation(figures: Figures, places: int) -> Decimal:
    """total x weight / all weights, as the step between two rounded running shares: the parts sum to the total."""
    total, part, *weights = figures
    return split(total, weights, places)[whole(part, "part", high=len(weights)) - 1]


def recognized_revenue(figures: Figures, places: int) -> Decimal:
    """value x elapsed / months, capped at the value: straight-line recognition (IFRS 15, paragraph 39)."""
    value, months, elapsed = figures
    of = whole(months, "months")
    share = min(whole(elapsed, "elapsed", 0, 12000), of)
    return value if share == of else to_minor_unit(value * share / of, places)


def deferred_revenue(figures: Figures, places: int) -> Decimal:
    """value - recognised revenue (IFRS 15, paragraph 106): the two sum to the value."""
    return figures[0] - recognized_revenue(figures, places)


def recognized_revenue_total(figures: Figures, places: int) -> Decimal:
    """Sum of what is recognised of each contract, each rounded by itself, so that the parts sum to it."""
    values, months, elapsed = thirds(figures)
    return sum((recognized_revenue(row, places) for row in zip(values, months, elapsed, strict=True)), Decimal(0))


def deferred_revenue_total(figures: Figures, places: int) -> Decimal:
    """Sum of what is not yet recognised: with the recognised total it is the sum of the values."""
    return sum(thirds(figures)[0], Decimal(0)) - recognized_revenue_total(figures, places)


def prorated_used(figures: Figures, places: int) -> Decimal:
    """total x days used / total days (seed 002, prorated_amount)."""
    total, used, days = figures
    if not 0 <= used <= positive(days, "total days"):
        raise CannotCalculate(f"days used must lie from 0 to {days:f}, not {used:f}")
    return to_minor_unit(total * used / days, places)


def prorated_remaining(figures: Figures, places: int) -> Decimal:
    """total - prorated_used: the two sum to the total (seed 002, prorated_amount)."""
    return figures[0] - prorated_used(figures, places)


def termination_fee(figures: Figures, places: int) -> Decimal:
    """remaining value x fee % / 100 (seed 002, apply_early_termination_fee)."""
    remaining, fee = figures
    return to_minor_unit(percent_of(remaining, not_negative(fee, "fee %")), places)


def early_termination_refund(figures: Figures, places: int) -> Decimal:
    """remaining value - termination fee, never below zero (seed 002, apply_early_termination_fee)."""
    return max(figures[0] - termination_fee(figures, places), Decimal(0))


def contract_escalation(figures: Figures, _places: int) -> Decimal:
    """base x (1 + rate / 100) ^ years: a yearly rise on the risen amount (compound growth)."""
    base, rate, years = figures
    return base * positive(1 + rate / HUNDRED, "1 + the yearly rate") ** whole(years, "years", 0)


def variance_percent(figures: Figures, _places: int) -> Decimal:
    """(invoiced - ordered) / ordered x 100 (seed 002, apply_variance_check); undefined where nothing was ordered."""
    invoiced, ordered = figures
    return (invoiced - ordered) * HUNDRED / positive(ordered, "ordered")


def variance_exceeds(figures: Figures, _places: int) -> Decimal:
    """1 if |invoiced - ordered| x 100 > threshold x ordered, else 0: no division, so nothing rounds and 0 is served."""
    invoiced, ordered, threshold = figures
    return Decimal(abs(invoiced - ordered) * HUNDRED > threshold * abs(ordered))


def sla_credit(figures: Figures, _places: int) -> Decimal:
    """min(breaches x credit %, cap %) of the invoice (seed 002, compute_sla_credit).

    A breach is a period whose downtime is above what is allowed.
    """
    invoice, credit, cap, allowed, *downtimes = figures
    breaches = sum(downtime > allowed for downtime in downtimes)
    return percent_of(invoice, min(breaches * not_negative(credit, "credit %"), not_negative(cap, "cap %")))


def sub_limit_payable(figures: Figures, _places: int) -> Decimal:
    """min(claimed, sub-limit + rider): a rider raises the sub-limit (seed 002, apply_sub_limit)."""
    claimed, limit, rider = figures
    return min(claimed, limit + rider)


def gift_card_capacity(figures: Figures, _places: int) -> Decimal:
    """max(0, min(incoming, limit - balance)): what fits on a card (seed 002, compute_gift_card_capacity)."""
    balance, incoming, limit = figures
    return max(Decimal(0), min(incoming, limit - balance))


def gift_card_overflow(figures: Figures, places: int) -> Decimal:
    """incoming - capacity: what does not fit (seed 002, compute_gift_card_capacity)."""
    return figures[1] - gift_card_capacity(figures, places)


def net_price_delta(figures: Figures, _places: int) -> Decimal:
    """Sum of the new prices - sum of the old ones, item for item (seed 002, net_price_delta); 0 if cancelled."""
    old, new = halves(figures)
    return sum(new, Decimal(0)) - sum(old, Decimal(0))


def thirds(figures: Figures) -> tuple[Figures, Figures, Figures]:
    """Three lists of equal length, given one after the other."""
    size, odd = divmod(len(figures), 3)
    if odd or not size:
        raise CannotCalculate(f"three lists of equal length are needed, not {len(figures)} figures")
    return figures[:size], figures[size : 2 * size], figures[2 * size :]


def halves(figures: Figures) -> tuple[Figures, Figures]:
    """Two lists of equal length, given one after the other."""
    middle, odd = divmod(len(figures), 2)
    if odd or not middle:
        raise CannotCalculate(f"two lists of equal length are needed, not {len(figures)} figures")
    return figures[:middle], figures[middle:]
