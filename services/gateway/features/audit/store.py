"""Reads what the archive and state Redis still have of tasks."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, cast

from redis.asyncio import Redis

from services.gateway.features.audit.service import ArchivedTasks, Kept, KeptPage, LiveTasks
from services.gateway.features.tasks.listing import ListPlace, TaskLists, WantedTasks
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask, read_archived
from shared.contracts.task import TaskRecord
from shared.domain.lru_cache import LruCache
from shared.infra import keys
from shared.infra.ledger_rows import read_entry
from shared.infra.lua import ScriptedStore
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.tasks import Tasks

LISTED_SECONDS = 60.0  # a task is asked for here only when it has left the store, which is days after it came here
_LISTED_MOST = 16


class _Listing(NamedTuple):
    until: float
    names: Sequence[str]


class ArchivedAudit(ArchivedTasks):
    """Reads archived tasks. The pages of an export share one listing, since listing a bucket is slow."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._listed = LruCache[str, _Listing](_LISTED_MOST)

    async def names(self, tenant: str) -> Sequence[str]:
        now, known = asyncio.get_running_loop().time(), self._listed.get(tenant)
        if known is None or now >= known.until:
            known = _Listing(now + LISTED_SECONDS, await self._archive.list(tenant))
        return self._listed.keep(tenant, known).names

    async def find(self, tenant: str, task_id: str) -> ArchivedTask | None:
        """The archived task; raises ``ArchiveUnavailable`` for one that cannot be read, rather than skip it."""
        content = await self._archive.get(tenant, task_id)
        if content is None:
            return None
        try:
            found = read_archived(content)
        except ValueError as error:
            raise ArchiveUnavailable(f"the archived task {task_id!r} cannot be read: {type(error).__name__}") from error
        return found if found.record.tenant == tenant else None


class RedisAudit(ScriptedStore, LiveTasks):
    def __init__(self, redis: Redis, tasks: Tasks, lists: TaskLists) -> None:
        super().__init__(redis)
        self._tasks, self._lists = tasks, lists

    async def page(self, tenant: str, session: str | None, since: datetime | None, size: int, after: str) -> KeptPage:
        wanted = WantedTasks(tenant, session=session, since=since)
        page = await self._lists.page(wanted, size, _parse_place(after))
        following = f"{page.after.micros} {page.after.task}" if page.after else ""
        return KeptPage(await self._with_details(page.records), following)

    async def find(self, tenant: str, task_id: str) -> Kept | None:
        record = await self._tasks.record(tenant, task_id)
        return None if record is None else (await self._with_details([record]))[0]

    async def _with_details(self, records: Sequence[TaskRecord]) -> list[Kept]:
        if not records:
            return []
        of_tasks = [keys.task_keys(record.tenant, record.session_id, record.task_id) for record in records]
        asked = (("HGETALL", name) for names in of_tasks for name in (names.ledger, names.approvals))
        found = cast("list[dict[str, str]]", await self._scripts.commands(*asked))
        return [
            Kept(record, _read_details(record, ledger, approvals))
            for record, ledger, approvals in zip(records, found[::2], found[1::2], strict=True)
        ]


def _read_details(record: TaskRecord, ledger: dict[str, str], approvals: dict[str, str]) -> ArchivedTask | None:
    """The task with its ledger and approvals; None if the ledger is gone although the record tells of writes."""
    if not ledger and record.metadata.get("writes"):
        return None
    entries = {key: read_entry(row) for key, row in ledger.items()}
    asked = [Approval.model_validate_json(row) for key, row in approvals.items() if key != "latest"]
    ordered = tuple(sorted(asked, key=lambda one: one.asked_at))
    return ArchivedTask(record=record, ledger=entries, approvals=ordered)


def _parse_place(after: str) -> ListPlace | None:
    """The place in a list that a page's ``after`` names; None for the start. Raises ``ValueError``."""
    if not after:
        return None
    micros, _, task = after.partition(" ")
    return ListPlace(int(micros), task)
