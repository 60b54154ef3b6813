"""Weather reports in the shape of OpenWeather's One Call, and the units in which they are told."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pydantic import ConfigDict, JsonValue

from services.simulator.core.modalities.fields import Number
from services.simulator.core.records import JsonObject, StoredRow

Units: TypeAlias = Literal["standard", "metric", "imperial"]
SECTIONS = ("current", "minutely", "hourly", "daily", "alerts")
_TEMPERATURES = frozenset({"temp", "feels_like", "dew_point"})  # of a day: an object of several
_SPEEDS = frozenset({"wind_speed", "wind_gust"})
_Conversion = Callable[[float], float]


class WeatherConditions(StoredRow):
    """The weather at a time. What else a report says is kept as it is."""

    model_config = ConfigDict(frozen=True, extra="allow")

    dt: int | None = None
    temp: Number | dict[str, Number] | None = None
    feels_like: Number | dict[str, Number] | None = None
    dew_point: Number | None = None
    wind_speed: Number | None = None
    wind_gust: Number | None = None


class WeatherReport(StoredRow):
    """A weather report in Kelvin and metres a second, the default units of OpenWeather."""

    model_config = ConfigDict(frozen=True, extra="allow")

    current: WeatherConditions | None = None
    minutely: tuple[WeatherConditions, ...] | None = None
    hourly: tuple[WeatherConditions, ...] | None = None
    daily: tuple[WeatherConditions, ...] | None = None
    alerts: tuple[dict[str, JsonValue], ...] | None = None


def report_as_json(report: WeatherReport, units: Units, excluded: frozenset[str]) -> JsonObject:
    """The report in those units; a section that is excluded is there, and null."""
    all_fields: JsonObject = report.model_dump(mode="json", exclude_none=True)
    kept_fields: JsonObject = {**all_fields, **dict.fromkeys(name for name in SECTIONS if name in excluded)}
    if units == "standard":
        return kept_fields
    return {name: _convert_value(value, units) if name in SECTIONS else value for name, value in kept_fields.items()}


def _convert_value(value: JsonValue, units: Units) -> JsonValue:
    if isinstance(value, list):
        return [_convert_value(item, units) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _convert_field(name, item, units) for name, item in value.items()}


def _convert_field(name: str, value: JsonValue, units: Units) -> JsonValue:
    convert = _CONVERSIONS[units].get("temperature" if name in _TEMPERATURES else "speed" if name in _SPEEDS else "")
    if convert is None:
        return value
    if isinstance(value, dict):
        return {part: _convert_number(figure, convert) for part, figure in value.items()}
    return _convert_number(value, convert)


def _convert_number(value: JsonValue, convert: _Conversion) -> JsonValue:
    return round(convert(value), 2) if isinstance(value, int | float) else value


def _celsius(kelvin: float) -> float:
    return kelvin - 273.15


def _fahrenheit(kelvin: float) -> float:
    return _celsius(kelvin) * 9 / 5 + 32


def _miles_an_hour(metres_a_second: float) -> float:
    return metres_a_second * 3600 / 1609.344


_CONVERSIONS: Mapping[Units, Mapping[str, _Conversion]] = {
    "standard": {},
    "metric": {"temperature": _celsius},
    "imperial": {"temperature": _fahrenheit, "speed": _miles_an_hour},
}
