"""Figures on recent tasks: how they ended, durations, failures and cost; and the tiles of the overview page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from math import ceil
from typing import NamedTuple

from services.gateway.features.console.views.formatting import (
    Badge,
    count_with_noun,
    join_in_prose,
    relative_time,
    state_badge,
)
from services.gateway.features.console.views.progress import QualityTrend
from services.gateway.features.console.views.tasks import format_duration, format_nanos_as_dollars
from services.gateway.features.tenants import DailySpending, TenantState
from shared.contracts.task import TaskRecord
from shared.domain.bandit import REWARD_UNITS
from shared.domain.words import TaskState

END_STATES = (TaskState.COMPLETED, TaskState.REJECTED, TaskState.FAILED, TaskState.CANCELED)
_PART_NAMES = {"model": "the model", "tool_server": "a tool server", "policy_service": "the policy service"}


class DayCounts(NamedTuple):
    """Counts of the tasks that ended on one day (UTC). ``quality_units``: the sum of their qualities; no dry runs."""

    date: str
    tasks: int = 0
    success: int = 0
    partial: int = 0
    failure: int = 0
    quality_units: int = 0

    @property
    def judged_count(self) -> int:
        """How many of the tasks were not dry runs."""
        return self.success + self.partial + self.failure

    @property
    def quality(self) -> str:
        """The mean quality of the judged tasks; empty if there were none."""
        return f"{self.quality_units / (REWARD_UNITS * self.judged_count):.2f}" if self.judged_count else ""


class Tile(NamedTuple):
    """A question or a label, and its answer. ``tone``: good, warn, bad or empty; ``mark``: shown beside the value."""

    label: str
    value: str
    remark: str = ""
    href: str = ""
    tone: str = ""
    mark: str = ""


class EndStateRow(NamedTuple):
    """How many tasks ended in a state, and their share of all that ended, such as ``12 %``."""

    state: Badge
    task_count: int
    share: str


class FailureCause(NamedTuple):
    """A reason why tasks failed, the number of these tasks, and one of them."""

    text: str
    task_count: int
    task_id: str


def build_load_tiles(state: TenantState, *, is_stuck: bool) -> tuple[Tile, ...]:
    """How many sessions wait and are worked on. ``is_stuck``: sessions wait and none is worked on."""
    waiting = Tile(
        "Sessions that wait",
        f"{state.waiting:,}",
        "nobody works on them: does an executor run?" if is_stuck else "to be taken up by a worker",
        tone="bad" if is_stuck else "",
    )
    return waiting, Tile("Sessions worked on", f"{state.running:,}", "right now")


def build_end_state_rows(totals: Mapping[TaskState, int]) -> tuple[EndStateRow, ...]:
    """How many tasks ended in each state; empty if none ended."""
    total = sum(totals.values())
    if not total:
        return ()
    counts = [(state, totals.get(state, 0)) for state in END_STATES]
    return tuple(EndStateRow(state_badge(state), count, _format_percent(count, total)) for state, count in counts)


def build_error_rate_tile(totals: Mapping[TaskState, int]) -> Tile:
    """The share of failed tasks among those not canceled; rejected tasks do not count as failed."""
    total = sum(totals.values()) - totals.get(TaskState.CANCELED, 0)
    failed = totals.get(TaskState.FAILED, 0)
    remark = f"{failed} of {count_with_noun(total, 'task')} that were not canceled"
    return Tile("Failed", _format_percent(failed, total) or "none", remark, tone=_choose_failure_tone(failed, total))


def _choose_failure_tone(failed: int, total: int) -> str:
    return "" if not failed else "bad" if failed * 5 > total else "warn"


def build_duration_tiles(records: Sequence[TaskRecord]) -> tuple[Tile, ...]:
    """Percentiles of durations from message to end, apart for tasks with an approval and those without."""
    without_approval = sorted(_compute_duration(record) for record in records if not _has_had_approval(record))
    with_approval = sorted(_compute_duration(record) for record in records if _has_had_approval(record))
    figures = (
        ("Half of the tasks took", without_approval, 50, f"{len(without_approval)} without an approval"),
        ("19 in 20 took at most", without_approval, 95, "from message to end"),
        ("With an approval", with_approval, 50, f"half of the last {len(with_approval)}, waiting included"),
    )
    return tuple(
        Tile(label, format_duration(times[ceil(len(times) * percent / 100) - 1]), remark)
        for label, times, percent, remark in figures
        if times
    )


def count_failure_causes(records: Sequence[TaskRecord]) -> tuple[FailureCause, ...]:
    """The five most frequent reasons why tasks failed."""
    failed = [record for record in records if record.state is TaskState.FAILED]
    causes = [_describe_failure_cause(record) for record in failed]
    first_ids = {cause: record.task_id for cause, record in zip(reversed(causes), reversed(failed), strict=True)}
    return tuple(FailureCause(cause, count, first_ids[cause]) for cause, count in Counter(causes).most_common(5))


def parse_day_counts(days: Mapping[str, Mapping[str, int]]) -> tuple[DayCounts, ...]:
    """Ended tasks by outcome, and their summed quality, per day (UTC), in order; from the learner's counts."""
    names = ("events", "success", "partial", "failure", "quality_units")
    return tuple(DayCounts(day, *(counts.get(name, 0) for name in names)) for day, counts in sorted(days.items()))


def _has_had_approval(record: TaskRecord) -> bool:
    """Whether the last turn of a task asked for an approval or decided one, or a person confirmed a step of its plan.

    A wait for an operator, or for the answer to an agent's question, does not count.
    """
    return any(record.metadata.get(name) for name in ("approval_id", "approval_request", "confirmations"))


