"""Quiet hours: notices wait with no job and no lease until they are over, whatever dies meanwhile."""

import contextlib
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from services.executor.adapters.redis_upkeep import DueTimer, build_deadline_turn
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.contracts.task import Turn
from shared.contracts.tenant import QuietHours, TenantRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from shared.infra.keys import TimerMember
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import APPROVE, TASK, Stage, cancel, decision, message

pytestmark = pytest.mark.promise("notify.quiet_hours")

BREACH = BUILT_IN_TEMPLATES["sla_breach"]
ZONE = ZoneInfo("America/New_York")


async def _in_quiet_hours(stage: Stage) -> Stage:
    """It has been quiet for an hour where the tenant is, and will be for another."""
    local = stage.turns.now().astimezone(ZONE)
    hours = QuietHours(start=(local - timedelta(hours=1)).time(), end=(local + timedelta(hours=1)).time())
    update = {"time_zone": "America/New_York", "quiet_hours": hours}
    stage.change_tenant(**update)
    return stage


async def _resting(*calls: tuple[str, JsonObject]) -> Stage:
    stage = await _in_quiet_hours(await begun_as(BREACH, *calls))
    await stage.run()
    return stage


def _fired(stage: Stage) -> Turn:
    """The timer of the last turn as it comes due, and the clock with it."""
    timer = stage.timer
    stage.turns.ahead += max(timer.due - stage.turns.now(), timedelta())
    return _timer(stage, timer.subject)


def _timer(stage: Stage, subject: str) -> Turn:
    """A timer that fires now."""
    record, now = stage.turns.record, stage.turns.now()
    return build_deadline_turn(
        DueTimer(TimerMember(record.tenant, record.session_id, record.task_id, subject), now, now)
    )


async def test_in_quiet_hours_the_change_is_made_and_its_notice_waits_with_a_durable_timer() -> None:
    stage = await _resting()
    record, end = stage.turns.record, stage.turns.ends[-1]
    assert (record.state, stage.statuses, stage.claims.told) == (TaskState.WORKING, ["verified"], [])
    assert end.timer is not None
    assert timedelta(minutes=59) < end.timer.due - stage.turns.now() <= timedelta(hours=1)
    assert end.outcome is None
    local = end.timer.due.astimezone(ZONE)
    said = (
        f"waiting until {local:%Y-%m-%d %H:%M} (America/New_York), when the quiet hours are over, to call notify_person"
    )
    assert record.reason == said
    states = stage.states
    assert states[-1] == "SCHEDULE_NOTIFY"


@each_row("hours", [0, 3])
async def test_when_they_are_over_the_notice_goes_out_the_task_ends_and_waiting_cost_no_working_time(
    hours: int,
) -> None:
    stage = await _resting()
    stage.turns.ahead = timedelta(hours=hours)  # three are far more than a task may work
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], _fired(stage))
    assert (len(stage.claims.told), record.reason) == (1, None)
    assert stage.turns.remembered.turns[-1] == ("agent", (record.answer or "")[:4000])


async def test_a_timer_that_fires_early_and_a_word_of_the_client_leave_it_waiting_for_the_same_moment() -> None:
    stage = await _resting()
    first = stage.turns.ends[-1].timer
    assert first is not None
    for turn in (_timer(stage, first.subject), message("any news?", "turn-2")):
        record = await stage.run(turn)
        assert (record.state, stage.claims.told, stage.turns.ends[-1].timer) == (TaskState.WORKING, [], first)


async def test_a_cancel_while_it_waits_sends_nothing() -> None:
    stage = await _resting()
    late = _fired(stage)
    stage.turns.ahead = timedelta()
    record = await stage.run(cancel())
    assert (record.state, stage.claims.told) == (TaskState.CANCELED, [])
    await stage.run(late)
    assert (stage.turns.record.state, stage.claims.told) == (TaskState.CANCELED, [])


async def test_dying_at_any_point_before_the_wait_loses_nothing() -> None:
    stage = await _in_quiet_hours(await begun_as(BREACH))
    assert await run_with_deaths(stage, message(TASK)) > 3
    assert (stage.turns.record.state, stage.claims.applied, stage.claims.told) == (TaskState.WORKING, ["C-1"], [])
    await stage.run(_fired(stage))
    assert (stage.turns.record.state, len(stage.claims.told)) == (TaskState.COMPLETED, 1)


