"""How tasks fared lately: how they ended, how long they took, what failed and cost, and what needs the reader."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.console.views.progress import Direction
from services.gateway.features.console.views.tasks import dollars, span_of
from services.gateway.features.console.views.words import Badge, count_of, distance, list_of, state_badge
from services.gateway.features.dead_letters.service import DeadLetter, LetterKind
from services.gateway.features.tenants.service import DaySpent, TenantState
from shared.contracts.dead_letter import DeadTurn
from shared.contracts.task import TaskRecord
from shared.domain.bandit import REWARD_UNITS
from shared.domain.words import TaskState

LETTER_KINDS = {
    LetterKind.TURN: Badge("Task given up", "bad"),
    LetterKind.OUTCOME: Badge("Not learned from", "warn"),
}


def dead_turn(letter: DeadLetter) -> DeadTurn | None:
    """The turn in a letter; None if it holds none that can be read."""
    return DeadTurn.read_row(letter.content) if letter.kind is LetterKind.TURN else None


ENDS = (TaskState.COMPLETED, TaskState.REJECTED, TaskState.FAILED, TaskState.CANCELED)
_PARTS = {
    "model": "the model",
    "tool_server": "a tool server",
    "policy_service": "the policy service",
}


class DayCounts(NamedTuple):
    """The tasks that ended on one day (UTC). ``units``: the sum of their qualities, dry runs excepted."""

    date: str
    events: int = 0
    success: int = 0
    partial: int = 0
    failure: int = 0
    units: int = 0

    @property
    def judged(self) -> int:
        """How many of the tasks were not dry runs."""
        return self.success + self.partial + self.failure

    @property
    def quality(self) -> str:
        """The mean quality of the judged tasks; empty if there were none."""
        return f"{self.units / (REWARD_UNITS * self.judged):.2f}" if self.judged else ""


class HealthItem(NamedTuple):
    """A named number. ``tone`` is good, warn, bad or empty."""

    label: str
    value: str
    remark: str = ""
    tone: str = ""


class EndRow(NamedTuple):
    state: Badge
    word: str
    number: int
    share: str


class Cause(NamedTuple):
    """A reason why tasks failed, how many did, and one of them."""

    text: str
    number: int
    task_id: str


def load(state: TenantState, *, still: bool) -> tuple[HealthItem, ...]:
    """How many sessions wait and are worked on; a queue that stands ``still`` is bad."""
    waiting = HealthItem(
        "Sessions that wait",
        f"{state.waiting:,}",
        "nobody works on them: does an executor run?" if still else "to be taken up by a worker",
        "bad" if still else "",
    )
    return waiting, HealthItem("Sessions worked on", f"{state.running:,}", "right now")


def endings(totals: Mapping[TaskState, int]) -> tuple[EndRow, ...]:
    """How many tasks ended in each state; empty if none ended."""
    whole = sum(totals.values())
    rows = [(state, totals.get(state, 0)) for state in ENDS]
    return tuple(EndRow(state_badge(state), state.value, n, _show_percent(n, whole)) for state, n in rows if whole)


def error_rate(totals: Mapping[TaskState, int]) -> HealthItem:
    """Failed tasks among those not canceled; a refusal by policy or a person is no failure."""
    whole = sum(totals.values()) - totals.get(TaskState.CANCELED, 0)
    failed = totals.get(TaskState.FAILED, 0)
    tone = "" if not failed else "bad" if failed * 5 > whole else "warn"
    return HealthItem(
        "Failed",
        _show_percent(failed, whole) or "none",
        f"{failed} of {count_of(whole, 'task')} that were not canceled",
        tone,
    )


def latencies(records: Sequence[TaskRecord]) -> tuple[HealthItem, ...]:
    """Durations from message to end, of tasks that waited for nobody and of all tasks."""
    alone = sorted(_duration_of(one) for one in records if not waited_for_people(one))
    rest = sorted(_duration_of(one) for one in records if waited_for_people(one))
    found = []
    if alone:
        found.append(
            HealthItem(
                "Half of the tasks took", span_of(alone[_rank(len(alone), 50)]), f"{len(alone)} that waited for nobody"
            )
        )
        found.append(HealthItem("19 in 20 took at most", span_of(alone[_rank(len(alone), 95)]), "from message to end"))
    if rest:
        found.append(
            HealthItem(
                "With an approval",
                span_of(rest[_rank(len(rest), 50)]),
                f"half of the last {len(rest)}, waiting included",
            )
        )
    return tuple(found)


def causes(records: Sequence[TaskRecord]) -> tuple[Cause, ...]:
    """Why tasks failed, the most frequent reason first."""
    failed = [one for one in records if one.state is TaskState.FAILED]
    named = [_failure_cause(one) for one in failed]
    first = dict(zip(reversed(named), reversed([one.task_id for one in failed]), strict=True))
    return tuple(Cause(text, number, first[text]) for text, number in Counter(named).most_common(5))


def day_counts(days: Mapping[str, Mapping[str, int]]) -> tuple[DayCounts, ...]:
    """The learner's counts by day, in order."""
    names = ("events", "success", "partial", "failure", "quality_units")
    return tuple(DayCounts(day, *(counts.get(name, 0) for name in names)) for day, counts in sorted(days.items()))


