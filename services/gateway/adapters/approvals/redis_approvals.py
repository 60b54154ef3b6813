"""The approvals of a tenant: those that wait stand in its own sets, and the id of each leads to its task."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.ports.approvals import Approvals, Question
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.task import TaskRecord
from shared.domain.partition import PARTITIONS
from shared.infra import keys
from shared.infra.lua import answering


class _Row(NamedTuple):
    approval: str | None
    record: str | None


class RedisApprovals(Approvals):
    """Two round trips, whatever other tenants have waiting: one name of each partition, then what is found."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    @override
    async def waiting(self, tenant: str) -> Sequence[Question]:
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for partition in range(PARTITIONS):
                pipe.zrange(keys.asked_key(partition, tenant), 0, -1)
            rows = cast("list[list[str]]", await pipe.execute())
        found = await self._questions(keys.unpack_asked(member) for row in rows for member in row)
        return [
            one for one in found if one.approval.status is ApprovalStatus.WAITING and not one.record.state.is_terminal
        ]

    @override
    async def find(self, tenant: str, approval_id: str) -> Question | None:
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for partition in range(PARTITIONS):
                pipe.get(keys.approval_key(partition, tenant, approval_id))
            rows = cast("list[str | None]", await pipe.execute())
        tasks = [keys.unpack_ended(row) for row in rows if row is not None]
        asked = [keys.AskedMember(approval_id, *task) for task in tasks if task.tenant == tenant]
        return next(iter(await self._questions(asked)), None)

    async def _questions(self, asked: Iterable[keys.AskedMember]) -> list[Question]:
        """Those that are still kept, with their tasks."""
        wanted = [*asked]
        if not wanted:
            return []
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for one in wanted:
                names = keys.task_keys(one.tenant, one.session_id, one.task_id)
                pipe.hget(names.approvals, one.approval_id)
                pipe.hget(names.record, "json")
            found = cast("list[str | None]", await pipe.execute())
        rows = [_Row(*pair) for pair in zip(found[::2], found[1::2], strict=True)]
        return [
            Question(Approval.model_validate_json(row.approval), TaskRecord.model_validate_json(row.record))
            for row in rows
            if row.approval and row.record
        ]
