"""The console's first page: is it working, is it getting better, what needs me, what does it cost."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from services.gateway.features.approvals.model import Question
from services.gateway.features.console.views.health import DayCounts
from services.gateway.features.console.views.progress import Direction
from services.gateway.features.console.views.tasks import dollars
from services.gateway.features.console.views.words import count_of, distance, list_of
from services.gateway.features.tenants.model import DaySpent, TenantState
from shared.domain.words import TaskState

WEEK = 7
_ARROWS = {"up": "▲", "down": "▼"}


class Tile(NamedTuple):
    """A manager's question with its answer. ``mark`` stands beside the value; ``tone`` is good, warn, bad or empty."""

    question: str
    value: str
    remark: str
    href: str
    tone: str = ""
    mark: str = ""


class Needs(NamedTuple):
    """What waits for the reader: approvals, writes in doubt, dead letters, webhooks that were given up."""

    approvals: int = 0
    doubts: int = 0
    letters: int = 0
    hooks: int = 0

    @property
    def total(self) -> int:
        return self.approvals + self.doubts + self.letters + self.hooks


def working_tile(
    totals: Mapping[TaskState, int], open_now: int, state: TenantState | None, *, still: bool = False
) -> Tile:
    """How tasks ended within a day, and whether anything stands ``still``. ``state`` is for operators alone."""
    done, failed = totals.get(TaskState.COMPLETED, 0), totals.get(TaskState.FAILED, 0)
    rejected = totals.get(TaskState.REJECTED, 0)
    question, href = "Is it working?", "/console/operations" if state else "/console/tasks"
    if state and state.stopped is not None:
        why = state.stopped or "no reason was given"
        return Tile(question, "Stopped", f"an operator stopped it: {why}", href, "bad")
    if state and still:
        return Tile(question, "Stands still", f"{count_of(state.waiting, 'session')} and no worker", href, "bad")
    going = f"{open_now} running" if open_now else "none running"
    if not done + failed:
        quiet = f"{rejected} rejected, {going}" if rejected else f"{going}; none ended in a day"
        return Tile(question, "Busy" if open_now else "Idle", quiet, href)
    ends = [f"{failed} failed" if failed else "none failed", *([f"{rejected} rejected"] if rejected else []), going]
    tone = "good" if not failed else "bad" if failed * 5 > done + failed else "warn"
    return Tile(
        question,
        f"{done} of {done + failed}",
        f"completed, of those that completed or failed in 24 h: {', '.join(ends)}",
        href,
        tone,
    )


def better_tile(found: Direction | None) -> Tile:
    question, href = "Is it getting better?", "/console/learning"
    if found is None:
        return Tile(question, "–", "known once tasks have ended", href)
    return Tile(
        question, f"{found.lately:.2f}", f"quality {found.text}", href, found.tone, _ARROWS.get(found.arrow, "")
    )


def needs_tile(needs: Needs, others: int, first: datetime | None, now: datetime) -> Tile:
    """``others``: approvals that wait for somebody else; ``first``: when the nearest of the reader's is due."""
    question = "What needs me?"
    parts = [
        count_of(number, one)
        for number, one in (
            (needs.approvals, "approval"),
            (needs.doubts, "write in doubt"),
            (needs.letters, "dead letter"),
            (needs.hooks, "lost webhook"),
        )
        if number
    ]
    if not parts:
        remark = f"{count_of(others, 'approval waits', 'approvals wait')} for others" if others else "nothing to decide"
        return Tile(question, "Nothing", remark, "/console/approvals")
    due = f"; first due {distance(first, now)}" if first else ""
    href = "/console/approvals" if needs.approvals else _place(needs)
    return Tile(question, str(needs.total), f"{list_of(tuple(parts))}{due}", href, "warn")


def cost_tile(spent: Sequence[DaySpent], days: Sequence[DayCounts], today: date) -> Tile:
    """What today has cost, and what the week did. The tenant's calendar may be a day ahead of ours, or behind."""
    question, href = "What does it cost?", "/console/operations"
    now = next((one for one in reversed(spent) if one.calls and one.date >= today.isoformat()), None)
    week = sum(day.nanos for day in spent[-WEEK:])
    if not any(day.calls for day in spent):
        return Tile(question, "$0.00", "no model was asked in the last days", href)
    ended = next((day.events for day in days if day.date == today.isoformat()), 0)
    each = f", {dollars(round(now.nanos / ended))} a task" if now and ended and now.nanos else ""
    calls = f"{count_of(now.calls, 'model call')}{each}" if now else "no model call"
    return Tile(question, dollars(now.nanos if now else 0), f"today: {calls}; {dollars(week)} in {WEEK} days", href)


def first_due(mine: Sequence[Question]) -> datetime | None:
    return min((one.approval.deadline for one in mine), default=None)


def last_days(today: date, count: int) -> list[str]:
    """The dates up to tomorrow, which may have begun where the tenant is: the oldest first."""
    return [(today + timedelta(days=shift)).isoformat() for shift in range(2 - count, 2)]


def begun_days(spent: Sequence[DaySpent]) -> Sequence[DaySpent]:
    """Without tomorrow, unless it has begun where the tenant is."""
    return spent if not spent or spent[-1].calls else spent[:-1]


def _place(needs: Needs) -> str:
    if needs.doubts:
        return "/console/tasks?state=waiting"
    return "/console/operations/dead-letters" if needs.letters else "/console/webhooks"
