"""What is learned of a tenant, on Redis, for files that bring some of it: read at once, changed in one step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.learner.adapters.fact_rows import read_fact
from services.learner.adapters.learned_changes import LearnedCommand, change_learned, digest_of_list
from services.learner.adapters.redis_case_repository import read_case_log
from services.learner.ports.files import (
    ArmName,
    ArmRecord,
    FileChanges,
    FileTotals,
    ImportRepository,
    StoredFile,
    Versions,
)
from shared.contracts.accuracy import Accuracy
from shared.contracts.base import Contract
from shared.contracts.knowledge import KnownEntity
from shared.domain.bandit import Arm
from shared.infra import keys
from shared.infra.lua import Argument, Scripts, answering
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()
Row = TypeVar("Row", bound=Contract)


class RedisImportRepository(ImportRepository):
    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)

    @override
    async def read_stored(self, tenant: str) -> StoredFile:
        """The counters that the version is made of are read first: what changes after that is noticed."""
        names = keys.learned_keys(tenant)
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hget(names.memory, "version")
            pipe.hget(names.counts, "events")
            pipe.lrange(names.cases, 0, -1)
            pipe.hgetall(names.arms)
            pipe.lrange(names.knowledge, 0, -1)
            pipe.hgetall(names.entities)
            pipe.hgetall(names.accuracy)
            found = await pipe.execute()
        version, events = (str(one or "0") for one in found[:2])
        cases, facts = cast("list[str]", found[2]), cast("list[str]", found[4])
        return StoredFile(
            Versions(digest_of_list(cases), events, version, digest_of_list(facts)),
            read_case_log(cases),
            _arms(found[3]),
            int(events),
            [(row, read_fact(row)) for row in facts],
            _rows(KnownEntity, found[5]),
            _rows(Accuracy, found[6]),
        )

    @override
    async def keep(self, tenant: str, brought: FileChanges, versions: Versions) -> bool:
        commands = _commands(keys.learned_keys(tenant), brought)
        return await change_learned(self._scripts, tenant, commands, _that_matter(brought, versions))


def _that_matter(brought: FileChanges, versions: Versions) -> Versions:
    """Those of the parts that are changed: whatever else is learned meanwhile is no hindrance."""
    return Versions(
        cases=versions.cases if brought.cases is not None else "",
        events=versions.events if brought.arms or brought.totals else "",
        rows=versions.rows if brought.entities or brought.accuracy else "",
        facts=versions.facts if brought.facts is not None else "",
    )


def _commands(names: keys.LearnedKeys, brought: FileChanges) -> Iterator[LearnedCommand]:
    for name, texts in ((names.cases, brought.cases), (names.knowledge, brought.facts)):
        if texts is not None:
            yield "DEL", name, ()
            yield "RPUSH", name, texts
    yield from _arm_commands(names, brought.arms)
    for record in brought.entities:
        yield "HSET", names.entities, (record.field, record.entity.model_dump_json())
        yield "HSET", names.entity_links, (record.field, record.links.model_dump_json())
        yield "ZADD", names.entity_ages, (int(record.entity.last_seen.timestamp() * 1000), record.field)
    yield "HSET", names.accuracy, _flat((name, row.model_dump_json()) for name, row in brought.accuracy.items())
    if brought.totals is not None:
        yield from _total_commands(names, brought.totals)


def _arm_commands(names: keys.LearnedKeys, arms: Sequence[ArmRecord]) -> Iterator[LearnedCommand]:
    for record in arms:
        fields, trend = keys.arm_fields(*record.name), keys.arm_trend(*record.name)
        yield "HSET", names.arms, (fields.n, record.arm.n, fields.units, record.arm.units)
        if record.trend:
            yield "HSET", names.trends, (trend, record.trend)
        else:  # what was kept is the way of another sum
            yield "HDEL", names.trends, (trend,)


def _total_commands(names: keys.LearnedKeys, totals: FileTotals) -> Iterator[LearnedCommand]:
    yield "DEL", names.counts, ()
    yield "HSET", names.counts, _flat(totals.counts.items())
    yield "DEL", names.days, ()
    yield "HSET", names.days, _flat(totals.days.items())
    if totals.trend:
        yield "HSET", names.trends, (keys.QUALITY_TREND, totals.trend)
    else:
        yield "HDEL", names.trends, (keys.QUALITY_TREND,)


def _flat(pairs: Iterable[tuple[Argument, Argument]]) -> Sequence[Argument]:
    return [word for pair in pairs for word in pair]


def _arms(found: object) -> Mapping[ArmName, Arm]:
    arms: dict[ArmName, Arm] = {}
    try:
        for field, value in cast("dict[str, str]", found).items():
            kind, strategy, number = keys.unpack_arm_field(field)
            arms[kind, strategy] = arms.get((kind, strategy), Arm())._replace(**{number: int(value)})
    except ValueError as error:
        raise StoreUnavailable(f"the statistics are spoiled: {error}") from error
    return arms


def _rows(kind: type[Row], found: object) -> Mapping[str, Row]:
    """What of the rows can be read; what another version wrote begins anew."""
    rows: dict[str, Row] = {}
    for field, row in cast("dict[str, str]", found).items():
        try:
            rows[field] = kind.model_validate_json(row)
        except ValidationError as error:
            log.warning("lesson_unreadable", kind=kind.__name__, errors=error.error_count())
    return rows
