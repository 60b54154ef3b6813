"""The location modality: where the user is, and was."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import ClassVar, Literal

from pydantic import Field, JsonValue, model_validator
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.fields import (
    AwareTime,
    Latitude,
    Longitude,
    Name,
    Number,
    StoredTime,
    format_time,
)
from services.simulator.core.modalities.filters import RowTests
from services.simulator.core.modalities.indexes import TimeIndex
from services.simulator.core.modalities.loading import Exported
from services.simulator.core.modalities.pages import Order, PageQuery
from services.simulator.core.modalities.rendered import row_as_json
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.records import JsonObject, StoredRow, TableStore
from services.simulator.core.refusals import parse_model


class Position(StoredRow):
    latitude: Latitude
    longitude: Longitude
    address: str | None = None
    named_location: str | None = None
    altitude: Number | None = None
    accuracy: Number | None = None
    speed: Number | None = None
    bearing: Number | None = None
    timestamp: StoredTime


class LocationTrack:
    """The positions, oldest first; the last is the present one."""

    def __init__(self, store: TableStore) -> None:
        self.positions = store.table("positions", Position)
        self.by_time = TimeIndex(self.positions, lambda position: position.timestamp)

    def add(self, key: str, position: Position) -> None:
        self.positions.put(key, position)

    def sorted_positions(self) -> list[Position]:
        return [self.positions[key] for key in self.by_time.find_between(None, None)]


class UpdateLocation(Action[LocationTrack]):
    """Moves the user to another position."""

    latitude: Latitude
    longitude: Longitude
    address: str | None = None
    named_location: str | None = None
    altitude: Number | None = None
    accuracy: Number | None = Field(None, ge=0)
    speed: Number | None = Field(None, ge=0)
    bearing: Number | None = Field(None, ge=0, le=360)

    @override
    def act(self, tables: LocationTrack, moment: EventMoment) -> ActionOutcome:
        tables.add(moment.new_id("position"), Position(timestamp=moment.now, **self.model_dump()))
        return ActionOutcome(f"Location updated to {self.named_location or f'{self.latitude}, {self.longitude}'}")


class LocationQuery(PageQuery):
    since: AwareTime | None = None
    until: AwareTime | None = None
    named_location: Name | None = None
    include_current: bool = True
    sort_by: Literal["timestamp", "named_location"] = "timestamp"
    sort_order: Order = "desc"


class ExportedLocation(Exported):
    current: Position | None = None
    history: tuple[Position, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _complete_current(cls, data: JsonValue) -> JsonValue:
        """Some servers write where the user is without since when, or that it is nowhere."""
        if not isinstance(data, dict) or not isinstance(current := data.get("current"), dict):
            return data
        if current.get("latitude") is None:
            return {**data, "current": None}
        return {**data, "current": {"timestamp": data.get("last_updated"), **current}}


OPERATIONS: Mapping[str, type[Action[LocationTrack]]] = {"update": UpdateLocation}


class LocationModality(CachedStateModality[LocationTrack]):
    """The user's positions. ``current`` is always there; its fields are null as long as the position is unknown."""

    name: ClassVar[str] = "location"
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = LocationTrack(self.store)
        self.clear(now)

    @override
    def upgrade_data(self, data: JsonObject) -> JsonObject:
        return {**data, "operation": data.get("operation") or "update"}

    @override
    def state_header(self, now: datetime) -> JsonObject:
        return {"modality_type": self.name, "last_updated": format_time(self.head.last_updated)}

    @override
    def body(self) -> JsonObject:
        positions = [row_as_json(position) for position in self.tables.sorted_positions()]
        return {
            "update_count": self.head.update_count,
            "current": positions[-1] if positions else dict.fromkeys(Position.model_fields),
            "history": [*positions[:-1]],
        }

    @override
    def compact_body(self) -> JsonObject:
        body = self.body()
        return {name: body[name] for name in ("update_count", "current")} | {"history_count": self._count_past()}

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(LocationQuery, fields)
        matches = list(self._find_positions(query))
        if query.sort_by == "named_location":
            matches.sort(key=lambda position: (position.named_location or "").casefold())
        if query.sort_order == "desc":
            matches.reverse()
        page = [row_as_json(position) for position in query.slice(matches)]
        return {"modality_type": self.name, "locations": [*page], "count": len(page), "total_count": len(matches)}

    @override
    def export(self) -> JsonObject:
        return self.state(self.head.last_updated)

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedLocation, state)
        self.store.clear()
        self.set_head(read.head)
        positions = (*read.history, *([read.current] if read.current else []))
        for number, position in enumerate(sorted(positions, key=lambda position: position.timestamp)):
            self.tables.add(f"position-{number}", position)

    def _count_past(self) -> int:
        return max(len(self.tables.positions) - 1, 0)

    def _find_positions(self, query: LocationQuery) -> Iterator[Position]:
        """Yields the positions that match the query, the oldest first."""
        tests = RowTests[Position]()
        tests.require_text(query.named_location, lambda position: position.named_location or "")
        keys = self.tables.by_time.find_between(query.since, query.until)
        current = self.tables.by_time.page(0, 1, descending=True)
        for key in keys:
            if tests.passes(self.tables.positions[key]) and (query.include_current or key not in current):
                yield self.tables.positions[key]
