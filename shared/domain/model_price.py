"""The price of a model's tokens.

Money is a whole number of nano-dollars (billionths of a dollar): 1 dollar for a million tokens is 1,000 for each token.
"""

from collections.abc import Iterable
from typing import NamedTuple

NANOS_PER_DOLLAR = 1_000_000_000


class Price(NamedTuple):
    """The price of one token of each kind, in nano-dollars."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def highest_input_price(self) -> int:
        """The highest price of one input token."""
        return max(self.input, self.cache_write)

    def compute_cost(self, tokens: tuple[int, int, int, int]) -> int:
        """The cost in nano-dollars of so many tokens of input, output, cache reads and cache writes."""
        return sum(price * count for price, count in zip(self, tokens, strict=True))


def find_highest_prices(prices: Iterable[Price]) -> Price:
    """The highest price of each kind of token, for models that have no price of their own; 0 if there are no prices."""
    all_prices = tuple(prices)
    return Price(*(max(column) for column in zip(*all_prices, strict=True))) if all_prices else Price()
