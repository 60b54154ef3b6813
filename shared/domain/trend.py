"""How a mean came to be: points that the learner keeps of it, few enough to draw however long it goes on.

A point stands after every ``spacing`` cases; the spacing doubles whenever there would be more than 64 points.
"""

from collections.abc import Sequence
from typing import NamedTuple

from shared.domain.bandit import REWARD_UNITS

POINTS_KEPT = 64
DAYS_KEPT = 400


class Point(NamedTuple):
    """After the ``n``-th case: the sum of all rewards until then in units, and when that case ended (ms)."""

    n: int
    units: int
    at_ms: int


class Moment(NamedTuple):
    """A point as it is drawn: the mean of all until then, and the mean of those since the point before."""

    n: int
    at_ms: int
    mean: float
    recent: float


def read_points(text: str) -> tuple[Point, ...]:
    """The points of one trend as they are kept: ``n:units:at_ms``, spaces between. Raises ``ValueError``."""
    return tuple(_point(part) for part in text.split())


def _point(text: str) -> Point:
    n, units, at = map(int, text.split(":"))
    return Point(n, units, at)


def moments(points: Sequence[Point]) -> tuple[Moment, ...]:
    """In the order of cases; their times never go back, though a case may have ended before the one counted before."""
    found: list[Moment] = []
    before = Point(0, 0, 0)
    for point in sorted(points):
        recent = (point.units - before.units) / (REWARD_UNITS * max(1, point.n - before.n))
        at = max(point.at_ms, before.at_ms)
        found.append(Moment(point.n, at, point.units / (REWARD_UNITS * max(1, point.n)), recent))
        before = point._replace(at_ms=at)
    return tuple(found)
