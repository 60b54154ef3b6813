"""One thing in two sizes, small and large, measured in turns: does what is done beside it cost the same?"""

import statistics
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import NamedTuple, TypeAlias

from shared.domain.exact_json import Json, to_exact

FLAT = 1.2  # times, that the large may cost what the small costs
Operation: TypeAlias = Callable[[], Awaitable[object]]
_WARM = 5


class Growth(NamedTuple):
    """``of``: what grows, from ``small`` to ``large``. ``doing``: what is timed, in milliseconds, the median.

    ``reason``: why it may grow; empty where it is to be flat.
    """

    of: str
    doing: str
    small: int
    large: int
    small_ms: float
    large_ms: float
    reason: str = ""

    @property
    def growth_factor(self) -> float:
        return self.large_ms / self.small_ms

    @property
    def is_flat(self) -> bool:
        return self.growth_factor <= FLAT

    def as_json(self) -> Json:
        figures = {"small_ms": round(self.small_ms, 4), "large_ms": round(self.large_ms, 4)}
        return {
            name: to_exact(value)
            for name, value in {**self._asdict(), **figures, "times": round(self.growth_factor, 2)}.items()
        }


async def median_times(small: Operation, large: Operation, repeats: int) -> tuple[float, float]:
    """Milliseconds of each, one after the other: what else the machine does falls on both."""
    took: tuple[list[float], list[float]] = ([], [])
    for number in range(_WARM + repeats):
        for operation, times in zip((small, large), took, strict=True):
            began = perf_counter()
            await operation()
            if number >= _WARM:
                times.append((perf_counter() - began) * 1000)
    return statistics.median(took[0]), statistics.median(took[1])
