"""How calls become cheaper as a task's budget is used up (seed 000, Token Budget and Model Selection).

How much is used follows from what the journal has settled. A call that was answered stays as it was made, because its
entry says on which tier that was; so a resumed turn and a replay go the same way.
"""

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from services.executor.ports.models import Tier

FEWEST = 256  # an answer of fewer tokens would be cut off
_MOST = 4_096
_FEW = 512
_SHORT_OF = ((500, FEWEST), (2_000, _FEW))  # tokens left -> the longest answer
_MILD_BELOW = Fraction(30, 100)
_CHEAP_ABOVE = Fraction(80, 100)


class Pressure(StrEnum):
    """What the model is told of the budget."""

    MILD = "mild"
    STRICT = "strict"
    EMERGENCY = "emergency"


class Thrift(NamedTuple):
    """How one call is made: on which tier, and how it is told to be brief."""

    tier: Tier
    pressure: Pressure


def thrift(tier: Tier, used: Fraction, *, keeps_tier: bool) -> Thrift:
    """Above 80 % used every tier is Haiku, save where a wrong answer costs more than a dear one: the plan of writes."""
    cheap = used > _CHEAP_ABOVE and not keeps_tier
    return Thrift(Tier.HAIKU if cheap else tier, _pressure(used))


def longest_answer(left: int, *, undivided: bool) -> int:
    """The most tokens of output, of those ``left``: a tight budget is not put into one answer.

    ``undivided``: it may have them all, because it is worth nothing if it is cut off.
    """
    short = next((most for bound, most in _SHORT_OF if left < bound), None)
    if undivided:
        return min(_MOST, left)
    return min(left, short) if short is not None else min(_MOST, left // 2)


def _pressure(used: Fraction) -> Pressure:
    if used > _CHEAP_ABOVE:
        return Pressure.EMERGENCY
    return Pressure.MILD if used < _MILD_BELOW else Pressure.STRICT