@each_row("point", range(10))
async def test_dying_at_any_point_after_the_wait_tells_once_or_asks_an_operator(point: int) -> None:
    """A notice cannot be read back: whoever finds its intent stored does not send it again."""
    stage = await _resting()
    fired = _fired(stage)
    stage.turns.die_before = stage.turns.stored + point
    with contextlib.suppress(Died):
        await stage.run(fired)
    begun = "sending" in stage.statuses
    stage.turns.die_before = None
    if not stage.turns.record.state.is_terminal:
        await stage.run(fired, attempts=2)
    assert stage.turns.record.state is (TaskState.INPUT_REQUIRED if begun else TaskState.COMPLETED)
    assert len(stage.claims.told) <= 1
    assert begun or len(stage.claims.told) == 1


async def test_an_approval_before_the_wait_is_kept_as_given_and_its_timer_changes_nothing() -> None:
    stage = await _in_quiet_hours(await begun_as(BREACH))
    stage.policy.says = {"requires_approval": True}
    await stage.run()
    asked = stage.turns.ends[-1].timer
    record = await stage.run(decision("approve"))
    assert (record.state, stage.claims.applied, stage.claims.told) == (TaskState.WORKING, ["C-1"], [])
    assert asked is not None
    after = await stage.run(_timer(stage, asked.subject))
    assert (after.state, after.reason) == (TaskState.WORKING, record.reason)


async def test_where_nobody_is_to_be_told_nothing_waits() -> None:
    stage = await _resting(APPROVE)
    assert stage.turns.record.state is TaskState.COMPLETED
    held_back = await _in_quiet_hours(await begun_as(BREACH))
    held_back.servers.remove("get_claim")
    held_back.talk.rounds[0] = []
    wants_proof = {"notices_after_proof": True}
    held_back.change_tenant(**wants_proof)
    record = await held_back.run()
    assert (record.state.is_terminal, held_back.claims.told) == (True, [])


async def test_a_tenant_without_quiet_hours_and_a_process_that_heeds_none_tell_at_once() -> None:
    stage = await begun_as(BREACH)
    await stage.run()
    assert len(stage.claims.told) == 1
    for process_type in ("general", "month_end_close"):
        stage = await _in_quiet_hours(await begun_as(BUILT_IN_TEMPLATES[process_type]))
        await stage.run()
        assert (stage.turns.record.state, len(stage.claims.told)) == (TaskState.COMPLETED, 1)


NIGHT = QuietHours(start=time(22), end=time(7))
NOON = QuietHours(start=time(12), end=time(13, 30))


@each_row(
    ("hours", "local", "until"),
    (NIGHT, "2026-01-15T21:59:59", None),
    (NIGHT, "2026-01-15T22:00:00", "2026-01-16T07:00:00"),
    (NIGHT, "2026-01-16T06:59:59", "2026-01-16T07:00:00"),
    (NIGHT, "2026-01-16T07:00:00", None),
    (NOON, "2026-01-15T12:00:00", "2026-01-15T13:30:00"),
    (NOON, "2026-01-15T13:30:00", None),
    (NIGHT, "2026-03-07T23:00:00", "2026-03-08T07:00:00"),  # an hour is missing in that night
    (NIGHT, "2026-10-31T23:00:00", "2026-11-01T07:00:00"),  # and in this one there is one more
)
def test_when_quiet_hours_end(hours: QuietHours, local: str, until: str | None) -> None:
    now = datetime.fromisoformat(local).replace(tzinfo=ZONE)
    end = hours.find_end(now.astimezone(UTC), ZONE)
    assert end == (datetime.fromisoformat(until).replace(tzinfo=ZONE).astimezone(UTC) if until else None)


@each_row(("start", "end"), [("22:00", "22:00"), ("22:00Z", "07:00"), ("25:00", "07:00")])
def test_hours_that_say_nothing_are_refused_with_the_tenants_record_and_others_survive_its_json(
    start: str, end: str
) -> None:
    with pytest.raises(ValidationError):
        TenantRecord.model_validate({"id": "acme", "quiet_hours": {"start": start, "end": end}})
    record = TenantRecord.model_validate({"id": "acme", "quiet_hours": {"start": "22:00", "end": "07:00"}})
    assert TenantRecord.model_validate_json(record.model_dump_json()).quiet_hours == NIGHT
