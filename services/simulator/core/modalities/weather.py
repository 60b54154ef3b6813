"""The weather, by place."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.fields import AwareTime, Latitude, Longitude, StoredTime, format_time
from services.simulator.core.modalities.loading import Exported
from services.simulator.core.modalities.pages import PageQuery
from services.simulator.core.modalities.weather_reports import SECTIONS, Units, WeatherReport, report_as_json
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.records import JsonObject, StoredRow, Table
from services.simulator.core.refusals import parse_model


class TimedReport(StoredRow):
    timestamp: StoredTime
    report: WeatherReport


class WeatherSpot(StoredRow):
    """A place with what was reported of it, newest last."""

    spot: str
    latitude: Latitude
    longitude: Longitude
    reports: tuple[TimedReport, ...]


Spots = Table[WeatherSpot]


def spot_key(latitude: float, longitude: float) -> str:
    """The key of a place; positions about a kilometre apart share one."""
    return f"{latitude + 0.0:.2f},{longitude + 0.0:.2f}".replace("-0.00", "0.00")


class UpdateWeather(Action[Spots]):
    latitude: Latitude = Field(validation_alias=AliasChoices("latitude", "lat"))
    longitude: Longitude = Field(validation_alias=AliasChoices("longitude", "lon"))
    report: WeatherReport

    @override
    def act(self, tables: Spots, moment: EventMoment) -> ActionOutcome:
        key = spot_key(self.latitude, self.longitude)
        before = tables[key].reports if key in tables else ()
        reports = (*before, TimedReport(timestamp=moment.now, report=self.report))
        tables.put(key, WeatherSpot(spot=key, latitude=self.latitude, longitude=self.longitude, reports=reports))
        return ActionOutcome(f"Weather updated for {key}", (key,))


def _parse_sections(value: JsonValue) -> JsonValue:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


class WeatherQuery(PageQuery):
    """A query for a place's weather: its newest report, or those of a stretch of time. ``exclude`` names sections."""

    lat: Latitude = Field(validation_alias=AliasChoices("lat", "latitude"))
    lon: Longitude = Field(validation_alias=AliasChoices("lon", "longitude"))
    exclude: Annotated[tuple[str, ...], BeforeValidator(_parse_sections)] | None = None
    units: Units = "standard"
    from_time: AwareTime | None = None
    to_time: AwareTime | None = None
    real: bool = False


class _ExportedSpot(StoredRow):
    """A place in an exported state. ``current_report`` is all that some servers keep of it."""

    latitude: Latitude
    longitude: Longitude
    reports: tuple[TimedReport, ...] = ()
    current_report: WeatherReport | None = None

    def make_spot(self, key: str, at: datetime) -> WeatherSpot:
        current = (TimedReport(timestamp=at, report=self.current_report),) if self.current_report else ()
        return WeatherSpot(spot=key, latitude=self.latitude, longitude=self.longitude, reports=self.reports or current)


class ExportedWeather(Exported):
    locations: dict[str, _ExportedSpot] = {}


OPERATIONS: Mapping[str, type[Action[Spots]]] = {"update": UpdateWeather}


class WeatherModality(CachedStateModality[Spots]):
    name: ClassVar[str] = "weather"
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = self.store.table("spots", WeatherSpot)
        self.clear(now)

    @override
    def upgrade_data(self, data: JsonObject) -> JsonObject:
        return {**data, "operation": data.get("operation") or "update"}

    @override
    def state_header(self, now: datetime) -> JsonObject:
        return {"modality_type": self.name, "last_updated": format_time(self.head.last_updated)}

    @override
    def body(self) -> JsonObject:
        return {
            "update_count": self.head.update_count,
            "locations": {key: _spot_as_json(spot) for key, spot in self.tables.items()},
            "location_count": len(self.tables),
        }

    @override
    def compact_body(self) -> JsonObject:
        places: JsonObject = {
            key: {"latitude": spot.latitude, "longitude": spot.longitude, "report_count": len(spot.reports)}
            for key, spot in self.tables.items()
        }
        count = {"update_count": self.head.update_count, "location_count": len(self.tables)}
        return {**count, "locations": places}

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(WeatherQuery, fields)
        reports, error = self._find_reports_or_problem(query)
        if unknown := set(query.exclude or ()) - set(SECTIONS):
            error = f"unknown sections are not excluded: {', '.join(sorted(unknown))}"
        page = [
            report_as_json(report.report, query.units, frozenset(query.exclude or ()))
            for report in query.slice(reports)
        ]
        answer: JsonObject = {"modality_type": self.name, "reports": [*page], "count": len(page)}
        return answer | {"total_count": len(reports), "error": error}

    @override
    def export(self) -> JsonObject:
        return self.state(self.head.last_updated)

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedWeather, state)
        self.store.clear()
        self.set_head(read.head)
        for spot in read.locations.values():
            key = spot_key(spot.latitude, spot.longitude)
            self.tables.put(key, spot.make_spot(key, read.last_updated))

    def _find_reports_or_problem(self, query: WeatherQuery) -> tuple[tuple[TimedReport, ...], str | None]:
        """The reports that a query asks for; none, and the reason, if there cannot be any."""
        if query.real:
            return (), "The weather of the real world is not offered here"
        spot = self.tables.get(spot_key(query.lat, query.lon))
        if spot is None:
            return (), "Nothing is reported of that place"
        if query.from_time is None and query.to_time is None:
            return spot.reports[-1:], None
        return tuple(report for report in spot.reports if _is_within(report.timestamp, query)), None


def _is_within(moment: datetime, query: WeatherQuery) -> bool:
    return (query.from_time is None or moment >= query.from_time) and (query.to_time is None or moment <= query.to_time)


def _spot_as_json(spot: WeatherSpot) -> JsonObject:
    latest = spot.reports[-1] if spot.reports else None
    derived: JsonObject = {
        "current_report": report_as_json(latest.report, "standard", frozenset()) if latest else None,
        "last_updated": format_time(latest.timestamp) if latest else None,
        "report_count": len(spot.reports),
    }
    return spot.model_dump(mode="json", exclude_none=True) | derived
