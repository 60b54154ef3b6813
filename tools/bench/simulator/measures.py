"""What a simulator costs: its start, waiting events, posting, reading a state that did not change."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from services.simulator.core.records import JsonObject
from tools.bench.simulator.process import BenchSimulator

SIZES = (100, 1_000, 10_000, 100_000)
POSTED = 10_000
MAILS = 3_000
POSTING_TARGET = 10.0
STATE_TARGET_MS = 5.0
_ADVANCES = 500
_READS = 100


class SimulatorFigures(NamedTuple):
    """``advance_ms``: CPU milliseconds of an advance with nothing due, by how many events wait."""

    start_seconds: float
    idle_memory_mb: float
    advance_ms: Mapping[int, float]
    posting_cpu_seconds: float
    state_ms: float

    @property
    def growth(self) -> float:
        """How many times dearer an advance is at the largest size than at the smallest."""
        return self.advance_ms[SIZES[-1]] / self.advance_ms[SIZES[0]]

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        found, logarithmic = [], math.log(SIZES[-1]) / math.log(SIZES[0])
        if self.growth > logarithmic:
            found.append(f"an advance costs {self.growth:.1f} times as much, target {logarithmic:.1f}: the logarithm's")
        if self.posting_cpu_seconds >= POSTING_TARGET:
            found.append(
                f"{self.posting_cpu_seconds:.1f} s of CPU for {POSTED} events, target under {POSTING_TARGET} s"
            )
        if self.state_ms >= STATE_TARGET_MS:
            found.append(f"{self.state_ms:.1f} ms for email/state at {MAILS} mails, target {STATE_TARGET_MS} ms")
        return found

    def as_json(self) -> JsonObject:
        return {
            "start_seconds": round(self.start_seconds, 2),
            "idle_memory_mb": round(self.idle_memory_mb, 1),
            "advance_with_nothing_due_cpu_ms": {str(size): round(ms, 3) for size, ms in self.advance_ms.items()},
            "advance_growth": round(self.growth, 2),
            "posting_10000_events_cpu_seconds": round(self.posting_cpu_seconds, 2),
            "email_state_at_3000_mails_cpu_ms": round(self.state_ms, 2),
            "missed": [*self.missed],
        }


def measure_all(running: BenchSimulator) -> SimulatorFigures:
    """All of it, on a simulator that has just started."""
    start, memory = running.start_seconds, running.memory_mb
    advances = {size: _advance_ms(running, size) for size in SIZES}
    posting = _measure_posting(running)
    return SimulatorFigures(start, memory, advances, posting, _state_ms(running))


def _advance_ms(running: BenchSimulator, size: int) -> float:
    now = _empty_world(running)
    waiting = [_event(now + timedelta(days=30, seconds=number)) for number in range(size)]
    running.ask("POST", "/scenario/import/events", {"data": {"events": waiting}})
    running.ask("POST", "/simulation/start", {})
    begun = running.cpu_seconds
    for _ in range(_ADVANCES):
        running.ask("POST", "/simulator/time/advance", {"seconds": 1})
    return (running.cpu_seconds - begun) * 1000 / _ADVANCES


def _measure_posting(running: BenchSimulator) -> float:
    now = _empty_world(running)
    running.ask("POST", "/simulation/start", {})
    begun = running.cpu_seconds
    for number in range(POSTED):
        running.ask("POST", "/events", _event(now + timedelta(days=1, seconds=number * 7919 % POSTED)))
    return running.cpu_seconds - begun


def _state_ms(running: BenchSimulator) -> float:
    now = _empty_world(running)
    for number in range(0, MAILS, 1000):
        batch = [_event(now + timedelta(seconds=number + each + 1)) for each in range(1000)]
        running.ask("POST", "/events/batch", {"events": batch})
    running.ask("POST", "/simulation/start", {})
    running.ask("POST", "/simulator/time/advance", {"seconds": MAILS + 1})
    running.ask_raw("GET", "/email/state")
    begun = running.cpu_seconds
    for _ in range(_READS):
        running.ask_raw("GET", "/email/state")
    return (running.cpu_seconds - begun) * 1000 / _READS


def _empty_world(running: BenchSimulator) -> datetime:
    return datetime.fromisoformat(str(running.ask("POST", "/simulation/clear", {})["current_time"]))


def _event(time: datetime) -> JsonObject:
    mail: JsonObject = {
        "operation": "receive",
        "from_address": "someone@example.com",
        "to_addresses": ["user@example.com"],
        "subject": "A subject",
        "body_text": "A few words, as mails have them.",
    }
    return {"scheduled_time": time.isoformat(), "modality": "email", "data": mail}
