"""The ``time`` modality: how the user wants times shown. It holds no time; the world's clock does."""

from datetime import datetime
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field
from typing_extensions import override

from services.simulator.core.modality import ActionOutcome, EventMoment, Modality, StateHead
from services.simulator.core.records import JsonObject, StoredRow
from services.simulator.core.refusals import parse_model
from services.simulator.core.scenario_shapes import Moment as Time
from shared.contracts.base import NullableModel


class Preferences(StoredRow):
    timezone: str = Field(default="UTC", min_length=1, max_length=100)
    format_preference: Literal["12h", "24h"] = "12h"
    date_format: str | None = Field(default=None, max_length=100)
    locale: str | None = Field(default=None, max_length=100)
    week_start: str | None = Field(default=None, max_length=20)


class WantedPreferences(NullableModel):
    """Changes of the user's preferences; fields that are left out stay as they are."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    timezone: str | None = Field(default=None, min_length=1, max_length=100)
    format_preference: Literal["12h", "24h"] | None = None
    date_format: str | None = Field(default=None, max_length=100)
    locale: str | None = Field(default=None, max_length=100)
    week_start: str | None = Field(default=None, max_length=20)


class _State(Preferences):
    last_updated: Time
    update_count: int = 0


class TimePreferences(Modality):
    name: ClassVar[str] = "time"

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self._preferences = self.store.table("preferences", Preferences)
        self.clear(now)

    @override
    def put_initial_rows(self, now: datetime) -> None:
        self._preferences.put(self.name, Preferences())

    @override
    def normalise(self, data: JsonObject) -> JsonObject:
        return parse_model(WantedPreferences, data).model_dump(exclude_none=True)

    @override
    def act(self, data: JsonObject, moment: EventMoment) -> ActionOutcome:
        changed = self._preferences[self.name].model_copy(update=data)
        self._preferences.put(self.name, changed)
        return ActionOutcome("Time preferences updated", (self.name,))

    @override
    def state(self, now: datetime) -> JsonObject:
        return {**self.export(), "current_time": now.isoformat()}

    @override
    def compact(self, now: datetime) -> JsonObject:
        return self._preferences[self.name].model_dump(mode="json")

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        return self.state(now)

    @override
    def export(self) -> JsonObject:
        return {
            "modality_type": self.name,
            "last_updated": self.head.last_updated.isoformat(),
            "update_count": self.head.update_count,
            **self._preferences[self.name].model_dump(mode="json"),
        }

    @override
    def load(self, state: JsonObject) -> None:
        stored = parse_model(_State, state)
        self.clear(stored.last_updated)
        kept_fields = stored.model_dump(include=set(Preferences.model_fields))
        self._preferences.put(self.name, Preferences.model_validate(kept_fields))
        self.set_head(StateHead(last_updated=stored.last_updated, update_count=stored.update_count))
