"""Places in a task's event stream, as SSE ids name them, and where a client that was cut off goes on.

An id is that of the stored event (``1700000000000-0``). Where one stored event is told as several, all but the last
carry a part as well (``1700000000000-0.2``: of that event, the parts up to the second were told).
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from services.gateway.edge.errors import InvalidField
from shared.ports.tasks import Standing

HEADER = "Last-Event-ID"
_ID = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?(?:\.(\d{1,6}))?")
_LAST_SEQ = 2**64 - 1


@dataclass(frozen=True, order=True)
class EventPlace:
    """One event's place in a stream."""

    ms: int
    seq: int

    @classmethod
    def parse(cls, stream_id: str) -> "EventPlace":
        ms, _, seq = stream_id.partition("-")
        return cls(int(ms), int(seq or 0))

    @property
    def before(self) -> "EventPlace":
        """The last place before this one that an event could have."""
        if self.seq:
            return EventPlace(self.ms, self.seq - 1)
        return EventPlace(self.ms - 1, _LAST_SEQ) if self.ms else self

    def __str__(self) -> str:
        return f"{self.ms}-{self.seq}"


class SeenEvents(NamedTuple):
    """What a client has: everything up to ``place``, or of that event only the parts up to ``part``."""

    place: EventPlace
    part: int | None = None

    @property
    def after(self) -> str:
        """The stream id to read on after."""
        return str(self.place if self.part is None else self.place.before)

    @property
    def event_id(self) -> str:
        return event_id(str(self.place), self.part)

    def has(self, stream_id: str, part: int | None) -> bool:
        """Whether it had that part of an event already; None is the event's last part."""
        if self.part is None or EventPlace.parse(stream_id) != self.place:
            return EventPlace.parse(stream_id) <= self.place
        return part is not None and part <= self.part


def event_id(stream_id: str, part: int | None) -> str:
    return stream_id if part is None else f"{stream_id}.{part}"


def read_seen(text: str | None) -> SeenEvents | None:
    """What a ``Last-Event-ID`` says; None if it says nothing, or 0. Raises ``InvalidField`` for what no stream gave."""
    if not text or text == "0":
        return None
    found = _ID.fullmatch(text)
    if found is None:
        raise InvalidField(HEADER, "must be an id that this stream gave")
    ms, seq, part = found.groups()
    return SeenEvents(EventPlace(int(ms), int(seq or 0)), None if part is None else int(part))


class Resumption(NamedTuple):
    """Where to go on. ``seen`` is None where the client has nothing of what is kept.

    ``lost_after`` is set where events that it has not seen are kept no longer: its last id.
    """

    seen: SeenEvents | None
    lost_after: str | None = None


def resumption(seen: SeenEvents | None, standing: Standing) -> Resumption:
    """Where a client that says it has seen so much goes on in a stream that stands so.

    An id from before a stream's first event is another stream's: of this one the client has nothing, and lacks nothing.
    """
    if seen is None:
        return Resumption(None)
    if standing.oldest is None or standing.newest is None or seen.place > EventPlace.parse(standing.newest):
        return Resumption(None, seen.event_id)
    if seen.place >= EventPlace.parse(standing.oldest):
        return Resumption(seen)
    return Resumption(None, None if standing.whole else seen.event_id)
