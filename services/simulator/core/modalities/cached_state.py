"""Modalities that cache the JSON of their state between changes."""

from abc import abstractmethod
from datetime import datetime
from typing import Generic

from pydantic_core import to_json
from typing_extensions import override

from services.simulator.core.modalities.actions import ActingModality, Tables
from services.simulator.core.modalities.fields import format_time_with_z
from services.simulator.core.modalities.rendered import VersionedView
from services.simulator.core.records import JsonObject


class CachedStateModality(ActingModality[Tables], Generic[Tables]):
    """Caches a state's JSON: a header, which may contain the time, and a body, which changes only with the tables."""

    def __init__(self) -> None:
        super().__init__()
        self._body = VersionedView(self.store, self.body)
        self._rest = VersionedView(self.store, lambda: self.body_json()[1:])  # what follows the header
        self._text: tuple[int, datetime, bytes] | None = None
        self._compact_body = VersionedView(self.store, self.compact_body)

    @abstractmethod
    def body(self) -> JsonObject:
        """The part of the state that depends on the tables alone; never empty."""

    def body_json(self) -> bytes:
        """The state's body as UTF-8 JSON; subclasses may render it row by row."""
        return to_json(self.body())

    @abstractmethod
    def compact_body(self) -> JsonObject:
        """The part of the compact view that depends on the tables alone; never empty."""

    def state_header(self, now: datetime) -> JsonObject:
        return {"modality_type": self.name, "current_time": format_time_with_z(now)}

    @override
    def state(self, now: datetime) -> JsonObject:
        return self.state_header(now) | self._body()

    @override
    def state_json(self, now: datetime) -> bytes:
        cached_text = self._text
        if cached_text is None or cached_text[:2] != (self.version, now):
            text = b"%s,%s" % (to_json(self.state_header(now))[:-1], self._rest())
            self._text = cached_text = (self.version, now, text)
        return cached_text[2]

    @override
    def compact(self, now: datetime) -> JsonObject:
        return self.state_header(now) | self._compact_body()
