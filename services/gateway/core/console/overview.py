"""The console's first page: is it working, what needs me, what does it cost."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from services.gateway.core.console.tasks import dollars
from services.gateway.core.console.words import counted
from services.gateway.ports.learning import Learning
from services.gateway.ports.tenants import DaySpent
from shared.domain.bandit import REWARD_UNITS


class Tile(NamedTuple):
    label: str
    value: str
    remark: str
    href: str
    tone: str = ""


class Share(NamedTuple):
    """How many tasks ended in one way."""

    word: str
    number: int


def spent_tile(days: Sequence[DaySpent], today: date) -> Tile:
    """What the tenant's day has cost so far. Its calendar may be a day ahead of ours, or behind."""
    day = next((one for one in days if one.date == today.isoformat()), days[-1] if days else None)
    if day is None:
        return Tile("Spent today", "$0.00", "no model was asked yet", "")
    remark = f"{counted(day.calls, 'model call')}, {day.tokens:,} tokens"
    return Tile("Spent today", dollars(day.nanos), remark, "")


def endings(counts: Mapping[str, int]) -> tuple[Share, ...]:
    """How the tenant's tasks ended, as the learner has counted them."""
    words = (("success", "Completed"), ("partial", "In part"), ("failure", "Failed"))
    found = tuple(Share(text, counts.get(word, 0)) for word, text in words)
    return found if any(share.number for share in found) else ()


def average_quality(learning: Learning) -> str:
    """The mean score of all tasks that were counted; empty before the first."""
    events = learning.counts.get("events", 0)
    return f"{learning.counts.get('quality_units', 0) / (events * REWARD_UNITS):.2f}" if events else ""
