"""How long a character takes: by chance that the seed settles, so that a run can be had again."""

from datetime import timedelta
from hashlib import sha256

from services.assessor.core.scenario import ResponseTiming

_SCALE = 1 << 64


def seeded_chance(seed: int, *what: str | int) -> float:
    """A number from 0 up to 1; the same for the same seed and words."""
    text = "\x1f".join(str(part) for part in (seed, *what))
    return int.from_bytes(sha256(text.encode()).digest()[:8]) / _SCALE


def delay_of(timing: ResponseTiming, share: float) -> timedelta:
    """The delay of a character's answer: ``share`` 0 gives the shortest, 1 the longest of its timing."""
    least = max(timing.base_delay - timing.variance, timedelta())
    most = timing.base_delay + timing.variance
    return timedelta(seconds=round((least + (most - least) * share).total_seconds(), 3))
