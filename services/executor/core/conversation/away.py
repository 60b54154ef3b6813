"""When a task whose model is away asks it again: the task rests meanwhile, on a timer, and holds nothing."""

import math
from datetime import datetime, timedelta

from services.executor.ports.models import ModelAway

_FIRST_SECONDS, _LONGEST_SECONDS = 5.0, 60.0


def next_try(
    away: ModelAway, tries: int, first_away_at: datetime, now: datetime, deadline_seconds: float
) -> datetime | None:
    """When to ask the model again, after ``tries`` failures in a row; None where that would be past the deadline.

    5 s after the first failure, then twice as long each time, up to 60 s, and never sooner than the endpoint said. The
    deadline counts from ``first_away_at``, and the last try is made at it.
    """
    latest = first_away_at + timedelta(seconds=deadline_seconds)
    told = away.retry_after or 0.0
    if now >= latest or not math.isfinite(told) or told > (latest - now).total_seconds():
        return None
    doublings = min(max(tries, 1) - 1, 10)
    pause = max(told, min(_LONGEST_SECONDS, _FIRST_SECONDS * 2**doublings))
    return min(latest, now + timedelta(seconds=pause))
