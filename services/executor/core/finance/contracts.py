"""The rules of contracts and claims: parts that sum to the whole, revenue, pro rata, fees, limits, credits."""

from decimal import Decimal

from services.executor.core.finance.calculator import (
    HUNDRED,
    CannotCalculate,
    divide_lists,
    money,
    not_negative,
    percent_of,
    positive,
    ratio,
    split,
    to_minor_unit,
    total,
    whole,
)


@money("amount")
def round_money(amount: Decimal) -> Decimal:
    """The amount itself, for rounding: half up to the minor unit (ISO 4217 has its places)."""
    return amount


@money("total, part number, parts")
def split_part(amount: Decimal, part: Decimal, parts: Decimal, *, places: int) -> Decimal:
    """total x k / n - total x (k - 1) / n, each rounded: the n parts sum to it (seed 002, prorated_for_period)."""
    of = whole(parts, "parts")
    return split(amount, [Decimal(1)] * of, places)[whole(part, "part", high=of) - 1]


@money("total, part number, weight...")
def allocation(amount: Decimal, part: Decimal, *weights: Decimal, places: int) -> Decimal:
    """total x weight / all weights, as the step between two rounded running shares: the parts sum to the total."""
    return split(amount, weights, places)[whole(part, "part", high=len(weights)) - 1]


@money("total, days used, total days")
def prorated_used(amount: Decimal, used: Decimal, days: Decimal, *, places: int) -> Decimal:
    """total x days used / total days (seed 002, prorated_amount)."""
    if not 0 <= used <= positive(days, "total days"):
        raise CannotCalculate(f"days used must lie from 0 to {days:f}, not {used:f}")
    return to_minor_unit(amount * used / days, places)


@money("total, days used, total days")
def prorated_remaining(amount: Decimal, used: Decimal, days: Decimal, *, places: int) -> Decimal:
    """total - prorated_used: the two sum to the total (seed 002, prorated_amount)."""
    return amount - prorated_used(amount, used, days, places=places)


@money("value, months, elapsed")
def recognized_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """value x elapsed / months, capped at the value: straight-line recognition (IFRS 15, paragraph 39)."""
    of = whole(months, "months")
    share = min(whole(elapsed, "elapsed", 0, 12000), of)
    return value if share == of else to_minor_unit(value * share / of, places)


@money("value, months, elapsed")
def deferred_revenue(value: Decimal, months: Decimal, elapsed: Decimal, *, places: int) -> Decimal:
    """value - recognised revenue (IFRS 15, paragraph 106): the two sum to the value."""
    return value - recognized_revenue(value, months, elapsed, places=places)


@money("values..., months..., elapsed...")
def recognized_revenue_total(*figures: Decimal, places: int) -> Decimal:
    """Sum of what is recognised of each contract, each rounded by itself, so that the parts sum to it."""
    contracts = zip(*divide_lists(figures, 3), strict=True)
    return total([recognized_revenue(*contract, places=places) for contract in contracts])


@money("values..., months..., elapsed...")
def deferred_revenue_total(*figures: Decimal, places: int) -> Decimal:
    """Sum of what is not yet recognised: with the recognised total it is the sum of the values."""
    return total(divide_lists(figures, 3)[0]) - recognized_revenue_total(*figures, places=places)


@money("remaining value, fee %")
def termination_fee(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    """remaining value x fee % / 100 (seed 002, apply_early_termination_fee)."""
    return to_minor_unit(percent_of(remaining, not_negative(fee, "fee %")), places)


@money("remaining value, fee %")
def early_termination_refund(remaining: Decimal, fee: Decimal, *, places: int) -> Decimal:
    """remaining value - termination fee, never below zero (seed 002, apply_early_termination_fee)."""
    return max(remaining - termination_fee(remaining, fee, places=places), Decimal(0))


@money("base, yearly %, years")
def contract_escalation(base: Decimal, rate: Decimal, years: Decimal) -> Decimal:
    """base x (1 + rate / 100) ^ years: a yearly rise on the risen amount (compound growth)."""
    return base * positive(1 + rate / HUNDRED, "1 + the yearly rate") ** whole(years, "years", 0)


@ratio("invoiced, ordered")
def variance_percent(invoiced: Decimal, ordered: Decimal) -> Decimal:
    """(invoiced - ordered) / ordered x 100 (seed 002, apply_variance_check); undefined where nothing was ordered."""
    return (invoiced - ordered) * HUNDRED / positive(ordered, "ordered")


@ratio("invoiced, ordered, threshold %")
def variance_exceeds(invoiced: Decimal, ordered: Decimal, threshold: Decimal) -> Decimal:
    """1 if |invoiced - ordered| x 100 > threshold x ordered, else 0: no division, so nothing rounds and 0 is served."""
    return Decimal(abs(invoiced - ordered) * HUNDRED > threshold * abs(ordered))


@money("invoice, credit % a breach, cap %, allowed downtime, downtime of a period...")
def sla_credit(invoice: Decimal, credit: Decimal, cap: Decimal, allowed: Decimal, *downtimes: Decimal) -> Decimal:
    """min(breaches x credit %, cap %) of the invoice (seed 002, compute_sla_credit).

    A breach is a period whose downtime is above what is allowed.
    """
    breaches = sum(downtime > allowed for downtime in downtimes)
    return percent_of(invoice, min(breaches * not_negative(credit, "credit %"), not_negative(cap, "cap %")))


@money("claimed, sub-limit, rider")
def sub_limit_payable(claimed: Decimal, limit: Decimal, rider: Decimal) -> Decimal:
    """min(claimed, sub-limit + rider): a rider raises the sub-limit (seed 002, apply_sub_limit)."""
    return min(claimed, limit + rider)


@money("balance, incoming, limit")
def gift_card_capacity(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    """max(0, min(incoming, limit - balance)): what fits on a card (seed 002, compute_gift_card_capacity)."""
    return max(Decimal(0), min(incoming, limit - balance))


@money("balance, incoming, limit")
def gift_card_overflow(balance: Decimal, incoming: Decimal, limit: Decimal) -> Decimal:
    """incoming - capacity: what does not fit (seed 002, compute_gift_card_capacity)."""
    return incoming - gift_card_capacity(balance, incoming, limit)


@money("old prices..., new prices...")
def net_price_delta(*figures: Decimal) -> Decimal:
    """Sum of the new prices - sum of the old ones, item for item (seed 002, net_price_delta); 0 if cancelled."""
    old, new = divide_lists(figures, 2)
    return total(new) - total(old)
