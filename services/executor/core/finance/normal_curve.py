"""The standard normal distribution over decimals."""

from decimal import Decimal
from statistics import NormalDist

_TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021")
_TAIL = Decimal(9)  # beyond this nothing is left in eighteen places
_SMALL = Decimal("1E-30")


def density(point: Decimal) -> Decimal:
    """exp(-x^2 / 2) / sqrt(2 pi)."""
    return (-point * point / 2).exp() / _TWO_PI.sqrt()


def cumulative(point: Decimal) -> Decimal:
    """1/2 + density(x) (x + x^3/3 + x^5/(3 5) + ...): Abramowitz and Stegun 26.2.11."""
    if abs(point) > _TAIL:
        return Decimal(point > 0)
    term = total = point
    odd = 1
    while abs(term) > _SMALL:
        odd += 2
        term *= point * point / odd
        total += term
    return Decimal("0.5") + density(point) * total


def quantile(probability: Decimal) -> Decimal:
    """Where the cumulative share is ``probability`` (above 0, below 1): Wichura's AS241, refined by two Newton steps.

    The refinement makes the answer the same on every machine, to more places than anything here keeps.
    """
    point = Decimal(str(NormalDist().inv_cdf(float(probability))))
    for _ in range(2):
        point -= (cumulative(point) - probability) / density(point)
    return point
