"""What finished sessions leave in Redis as time passes, and whether a long session slows its next turn."""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from shared.domain.exact_json import Json, dumps, to_exact
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from tools.bench.executor.installation import BenchInstallation, installation
from tools.bench.executor.memory import MeasuredKey, all_keys, sent_bytes


class SessionTurns(NamedTuple):
    """One turn in a window of a session: milliseconds, and bytes that Redis sent for it."""

    ms: float
    bytes_read: int


class BytesLeft(NamedTuple):
    """Bytes of one finished session, archived and learned from, when so many hours have passed."""

    hours: int
    bytes: int


FINISHED, TURNS = 10_000, 500
WINDOW = 10  # turns at its beginning, and at its end
_AT_ONCE = 50
BOUNDS = {0: 24_576, 1: 8_192, 24: 8_192, 8 * 24: 2_048, 30 * 24: 64}  # bytes of one finished session after hours
# The last turns of a long session against its first: it remembers its latest turns, 20 to 30 of some 300 bytes each.
SLOWER_AT_MOST, MORE_BYTES_AT_MOST = 1.5, 12_000


class SessionFigures(NamedTuple):
    finished: int
    left: tuple[BytesLeft, ...]
    kinds: dict[str, int]  # bytes of one session by kind of key, at once
    turns: int
    first: SessionTurns
    last: SessionTurns

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        over = [
            f"a finished session takes {left.bytes} bytes after {left.hours} hours, target at most {BOUNDS[left.hours]}"
            for left in self.left
            if left.bytes > BOUNDS[left.hours]
        ]
        (first_ms, first_bytes), (last_ms, last_bytes) = self.first, self.last
        slower = []
        if last_ms > SLOWER_AT_MOST * first_ms:
            slower.append(f"{last_ms} ms, the first {first_ms}, target at most {SLOWER_AT_MOST} times that")
        if last_bytes > first_bytes + MORE_BYTES_AT_MOST:
            slower.append(f"{last_bytes} bytes read, the first {first_bytes}, target at most {MORE_BYTES_AT_MOST} more")
        return over + [f"turn {self.turns} takes {one}" for one in slower]


def bench_sessions(arguments: Sequence[str]) -> int:
    """Measure and say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.executor sessions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--finished", type=int, default=FINISHED, help="how many sessions are finished")
    parser.add_argument("--turns", type=int, default=TURNS, help="how many turns the long session has")
    options = parser.parse_args(arguments)
    figures = asyncio.run(measure_sessions(options.finished, options.turns))
    sys.stdout.write(_show_figures(figures, as_json=options.json))
    if not (options.check and figures.missed):
        return 0
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed))
    return 1


async def measure_sessions(finished: int, turns: int) -> SessionFigures:
    with tempfile.TemporaryDirectory(prefix="pa-bench-") as name:
        folder = Path(name)
        with EmbeddedRedis(folder / "long") as redis:
            async with installation(redis.url) as place:
                first, last = await _long_session(place, turns)
        with EmbeddedRedis(folder / "many", is_durable=False) as redis:  # its memory is the same
            async with installation(redis.url) as place:
                found = await _many_sessions(place, finished)
    return SessionFigures(finished, _bytes_left(found, finished), _by_kind(found, finished), turns, first, last)


async def _long_session(place: BenchInstallation, turns: int) -> tuple[SessionTurns, SessionTurns]:
    """The first turns of a fresh session and the last of a long one, by turns: the machine is then equally busy."""
    for number in range(turns - WINDOW):
        await place.run_turn("long")
        if number % _AT_ONCE == 0:
            await place.archive()
    pairs = [(await _measure_turn(place, "fresh"), await _measure_turn(place, "long")) for _ in range(WINDOW)]
    return _median([first for first, _ in pairs]), _median([last for _, last in pairs])


async def _measure_turn(place: BenchInstallation, session: str) -> SessionTurns:
    loop = asyncio.get_running_loop()
    itself = -await sent_bytes(place.redis) + await sent_bytes(place.redis)
    read, began = await sent_bytes(place.redis), loop.time()
    await place.run_turn(session)
    took = loop.time() - began
    return SessionTurns(round(took * 1000, 2), await sent_bytes(place.redis) - read - itself)


def _median(turns: Sequence[SessionTurns]) -> SessionTurns:
    times, sizes = zip(*turns, strict=True)
    return SessionTurns(round(statistics.median(times), 2), round(statistics.median(sizes)))


async def _many_sessions(place: BenchInstallation, finished: int) -> list[MeasuredKey]:
    for first in range(0, finished, _AT_ONCE):
        await _finish_sessions(place, f"s{first}", min(_AT_ONCE, finished - first))
    found = await all_keys(place.redis)
    # the learner trims what it has applied
    return [key._replace(seconds=keys.APPLIED_OUTCOME_SECONDS) if key.kind == "applied" else key for key in found]


def _bytes_left(found: Sequence[MeasuredKey], finished: int) -> tuple[BytesLeft, ...]:
    """What outlives each of the times at which something leaves."""
    return tuple(
        BytesLeft(hours, sum(key.size for key in found if key.outlives(hours * 3600)) // finished) for hours in BOUNDS
    )


def _by_kind(found: Sequence[MeasuredKey], finished: int) -> dict[str, int]:
    total: Counter[str] = Counter()
    for key in found:
        total[key.kind] += key.size
    return {kind: size // finished for kind, size in total.most_common()}


async def _finish_sessions(place: BenchInstallation, name: str, count: int) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(place.run_turn(f"{name}-{number:04}"))
    await place.archive()
    await place.learn()


def _show_figures(figures: SessionFigures, *, as_json: bool) -> str:
    rows: dict[str, Json] = {
        "finished_sessions": figures.finished,
        "bytes_a_session": [to_exact(left._asdict()) for left in figures.left],
        "bytes_by_kind_at_once": to_exact(figures.kinds),
        "turns": figures.turns,
        "first_turns": to_exact(figures.first._asdict()),
        "last_turns": to_exact(figures.last._asdict()),
        "missed": list(figures.missed),
    }
    return f"{dumps(rows)}\n" if as_json else "".join(f"{name:34} {dumps(value)}\n" for name, value in rows.items())
