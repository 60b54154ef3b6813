"""A tenant's tasks, newest first, from the lists that every change of a record keeps: no key is scanned for."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.core.tasks.task_list import Page, Place, TaskLists, Wanted
from shared.contracts.task import TaskRecord
from shared.domain.partition import PARTITIONS, partition_of
from shared.infra import keys
from shared.infra.lua import Call, Scripts, answering


class _Listed(NamedTuple):
    place: Place
    member: keys.EndedMember


class RedisTaskLists(TaskLists):
    """Two round trips a page: one row of lists of each partition, then the records."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)

    @override
    async def page(self, wanted: Wanted, size: int, after: Place | None) -> Page:
        replies = cast("list[list[str]]", await self._scripts.run_many("list_tasks", _calls(wanted, size + 1, after)))
        rows = sorted((row for reply in replies for row in _rows(reply)), key=lambda row: row.place, reverse=True)
        shown = rows[:size]
        records = await self._records([row.member for row in shown])
        following = shown[-1].place if len(rows) > size else None
        return Page(records, following, sum(int(reply[0]) for reply in replies))

    async def _records(self, members: Sequence[keys.EndedMember]) -> tuple[TaskRecord, ...]:
        """Without those that have left meanwhile."""
        if not members:
            return ()
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for member in members:
                pipe.hget(keys.task_keys(*member).record, "json")
            found = cast("list[str | None]", await pipe.execute())
        return tuple(TaskRecord.model_validate_json(json) for json in found if json)


def _calls(wanted: Wanted, count: int, after: Place | None) -> list[Call]:
    place = (str(after.micros), after.task) if after else ("", "")
    since = _micros(wanted.since) if wanted.since else "-inf"
    return [([stem + state.value for state in wanted.states], [count, *place, since]) for stem in _stems(wanted)]


def _stems(wanted: Wanted) -> Iterable[str]:
    if wanted.session is not None:
        yield keys.list_stems(partition_of(wanted.tenant, wanted.session), wanted.tenant, "", wanted.session).session
        return
    for partition in range(PARTITIONS):
        stems = keys.list_stems(partition, wanted.tenant, wanted.owner or "")
        yield stems.tenant if wanted.owner is None else stems.owner


def _rows(reply: list[str]) -> Iterable[_Listed]:
    for member, micros in zip(reply[1::2], reply[2::2], strict=True):
        yield _Listed(Place(int(micros), member), keys.unpack_ended(member))


def _micros(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1_000_000))
