"""Series of events: when they take place, and how one date, some or all of them are changed."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from services.simulator.core.modalities.recurrence import Recurrence, dates_between
from tests.simulator.modalities.asking import do, fails, part, rows, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.recurrence")
NEW_YORK = "America/New_York"
WEEKLY = {"frequency": "weekly", "days_of_week": ["monday", "wednesday"], "end_type": "count", "count": 4}


async def series(stage: Stage, recurrence: Mapping[str, object], start: str, zone: str = "UTC", **more: object) -> str:
    """Half an hour each, titled Call."""
    end = (datetime.fromisoformat(start) + timedelta(minutes=30)).isoformat()
    fields = {"title": "Call", "start": start, "end": end, "timezone": zone, "recurrence": recurrence}
    return await do(stage, "/calendar/create", **fields, **more)


async def dates(stage: Stage, start: str | None = None, end: str | None = None, zone: str = "UTC") -> list[str]:
    """What takes place, on the wall clock of the zone."""
    asked = {"start": start, "end": end, "expand_recurring": True}
    found = rows(await stage.post("/calendar/query", asked), "events")
    shown = (datetime.fromisoformat(str(one["start"])).astimezone(ZoneInfo(zone)) for one in found)
    return [f"{moment:%Y-%m-%d %H:%M}" for moment in shown]


async def titles(stage: Stage) -> list[str]:
    found = rows(await stage.post("/calendar/query", {"expand_recurring": True}), "events")
    return [f"{str(one['start'])[5:10]} {one['title']}" for one in found]


async def test_a_series_that_falls_on_no_day_is_not_looked_for_until_the_end_of_time(stage: Stage) -> None:
    """Every seventh day from a Monday on, if it is a Tuesday: eight thousand years of them took a second."""
    never = {"frequency": "daily", "interval": 7, "days_of_week": ["tuesday"]}
    for _ in range(8):
        await series(stage, never, "2026-03-02T09:00:00+00:00")
    await series(stage, {**never, "days_of_week": ["monday"]}, "2026-03-02T09:00:00+00:00")
    began = perf_counter()
    found = await dates(stage, "2026-03-01T00:00:00Z", "2026-03-15T00:00:00Z")
    assert (found, perf_counter() - began < 3) == (["2026-03-02 09:00", "2026-03-09 09:00"], True)


async def test_the_wall_clock_stays_when_clocks_change(stage: Stage) -> None:
    daily = {"frequency": "daily", "end_type": "count", "count": 3}
    await series(stage, daily, "2026-03-07T09:00:00-05:00", NEW_YORK)

    assert await dates(stage) == ["2026-03-07 14:00", "2026-03-08 13:00", "2026-03-09 13:00"]
    assert await dates(stage, zone=NEW_YORK) == ["2026-03-07 09:00", "2026-03-08 09:00", "2026-03-09 09:00"]


async def test_a_time_that_clocks_leave_out_is_an_hour_later(stage: Stage) -> None:
    daily = {"frequency": "daily", "end_type": "count", "count": 2}
    await series(stage, daily, "2026-03-07T02:30:00-05:00", NEW_YORK)

    assert await dates(stage, zone=NEW_YORK) == ["2026-03-07 02:30", "2026-03-08 03:30"]


async def test_monday_and_wednesday_four_times_is_four_dates(stage: Stage) -> None:
    await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")

    assert await dates(stage) == ["2026-03-02 09:00", "2026-03-04 09:00", "2026-03-09 09:00", "2026-03-11 09:00"]


async def test_29_february_comes_every_four_years(stage: Stage) -> None:
    await series(stage, {"frequency": "yearly", "day_of_month": 29, "month_of_year": 2}, "2024-02-29T09:00:00+00:00")

    found = await dates(stage, "2025-01-01T00:00:00Z", "2033-01-01T00:00:00Z")
    assert found == ["2028-02-29 09:00", "2032-02-29 09:00"]


async def test_a_month_without_the_day_is_left_out(stage: Stage) -> None:
    await series(stage, {"frequency": "monthly", "day_of_month": 31}, "2026-01-31T09:00:00+00:00")

    assert await dates(stage, "2026-02-01T00:00:00Z", "2026-08-01T00:00:00Z") == [
        "2026-03-31 09:00",
        "2026-05-31 09:00",
        "2026-07-31 09:00",
    ]


async def test_a_series_ends_with_its_last_day(stage: Stage) -> None:
    until = {"frequency": "daily", "end_type": "until", "end_date": "2026-03-04"}
    await series(stage, until, "2026-03-02T22:00:00-05:00", NEW_YORK)

    assert await dates(stage, zone=NEW_YORK) == ["2026-03-02 22:00", "2026-03-03 22:00", "2026-03-04 22:00"]


async def test_whole_days_stay_whole_days(stage: Stage) -> None:
    fields = {
        "title": "Off",
        "all_day": True,
        "start": "2026-03-07T00:00:00-05:00",
        "end": "2026-03-08T00:00:00-05:00",
        "timezone": NEW_YORK,
        "recurrence": {"frequency": "daily", "end_type": "count", "count": 2},
    }
    await do(stage, "/calendar/create", **fields)

    found = rows(await stage.post("/calendar/query", {"expand_recurring": True}), "events")
    assert [(one["start"], one["end"]) for one in found] == [
        ("2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z"),
        ("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
    ]


async def test_without_expanding_the_series_is_found_by_any_of_its_dates(stage: Stage) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")

    async def found(start: str, end: str) -> list[object]:
        answer = await stage.post("/calendar/query", {"start": start, "end": end})
        return [one["event_id"] for one in rows(answer, "events")]

    assert await found("2026-03-11T00:00:00Z", "2026-03-12T00:00:00Z") == [made]
    assert await found("2026-03-10T00:00:00Z", "2026-03-11T00:00:00Z") == []


async def test_a_date_names_its_series_and_its_day(stage: Stage) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")

    first = rows(await stage.post("/calendar/query", {"expand_recurring": True}), "events")[0]

    assert (first["event_id"], first["parent_event_id"], first["recurrence_id"]) == (
        f"{made}_2026-03-02",
        made,
        "2026-03-02",
    )
    assert first["recurrence"] is None


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("this", ["03-02 Call", "03-04 Call", "03-09 New", "03-11 Call"]),
        ("this_and_future", ["03-02 Call", "03-04 Call", "03-09 New", "03-11 New"]),
        ("future", ["03-02 Call", "03-04 Call", "03-09 New", "03-11 New"]),
        ("all", ["03-02 New", "03-04 New", "03-09 New", "03-11 New"]),
    ],
)
async def test_a_change_reaches_as_far_as_its_scope(stage: Stage, scope: str, expected: list[str]) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")
    before = await stage.get("/calendar/state")

    await do(stage, "/calendar/update", event_id=made, recurrence_scope=scope, recurrence_id="2026-03-09", title="New")

    assert await titles(stage) == expected
    await undo(stage)
    assert await stage.get("/calendar/state") == before


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        ("this", ["03-02 Call", "03-04 Call", "03-11 Call"]),
        ("this_and_future", ["03-02 Call", "03-04 Call"]),
        ("all", []),
    ],
)
async def test_deleting_reaches_as_far_as_its_scope(stage: Stage, scope: str, left: list[str]) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")
    before = await stage.get("/calendar/state")

    await do(stage, "/calendar/delete", event_id=made, recurrence_scope=scope, recurrence_id="2026-03-09")

    assert await titles(stage) == left
    await undo(stage)
    assert await stage.get("/calendar/state") == before


async def test_a_date_that_went_its_own_way_keeps_it(stage: Stage) -> None:
    """When the series is parted after it was moved, and when it is changed again."""
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")
    moved = {"start": "2026-03-12T15:00:00Z", "end": "2026-03-12T16:00:00Z", "title": "Moved"}
    await do(stage, "/calendar/update", event_id=f"{made}_2026-03-11", **moved)
    await do(
        stage,
        "/calendar/update",
        event_id=made,
        recurrence_scope="this_and_future",
        recurrence_id="2026-03-04",
        title="Later",
    )

    assert await titles(stage) == ["03-02 Call", "03-04 Later", "03-09 Later", "03-12 Moved"]
    state = await stage.get("/calendar/state")
    [later] = [key for key, one in part(state, "events").items() if "Later" in str(one)]
    await do(stage, "/calendar/delete", event_id=later)
    assert await titles(stage) == ["03-02 Call"]


async def test_one_date_is_answered_by_itself(stage: Stage) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00", attendees=[{"email": "ann@example.org"}])

    await do(
        stage, "/calendar/respond", event_id=f"{made}_2026-03-04", attendee_email="ann@example.org", response="declined"
    )

    found = rows(await stage.post("/calendar/query", {"expand_recurring": True}), "events")
    assert [rows(one, "attendees")[0]["response"] for one in found] == [
        "needs-action",
        "declined",
        "needs-action",
        "needs-action",
    ]


@pytest.mark.promise("simulator.failed_actions")
async def test_a_day_on_which_nothing_takes_place_cannot_be_changed(stage: Stage) -> None:
    made = await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00")
    await do(stage, "/calendar/delete", event_id=made, recurrence_scope="this", recurrence_id="2026-03-04")

    for day in ("2026-03-03", "2026-03-04", "2026-03-16"):
        said = await fails(stage, "/calendar/delete", event_id=made, recurrence_scope="this", recurrence_id=day)
        assert f"does not take place on {day}" in said
    said = await fails(stage, "/calendar/delete", event_id=f"{made}_2026-02-30")
    assert f"There is no event {made}_2026-02-30" in said
    assert "recurrence_id is needed" in await fails(
        stage, "/calendar/update", event_id=made, recurrence_scope="this_and_future", title="x"
    )


async def test_reminders_of_a_series_come_up_for_each_date(stage: Stage) -> None:
    await series(stage, WEEKLY, "2026-03-02T09:00:00+00:00", reminders=[{"minutes_before": 15}])

    await stage.post("/simulator/time/advance", {"seconds": 4 * 24 * 3600})

    answer = await stage.get("/calendar/reminders?since=2026-03-01T00:00:00Z")
    assert [one["due_at"] for one in rows(answer, "reminders")] == ["2026-03-02T08:45:00Z", "2026-03-04T08:45:00Z"]


_RULES = st.one_of(
    st.builds(Recurrence, frequency=st.just("daily"), interval=st.integers(1, 40)),
    st.builds(
        Recurrence,
        frequency=st.just("weekly"),
        interval=st.integers(1, 5),
        days_of_week=st.sets(st.sampled_from(["monday", "thursday", "sunday"]), min_size=1).map(tuple),
    ),
    st.builds(Recurrence, frequency=st.just("monthly"), interval=st.integers(1, 5), day_of_month=st.integers(1, 31)),
    st.builds(
        Recurrence,
        frequency=st.just("yearly"),
        interval=st.integers(1, 3),
        day_of_month=st.integers(1, 29),
        month_of_year=st.integers(1, 12),
    ),
)
_TIMES = st.datetimes(datetime(2015, 1, 1), datetime(2019, 1, 1), timezones=st.just(UTC))


@given(_RULES, _TIMES, st.integers(0, 2_000), st.integers(1, 400))
@settings(max_examples=30)
def test_looking_later_finds_what_looking_from_the_beginning_finds(
    rule: Recurrence, first: datetime, after: int, days: int
) -> None:
    start = first.replace(tzinfo=None)
    low, high = start + timedelta(days=after), start + timedelta(days=after + days)

    all_of_them = [moment for moment in dates_between(rule, start, start, high) if moment >= low]

    assert list(dates_between(rule, start, low, high)) == all_of_them