def compute_mean_cost_of_tasks(spent: Sequence[DailySpending], days: Sequence[DayCounts]) -> int:
    """The mean cost of a task in nano-dollars, over the days for which both cost and counts are known."""
    tasks_by_date = {day.date: day.tasks for day in days}
    tasks = sum(tasks_by_date.get(day.date, 0) for day in spent)
    return round(sum(day.nanos for day in spent) / tasks) if tasks else 0


def _describe_failure_cause(record: TaskRecord) -> str:
    part = record.metadata.get("failed_part")
    if isinstance(part, str) and part in _PART_NAMES:
        return f"It broke at {_PART_NAMES[part]}"
    return (record.reason or "No reason was given").partition("\n")[0][:160]


def _compute_duration(record: TaskRecord) -> timedelta:
    return max(record.updated_at - record.accepted_at, timedelta(0))


def _format_percent(part: int, total: int) -> str:
    if not total:
        return ""
    share = 100 * part / total
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"


_DAYS_OF_WEEK = 7
_INBOX_PATH = "/console/approvals"
_TREND_MARKS = {"up": "▲", "down": "▼"}


class WaitingCounts(NamedTuple):
    """How many approvals, tasks with writes in doubt, dead letters and disabled webhooks wait for the reader."""

    approvals: int = 0
    tasks_in_doubt: int = 0
    dead_letters: int = 0
    disabled_webhooks: int = 0

    @property
    def total(self) -> int:
        return self.approvals + self.tasks_in_doubt + self.dead_letters + self.disabled_webhooks


def build_working_tile(
    totals: Mapping[TaskState, int], open_now: int, state: TenantState | None, *, is_stuck: bool = False
) -> Tile:
    """How tasks ended in the last day, and whether the queue is stuck. ``state``: the tenant's, for operators only."""
    question, href = "Is it working?", "/console/operations" if state else "/console/tasks"
    if state and state.stopped is not None:
        reason = state.stopped or "no reason was given"
        return Tile(question, "Stopped", f"an operator stopped it: {reason}", href, "bad")
    if state and is_stuck:
        return Tile(question, "Stands still", f"{count_with_noun(state.waiting, 'session')} and no worker", href, "bad")
    end_states = (TaskState.COMPLETED, TaskState.FAILED, TaskState.REJECTED)
    completed, failed, rejected = (totals.get(state, 0) for state in end_states)
    running = f"{open_now or 'none'} running"
    if not completed + failed:
        remark = f"{rejected} rejected, {running}" if rejected else f"{running}; none ended in a day"
        return Tile(question, "Busy" if open_now else "Idle", remark, href)
    other_counts = [f"{failed or 'none'} failed", *([f"{rejected} rejected"] if rejected else []), running]
    remark = f"completed, of those that completed or failed in 24 h: {', '.join(other_counts)}"
    judged = completed + failed
    return Tile(question, f"{completed} of {judged}", remark, href, _choose_failure_tone(failed, judged) or "good")


def build_quality_tile(trend: QualityTrend | None) -> Tile:
    question, href = "Is it getting better?", "/console/learning"
    if trend is None:
        return Tile(question, "–", "known once tasks have ended", href)
    mark = _TREND_MARKS.get(trend.arrow, "")
    return Tile(question, f"{trend.recent_mean:.2f}", f"quality {trend.text}", href, trend.tone, mark)


def build_waiting_tile(waiting: WaitingCounts, for_others: int, deadline: datetime | None, now: datetime) -> Tile:
    """The tile of everything that waits for the reader. ``for_others``: approvals for other people; ``deadline``: the
    reader's next one.
    """
    question = "What needs me?"
    if not waiting.total:
        others = count_with_noun(for_others, "approval waits", "approvals wait")
        return Tile(question, "Nothing", f"{others} for others" if for_others else "nothing to decide", _INBOX_PATH)
    nouns = ("approval", "write in doubt", "dead letter", "lost webhook")
    parts = tuple(count_with_noun(count, noun) for count, noun in zip(waiting, nouns, strict=True) if count)
    due_remark = f"; first due {relative_time(deadline, now)}" if deadline else ""
    return Tile(
        question, str(waiting.total), f"{join_in_prose(parts)}{due_remark}", _choose_path_of_waiting(waiting), "warn"
    )


def build_cost_tile(spent: Sequence[DailySpending], days: Sequence[DayCounts], today: date) -> Tile:
    """The cost of today and of the week. ``today``: in UTC; the tenant's day may differ by one."""
    question, href = "What does it cost?", "/console/operations"
    if not any(day.calls for day in spent):
        return Tile(question, "$0.00", "no model was asked in the last days", href)
    week = f"{format_nanos_as_dollars(sum(day.nanos for day in spent[-_DAYS_OF_WEEK:]))} in {_DAYS_OF_WEEK} days"
    spent_today = next((day for day in reversed(spent) if day.calls and day.date >= today.isoformat()), None)
    if spent_today is None:
        return Tile(question, format_nanos_as_dollars(0), f"today: no model call; {week}", href)
    calls = count_with_noun(spent_today.calls, "model call")
    tasks = next((day.tasks for day in days if day.date == today.isoformat()), 0)
    cost_each = (
        f", {format_nanos_as_dollars(round(spent_today.nanos / tasks))} a task" if tasks and spent_today.nanos else ""
    )
    return Tile(question, format_nanos_as_dollars(spent_today.nanos), f"today: {calls}{cost_each}; {week}", href)


def _choose_path_of_waiting(waiting: WaitingCounts) -> str:
    if waiting.approvals:
        return _INBOX_PATH
    if waiting.tasks_in_doubt:
        return "/console/tasks?state=waiting"
    return "/console/operations/dead-letters" if waiting.dead_letters else "/console/webhooks"
