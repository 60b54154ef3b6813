"""Where the user is and was, and the weather there."""

import pytest

from services.simulator.core.records import JsonObject
from tests.simulator.modalities.asking import do, event_data, part, refused, rows, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.surroundings")
HOME = {"latitude": 52.5, "longitude": 13.4, "named_location": "Home"}
WORK = {"latitude": 52.6, "longitude": 13.5, "named_location": "Work", "accuracy": 5}
REPORT = {
    "timezone": "Europe/Berlin",
    "current": {"dt": 1, "temp": 300.15, "feels_like": 301.15, "wind_speed": 10, "humidity": 40},
    "daily": [{"dt": 2, "temp": {"min": 273.15, "max": 283.15}, "wind_gust": 20.0}],
    "alerts": [{"event": "Storm", "temp": 1}],
}


async def places(stage: Stage, **asked: object) -> list[object]:
    return [one["named_location"] for one in rows(await stage.post("/location/query", asked), "locations")]


async def weather(stage: Stage, **asked: object) -> list[JsonObject]:
    answer = await stage.post("/weather/query", {"lat": 52.5, "lon": 13.4, **asked})
    assert answer["error"] is None
    return rows(answer, "reports")


async def test_where_the_user_was_is_remembered(stage: Stage) -> None:
    await stage.post("/location/update", HOME)
    await stage.post("/simulator/time/advance", {"seconds": 60})
    await stage.post("/location/update", WORK)

    state = await stage.get("/location/state")
    assert (part(state, "current")["named_location"], part(state, "current")["accuracy"]) == ("Work", 5)
    [before] = rows(state, "history")
    assert (before["named_location"], before["timestamp"]) == ("Home", "2026-03-01T09:00:00Z")
    assert state["last_updated"] == "2026-03-01T09:01:00+00:00"
    assert (await stage.get("/location/state?compact=true"))["history_count"] == 1
    await undo(stage)
    assert part(await stage.get("/location/state"), "current")["named_location"] == "Home"


async def test_places_are_found(stage: Stage) -> None:
    await stage.post("/location/update", HOME)
    await stage.post("/simulator/time/advance", {"seconds": 60})
    await stage.post("/location/update", WORK)

    assert await places(stage) == ["Work", "Home"]
    assert await places(stage, sort_order="asc") == ["Home", "Work"]
    assert await places(stage, sort_by="named_location") == ["Work", "Home"]
    assert await places(stage, include_current=False) == ["Home"]
    assert await places(stage, named_location="hom") == ["Home"]
    assert await places(stage, since="2026-03-01T09:00:01Z") == ["Work"]
    assert await places(stage, until="2026-03-01T09:00:00Z") == ["Home"]
    answer = await stage.post("/location/query", {"limit": 1})
    assert (answer["count"], answer["total_count"]) == (1, 2)


async def test_events_need_not_name_the_only_operation(stage: Stage) -> None:
    await stage.post("/events/immediate", {"modality": "location", "data": HOME})
    await stage.post("/simulator/time/advance", {"seconds": 1})

    assert part(await stage.get("/location/state"), "current")["named_location"] == "Home"
    assert (await event_data(stage))[0]["operation"] == "update"


@pytest.mark.parametrize(
    ("units", "temperature", "feels_like", "wind", "lowest", "gust"),
    [
        ("standard", 300.15, 301.15, 10, 273.15, 20),
        ("metric", 27.0, 28.0, 10, 0.0, 20),
        ("imperial", 80.6, 82.4, 22.37, 32.0, 44.74),
    ],
)
async def test_the_weather_is_told_in_the_units_that_are_asked_for(
    stage: Stage, units: str, temperature: float, feels_like: float, wind: float, lowest: float, gust: float
) -> None:
    await do(stage, "/weather/update", latitude=52.5, longitude=13.4, report=REPORT)

    [report] = await weather(stage, units=units)

    current, [day] = part(report, "current"), rows(report, "daily")
    assert (current["temp"], current["feels_like"], current["wind_speed"]) == (temperature, feels_like, wind)
    assert (current["humidity"], report["timezone"]) == (40, "Europe/Berlin")
    assert (part(day, "temp")["min"], day["wind_gust"]) == (lowest, gust)


async def test_a_section_that_is_excluded_is_there_and_null(stage: Stage) -> None:
    await do(stage, "/weather/update", latitude=52.5, longitude=13.4, report=REPORT)

    [some], [other] = await weather(stage, exclude="daily, alerts"), await weather(stage, exclude=["current"])

    assert (some["daily"], some["alerts"], some["timezone"]) == (None, None, "Europe/Berlin")
    assert some["current"]
    assert (other["current"], set(other)) == (None, {"timezone", "current", "daily", "alerts"})


async def test_the_newest_report_is_told_unless_a_time_is_asked_for(stage: Stage) -> None:
    for temperature in (280.0, 290.0):
        report = {"current": {"temp": temperature}}
        await do(stage, "/weather/update", latitude=52.5, longitude=13.4, report=report)
        await stage.post("/simulator/time/advance", {"seconds": 3600})

    assert await weather(stage) == [{"current": {"temp": 290.0}}]
    assert len(await weather(stage, from_time="2026-03-01T09:00:00Z")) == 2
    assert await weather(stage, to_time="2026-03-01T09:30:00Z") == [{"current": {"temp": 280.0}}]
    state = await stage.get("/weather/state")
    place = part(state, "locations", "52.50,13.40")
    assert (state["location_count"], place["report_count"]) == (1, 2)
    assert place["current_report"] == {"current": {"temp": 290.0}}


@pytest.mark.parametrize("asked", [{"lat": 1, "lon": 1}, {"lat": 52.5, "lon": 13.4, "real": True}])
async def test_what_is_not_known_is_said(stage: Stage, asked: dict[str, object]) -> None:
    answer = await stage.post("/weather/query", asked)

    assert answer["reports"] == []
    assert answer["error"]


@pytest.mark.promise("simulator.refusals")
async def test_places_off_the_earth_are_refused(stage: Stage) -> None:
    await refused(stage, "/location/update", "latitude", latitude=91, longitude=0)
    await refused(stage, "/location/update", "bearing", latitude=1, longitude=0, bearing=400)
    await refused(stage, "/weather/update", "longitude", latitude=1, longitude=181, report={})
    await refused(stage, "/weather/update", "temp", latitude=1, longitude=1, report={"current": {"temp": "hot"}})
    await refused(stage, "/weather/query", "units", lat=1, lon=1, units="kelvin")
