"""One update of a stream in each dialect's own shape."""

from collections.abc import Callable
from typing import TypeAlias

from services.gateway.core.streaming.legacy_updates import legacy_update
from services.gateway.core.streaming.streams import Stream, Told
from services.gateway.core.streaming.updates import StatusUpdate
from services.gateway.entrypoints.a2a.view import Shown, update_view
from services.gateway.entrypoints.a2a.wire import Wording

Shape: TypeAlias = Callable[[Told], Shown]


def shape_of(stream: Stream, wording: Wording, notice: str, history_length: int | None = None) -> Shape:
    """How the updates of a stream are written in protocols 0.3 and 1.0."""

    def write_update(told: Told) -> Shown:
        final = isinstance(told.update, StatusUpdate) and told.update.final
        return wording.update(update_view(told.update, told.event_id, stream.record, notice, history_length), final)

    return write_update


def legacy_shape_of(stream: Stream, notice: str) -> Shape:
    return lambda told: legacy_update(told.update, stream.shown_id, notice)
