"""What PRIME reads of what was learned: round trips, bytes and time, with one tenant and with many.

The tenant that is read has as much as is ever kept; each of the others has a little.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from redis.asyncio import Redis

from services.executor.adapters.redis_learned import RedisLearnedStore
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact
from shared.contracts.relevance import ENTITIES_KEPT, FACTS_KEPT
from shared.domain.cases import CASES_KEPT, CaseOutcome
from shared.domain.exact_json import Json, JsonObject, dumps, to_exact
from shared.domain.keywords import extract_keywords
from shared.domain.words import Strategy
from shared.infra import keys
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.process import freeze_startup_objects
from shared.infra.redis import connect

TENANTS = 10_000
READS = 100
WARM = 10
SLOWER_AT_MOST = 2.0
_FULL, _PROCESS = "bench-full", "expense_approval"
_LITTLE = 3  # cases of each other tenant
_AT_ONCE = 500  # tenants in one pipeline
_NOW = datetime.now(UTC)


class RecallReading(NamedTuple):
    """One read in the median. ``round_trips``: how often the server had to look at what the client sent."""

    tenants: int
    keys: int
    round_trips: int
    bytes: int
    p50_ms: float
    p99_ms: float


class RecallFigures(NamedTuple):
    alone: RecallReading
    among_many: RecallReading

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        one, many = self.alone, self.among_many
        more = [each for each in self if each.round_trips != 1]
        found = [f"{each.round_trips} round trips at {each.tenants} tenants, target 1" for each in more]
        if many.bytes != one.bytes:
            found.append(f"{many.bytes} bytes at {many.tenants} tenants, {one.bytes} at one: they should be the same")
        if many.p50_ms > SLOWER_AT_MOST * one.p50_ms:
            found.append(f"p50 {many.p50_ms} ms at {many.tenants} tenants, {one.p50_ms} ms at one")
        return found


def bench_recall(arguments: Sequence[str]) -> int:
    """Measure and say the figures on stdout; with ``--check``, 1 if a target is missed, each named on stderr."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.executor recall")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tenants", type=int, default=TENANTS)
    options = parser.parse_args(arguments)
    freeze_startup_objects()
    figures = asyncio.run(measure_recall(options.tenants))
    rows: JsonObject = {name: _reading_as_json(reading) for name, reading in figures._asdict().items()}
    shown: JsonObject = {**rows, "missed": list(figures.missed)}
    text = dumps(shown) if options.json else "\n".join(f"{name:12} {dumps(value)}" for name, value in shown.items())
    sys.stdout.write(f"{text}\n")
    sys.stderr.write("".join(f"Missed: {sentence}\n" for sentence in figures.missed if options.check))
    return int(options.check and bool(figures.missed))


def _reading_as_json(reading: RecallReading) -> Json:
    return {name: to_exact(value) for name, value in reading._asdict().items()}


async def measure_recall(tenants: int, reads: int = READS) -> RecallFigures:
    """On a Redis of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="pa-bench-") as folder,
        EmbeddedRedis(Path(folder), is_durable=False) as server,
    ):
        redis = connect(server.url)
        try:
            await fill_learned(redis, [_FULL], CASES_KEPT, FACTS_KEPT, ENTITIES_KEPT)
            alone = await _measure_recall(redis, 1, reads)
            others = [f"bench-{number}" for number in range(tenants - 1)]
            for first in range(0, len(others), _AT_ONCE):
                await fill_learned(redis, others[first : first + _AT_ONCE], _LITTLE, _LITTLE, _LITTLE)
            return RecallFigures(alone, await _measure_recall(redis, tenants, reads))
        finally:
            await redis.aclose()


async def _measure_recall(redis: Redis, tenants: int, reads: int) -> RecallReading:
    learned = RedisLearnedStore(redis)
    for _ in range(min(WARM, reads)):
        await learned.recall(_FULL, _PROCESS)
    itself, before = await _read_counts(redis), await _read_counts(redis)
    times = [await _time_recall(learned) for _ in range(reads)]
    after = await _read_counts(redis)
    own = _ServerCounts(before.reads - itself.reads, before.sent - itself.sent)
    trips = round((after.reads - before.reads - own.reads) / reads)
    sent = (after.sent - before.sent - own.sent) // reads
    percentiles = statistics.quantiles(times, n=100)
    return RecallReading(
        tenants, await redis.dbsize(), trips, sent, round(percentiles[49], 2), round(percentiles[98], 2)
    )


async def _time_recall(learned: RedisLearnedStore) -> float:
    began = time.perf_counter()
    await learned.recall(_FULL, _PROCESS)
    return (time.perf_counter() - began) * 1000


class _ServerCounts(NamedTuple):
    reads: int
    sent: int


async def _read_counts(redis: Redis) -> _ServerCounts:
    found = await redis.info("stats")
    return _ServerCounts(int(found["total_reads_processed"]), int(found["total_net_output_bytes"]))


async def fill_learned(redis: Redis, tenants: Sequence[str], cases: int, facts: int, entities: int) -> None:
    """So many of each for every tenant."""
    async with redis.pipeline(transaction=False) as pipe:
        for tenant in tenants:
            names = keys.learned_keys(tenant)
            for strategy in Strategy:
                n, units = keys.arm_fields(_PROCESS, strategy)
                pipe.hset(names.arms, mapping={n: 100, units: 800_000})
            pipe.rpush(names.cases, *_cases(cases))
            pipe.rpush(names.knowledge, *_facts(facts))
            pipe.hset(
                names.entities, mapping={f"vendor:Vendor {number}": _entity(number) for number in range(entities)}
            )
        await pipe.execute()


def _cases(count: int) -> Iterator[str]:
    for number in range(count):
        summary = f"Process expense claim EXP-{number}: check it against the travel policy and tell the team of it."
        yield CaseEntry(
            case_id=f"task-{number}:1",
            session_id=f"session-{number}",
            task_id=f"task-{number}",
            summary=summary,
            keywords=extract_keywords(summary),
            outcome=CaseOutcome.SUCCESS,
            quality=0.9,
            formula="signals",
            parts={"baseline": 0.5, "policy_kept": 0.15, "writes_verified": 0.15, "needs_met": 0.1},
            worked=("writes verified: 2", "policy passed", "get_expense", "approve_expense"),
            tool_count=5,
            domain=_PROCESS,
            strategy=Strategy.FSM,
            at=_NOW,
        ).model_dump_json()


def _facts(count: int) -> Iterator[str]:
    for number in range(count):
        text = f"Vendor {number} is paid within 30 days."
        words = ("vendor", "paid", "days")
        fact = KnownFact(
            text=text, domain=_PROCESS, keywords=words, entities=(f"Vendor {number}",), quality=0.8, at=_NOW
        )
        yield fact.model_dump_json()


def _entity(number: int) -> str:
    return KnownEntity(kind="vendor", value=f"Vendor {number}", seen=3, last_seen=_NOW).model_dump_json()
