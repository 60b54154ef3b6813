"""The approvals that wait, found by their deadlines: each stands in its partition's timers until that comes."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports import Approvals, Question
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import TaskRecord
from shared.infra import keys
from shared.infra.lua import answering


class _Row(NamedTuple):
    approval: str | None
    record: str | None


class RedisApprovals(Approvals):
    """Two round trips, however many there are."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    @override
    async def waiting(self, tenant: str) -> Sequence[Question]:
        found = await self._questions([one for one in await self._deadlines() if one.tenant == tenant])
        return [question for question in found if question.approval.status is ApprovalStatus.WAITING]

    @override
    async def find(self, tenant: str, approval_id: str) -> Question | None:
        named = [one for one in await self._deadlines() if (one.tenant, one.subject) == (tenant, approval_id)]
        return next(iter(await self._questions(named)), None)

    async def _deadlines(self) -> list[keys.TimerMember]:
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for partition in keys.all_partitions():
                pipe.zrange(partition.timers, 0, -1)
            rows = cast("list[list[str]]", await pipe.execute())
        return [keys.unpack_timer(member) for row in rows for member in row]

    async def _questions(self, timers: Sequence[keys.TimerMember]) -> list[Question]:
        """Those of the timers that are about approvals, with their tasks; other things have their time too."""
        if not timers:
            return []
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for one in timers:
                names = keys.task_keys(one.tenant, one.session_id, one.task_id)
                pipe.hget(names.approvals, one.subject)
                pipe.hget(names.record, "json")
            found = cast("list[str | None]", await pipe.execute())
        rows = [_Row(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
        return [
            Question(Approval.model_validate_json(row.approval), TaskRecord.model_validate_json(row.record))
            for row in rows
            if row.approval and row.record
        ]