def waited_for_people(record: TaskRecord) -> bool:
    """Whether the task ever waited for a person. An ended task keeps its approval's id, but not what was asked."""
    return any(record.metadata.get(name) for name in ("approval_id", "approval_request", "confirmations"))


def cost_of_a_task(spent: Sequence[DaySpent], days: Sequence[DayCounts]) -> int:
    """The mean cost of a task in nano-dollars, over the days whose tasks and cost are both known."""
    ended = {day.date: day.events for day in days}
    tasks = sum(ended.get(day.date, 0) for day in spent)
    return round(sum(day.nanos for day in spent) / tasks) if tasks else 0


def _failure_cause(record: TaskRecord) -> str:
    part = record.metadata.get("failed_part")
    named = _PARTS.get(part) if isinstance(part, str) else None
    return f"It broke at {named}" if named else (record.reason or "No reason was given").partition("\n")[0][:160]


def _duration_of(record: TaskRecord) -> timedelta:
    return max(record.updated_at - record.accepted_at, timedelta(0))


def _rank(count: int, percent: int) -> int:
    """The index of a percentile in a sorted list of ``count`` values."""
    return max(0, -(-count * percent // 100) - 1)


def _show_percent(part: int, whole: int) -> str:
    if not whole:
        return ""
    share = 100 * part / whole
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"


WEEK = 7
_ARROWS = {"up": "▲", "down": "▼"}


class Tile(NamedTuple):
    """A manager's question and its answer. ``mark`` is shown beside the value; ``tone`` is good, warn, bad or empty."""

    question: str
    value: str
    remark: str
    href: str
    tone: str = ""
    mark: str = ""


class WaitingCounts(NamedTuple):
    """How much waits for the reader: approvals, writes in doubt, dead letters, failed webhooks."""

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
    """How tasks ended in the last day, and whether the queue stands ``still``. ``state``: for operators only."""
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


def needs_tile(needs: WaitingCounts, others: int, first: datetime | None, now: datetime) -> Tile:
    """What waits for the reader. ``others``: approvals for other people; ``first``: the reader's next deadline."""
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
    href = "/console/approvals" if needs.approvals else _place_of_needs(needs)
    return Tile(question, str(needs.total), f"{list_of(tuple(parts))}{due}", href, "warn")


def cost_tile(spent: Sequence[DaySpent], days: Sequence[DayCounts], today: date) -> Tile:
    """What today and the week cost. The tenant's day may be one ahead of UTC, or behind."""
    question, href = "What does it cost?", "/console/operations"
    now = next((one for one in reversed(spent) if one.calls and one.date >= today.isoformat()), None)
    week = sum(day.nanos for day in spent[-WEEK:])
    if not any(day.calls for day in spent):
        return Tile(question, "$0.00", "no model was asked in the last days", href)
    ended = next((day.events for day in days if day.date == today.isoformat()), 0)
    each = f", {dollars(round(now.nanos / ended))} a task" if now and ended and now.nanos else ""
    calls = f"{count_of(now.calls, 'model call')}{each}" if now else "no model call"
    return Tile(question, dollars(now.nanos if now else 0), f"today: {calls}; {dollars(week)} in {WEEK} days", href)


def first_due(mine: Sequence[ApprovalRequest]) -> datetime | None:
    return min((one.approval.deadline for one in mine), default=None)


def last_days(today: date, count: int) -> list[str]:
    """The dates of ``count`` days, oldest first, up to tomorrow, which may have begun in the tenant's time zone."""
    return [(today + timedelta(days=shift)).isoformat() for shift in range(2 - count, 2)]


def begun_days(spent: Sequence[DaySpent]) -> Sequence[DaySpent]:
    """The days without tomorrow, unless it has begun in the tenant's time zone."""
    return spent if not spent or spent[-1].calls else spent[:-1]


def _place_of_needs(needs: WaitingCounts) -> str:
    if needs.doubts:
        return "/console/tasks?state=waiting"
    return "/console/operations/dead-letters" if needs.letters else "/console/webhooks"
