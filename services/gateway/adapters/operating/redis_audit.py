"""What state Redis still has of tasks: their records, and the details of those that are not archived yet."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from redis.asyncio import Redis
from typing_extensions import override

from services.gateway.adapters.tasks.redis_task_lists import RedisTaskLists
from services.gateway.core.tasks.task_list import Place, Wanted
from services.gateway.ports.audit import Kept, KeptPage, LiveTasks
from services.gateway.ports.tasks import Tasks
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskRecord
from shared.infra import keys
from shared.infra.lua import answering


class RedisAudit(LiveTasks):
    def __init__(self, redis: Redis, tasks: Tasks) -> None:
        self._redis, self._tasks, self._lists = redis, tasks, RedisTaskLists(redis)

    @override
    async def page(self, tenant: str, session: str | None, since: datetime | None, size: int, after: str) -> KeptPage:
        wanted = Wanted(tenant, session=session, since=since)
        page = await self._lists.page(wanted, size, _place(after))
        following = f"{page.after.micros} {page.after.task}" if page.after else ""
        return KeptPage(await self._with_details(page.records), following)

    @override
    async def one(self, tenant: str, task_id: str) -> Kept | None:
        record = await self._tasks.record(tenant, task_id)
        return None if record is None else (await self._with_details([record]))[0]

    async def _with_details(self, records: Sequence[TaskRecord]) -> list[Kept]:
        if not records:
            return []
        async with answering(), self._redis.pipeline(transaction=False) as pipe:
            for record in records:
                names = keys.task_keys(record.tenant, record.session_id, record.task_id)
                pipe.hgetall(names.ledger)
                pipe.hgetall(names.approvals)
            found = cast("list[dict[str, str]]", await pipe.execute())
        return [
            Kept(record, _details(record, ledger, approvals))
            for record, ledger, approvals in zip(records, found[::2], found[1::2], strict=True)
        ]


def _details(record: TaskRecord, ledger: dict[str, str], approvals: dict[str, str]) -> ArchivedTask | None:
    """None where the ledger has left although the record tells of writes."""
    if not ledger and record.metadata.get("writes"):
        return None
    entries = {key: LedgerEntry.model_validate_json(row.partition("\n")[2]) for key, row in ledger.items()}
    asked = [Approval.model_validate_json(row) for key, row in approvals.items() if key != "latest"]
    ordered = tuple(sorted(asked, key=lambda one: one.asked_at))
    return ArchivedTask(record=record, ledger=entries, approvals=ordered)


def _place(after: str) -> Place | None:
    """Raises ``ValueError``."""
    if not after:
        return None
    micros, _, task = after.partition(" ")
    return Place(int(micros), task)
