"""Events per second: one learner, against a consumer of the same streams that reads, decodes and acknowledges.

A reader that does not even decode what it reads is measured too: how fast the streams themselves are.
"""

import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from json import loads
from pathlib import Path
from typing import NamedTuple, cast
from uuid import uuid4

from redis.asyncio import Redis

from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import EVENTS_AT_ONCE, RedisOutcomes
from services.learner.workers.learner import Learner
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from shared.infra.stored_outcomes import unpack_outcome
from tools.bench.learner.events import leave_outcomes

_LEASE_SECONDS = 60.0
_WARM = 500

Drain = Callable[[Redis], Awaitable[int]]


class Miscounted(Exception):
    """The learner did not learn every event once: its speed says nothing."""


class RateRound(NamedTuple):
    """Events per second. All take turns in each round, so that the machine is equally busy for all."""

    learner: float
    bare: float
    undecoded: float


class LearnerRates(NamedTuple):
    rounds: tuple[RateRound, ...]

    @property
    def typical(self) -> RateRound:
        return RateRound(*(round(statistics.median(figures)) for figures in zip(*self.rounds, strict=True)))

    @property
    def share(self) -> float:
        """The learner's rate as a part of the bare reader's, in the typical round."""
        return round(statistics.median(one.learner / one.bare for one in self.rounds), 3)


async def measure_rates(events: int, rounds: int) -> LearnerRates:
    """Measured on a Redis of its own that fsyncs each write, as state Redis must."""
    with tempfile.TemporaryDirectory(prefix="pa-bench-") as folder, EmbeddedRedis(Path(folder)) as server:
        redis = connect(server.url)
        try:
            await _measure_round(redis, _WARM)
            return LearnerRates(tuple([await _measure_round(redis, events) for _ in range(rounds)]))
        finally:
            await redis.aclose()


async def _measure_round(redis: Redis, events: int) -> RateRound:
    await redis.flushall()
    await leave_outcomes(redis, events, uuid4().hex[:8])
    undecoded = await _measure_rate(redis, partial(_read_bare, decode=_ignore_text), events)
    bare = await _measure_rate(redis, partial(_read_bare, decode=_decode_outcome), events)
    return RateRound(await _measure_rate(redis, _run_learner, events), bare, undecoded)


def _decode_outcome(text: str) -> None:
    loads(unpack_outcome(text)[1])


def _ignore_text(text: str) -> None:
    """Not looked at."""


async def _measure_rate(redis: Redis, drain: Drain, events: int) -> float:
    began = time.perf_counter()
    drained = await drain(redis)
    if drained != events:
        raise Miscounted(f"{drained} of {events} events")
    return round(events / (time.perf_counter() - began))


async def _run_learner(redis: Redis) -> int:
    learner = Learner(RedisOutcomes(redis, uuid4().hex, _LEASE_SECONDS), RedisLessons(redis))
    await learner.update_share()
    while await learner.run_once():
        pass
    await learner.release_partitions()
    return learner.counts.learned


async def _read_bare(redis: Redis, decode: Callable[[str], object]) -> int:
    """As quick as a client can: all streams in one command, in batches as large, acknowledged in one round trip."""
    streams = [partition.outcomes for partition in keys.all_partitions()]
    group = uuid4().hex
    read = 0
    async with redis.pipeline(transaction=False) as pipe:
        for stream in streams:
            pipe.xgroup_create(stream, group, "0", mkstream=True)
        await pipe.execute()
    while batch := await _fetch(redis, group, streams):
        async with redis.pipeline(transaction=False) as pipe:
            for stream, entries in batch:
                for _, fields in entries:
                    decode(fields["o"])
                pipe.xack(stream, group, *(entry_id for entry_id, _ in entries))
            read += sum(await pipe.execute())
    return read


async def _fetch(redis: Redis, group: str, streams: list[str]) -> "list[tuple[str, list[tuple[str, dict[str, str]]]]]":
    found = await redis.xreadgroup(group, "one", dict.fromkeys(streams, ">"), count=EVENTS_AT_ONCE)
    return cast("list[tuple[str, list[tuple[str, dict[str, str]]]]]", found)
