"""The price of one token of a model.

Money is a whole number of nano-dollars, the billionth part of a dollar: a price of 1 dollar for a million tokens is
1,000 of them for one token.
"""

from collections.abc import Iterable
from typing import NamedTuple

NANO = 1_000_000_000


class Price(NamedTuple):
    """The prices of one token, in nano-dollars."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def fresh_input(self) -> int:
        """The most that one token of input can cost."""
        return max(self.input, self.cache_write)

    def cost_of(self, tokens: tuple[int, int, int, int]) -> int:
        """What so many tokens cost; their kinds are in the order of the prices."""
        return sum(price * count for price, count in zip(self, tokens, strict=True))


def highest_prices(prices: Iterable[Price]) -> Price:
    """The highest of each of the prices' numbers, which a model without a price is taken to cost."""
    known = tuple(prices)
    return Price(*(max(column) for column in zip(*known, strict=True))) if known else Price()
