"""The audit export: a tenant's writes, from the store and, once tasks have left it, from the archive."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, cast

from redis.asyncio import Redis

from services.gateway.edge.errors import InvalidField, NoVisibleTask
from services.gateway.edge.fields import encode_page_token
from services.gateway.features.audit.rows import audit_rows, rows_from_record
from services.gateway.features.audit.service import (
    ARCHIVE,
    LIVE,
    AuditPage,
    AuditQuery,
    check_auditor,
    is_in_period,
    parse_page_place,
)
from services.gateway.features.identity.model import Caller
from services.gateway.features.tasks.listing import TaskListPlace, TaskLists, WantedTasks
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask, read_archived
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.lru_cache import LruCache
from shared.infra import keys
from shared.infra.ledger_rows import read_entry
from shared.infra.lua import ScriptedStore
from shared.infra.stored_tasks import read_events
from shared.ports.archive import Archive, ArchiveUnavailable
from shared.ports.tasks import Tasks

LISTED_SECONDS = 60.0  # a task is asked for here only when it has left the store, which is days after it came here
_LISTED_MOST = 16


class _ArchiveListing(NamedTuple):
    until: float
    names: Sequence[str]


class ArchivedTaskReader:
    """Reads archived tasks. A tenant's listing is cached for a minute, since listing a bucket is slow.

    Both methods may raise ``ArchiveUnavailable``.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._listed = LruCache[str, _ArchiveListing](_LISTED_MOST)

    async def list_task_ids(self, tenant: str) -> Sequence[str]:
        """The ids of the tenant's archived tasks, sorted."""
        now, known = asyncio.get_running_loop().time(), self._listed.get(tenant)
        if known is None or now >= known.until:
            known = _ArchiveListing(now + LISTED_SECONDS, await self._archive.list(tenant))
        return self._listed.put(tenant, known).names

    async def find(self, tenant: str, task_id: str) -> ArchivedTask | None:
        """The archived task, None if there is none. Raises ``ArchiveUnavailable`` if it cannot be parsed, too."""
        content = await self._archive.get(tenant, task_id)
        if content is None:
            return None
        try:
            found = read_archived(content)
        except ValueError as error:
            raise ArchiveUnavailable(f"the archived task {task_id!r} cannot be read: {type(error).__name__}") from error
        return found if found.record.tenant == tenant else None


class StoredTask(NamedTuple):
    """A task's record, with its ledger and approvals in ``details``; None if the store no longer has them."""

    record: TaskRecord
    details: ArchivedTask | None


class AuditExport(ScriptedStore):
    """The audit export, for operators.

    All methods raise ``NotAnOperator``, ``InvalidField``, ``StoreUnavailable`` and ``ArchiveUnavailable``.
    """

    def __init__(self, redis: Redis, tasks: Tasks, lists: TaskLists, archive: ArchivedTaskReader | None) -> None:
        super().__init__(redis)
        self._tasks, self._lists, self._archive = tasks, lists, archive

    async def page(self, query: AuditQuery, caller: Caller) -> AuditPage:
        """One page of the export. Also raises ``NoVisibleTask`` if a single task is asked for and does not exist."""
        check_auditor(caller)
        rows, token = await self._rows_of_page(query, caller)
        return AuditPage([row for row in rows if is_in_period(row, query)], token, self._archive is not None)

    async def all_pages(self, query: AuditQuery, caller: Caller) -> AsyncIterator[AuditPage]:
        """Yields the page of the query's token, and all later ones."""
        page = await self.page(query, caller)
        yield page
        while page.token:
            page = await self.page(query._replace(token=page.token), caller)
            yield page

    async def read_details(self, record: TaskRecord, *, whole: bool) -> ArchivedTask | None:
        """A task's ledger and approvals, from the store or else the archive; the caller must be allowed to read it.

        ``whole``: also with its journal and events, if it is archived. Does not raise ``NotAnOperator``.
        """
        found = await self._find(record.tenant, record.task_id)
        details = found.details if found else None
        if details is not None and not whole:
            return details
        return await self._find_archived(record.tenant, record.task_id) or details

    async def events_of(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        """The task's events so far, with their ids; empty once they have left the store."""
        stream = keys.task_keys(record.tenant, record.session_id, record.task_id).events
        rows = cast("list[tuple[str, dict[str, str]]]", await self._scripts.execute("XRANGE", stream, "-", "+"))
        return [row for entry_id, fields in rows for row in read_events(entry_id, fields["e"])]

    async def _rows_of_page(self, query: AuditQuery, caller: Caller) -> tuple[list[JsonObject], str]:
        if query.task is not None:
            return await self._rows_of_task(caller, query.task), ""
        where, place = parse_page_place(query.token)
        if where == ARCHIVE and self._archive is not None:
            return await self._archived_rows(self._archive, query, caller.tenant, place)
        return await self._stored_rows(query, caller.tenant, place)

    async def _rows_of_task(self, caller: Caller, task_id: str) -> list[JsonObject]:
        kept = await self._find(caller.tenant, task_id)
        if kept is not None:
            return await self._rows_of_stored(kept)
        found = await self._find_archived(caller.tenant, task_id)
        if found is None:
            raise NoVisibleTask(task_id)
        return audit_rows(found, "archive")

    async def _stored_rows(self, query: AuditQuery, tenant: str, place: str) -> tuple[list[JsonObject], str]:
        try:
            after = _parse_live_place(place)
        except ValueError:
            raise InvalidField("token", "is none that this server gave") from None
        wanted = WantedTasks(tenant, session=query.session, since=query.since)
        page = await self._lists.page(wanted, query.size, after)
        rows = [row for kept in await self._add_details(page.records) for row in await self._rows_of_stored(kept)]
        if page.after:
            return rows, encode_page_token(LIVE, f"{page.after.micros} {page.after.task}")
        return rows, encode_page_token(ARCHIVE, "") if self._archive else ""

    async def _rows_of_stored(self, kept: StoredTask) -> list[JsonObject]:
        """The rows of a task's writes, from the store or the archive, else from its record."""
        if kept.details is not None:
            return audit_rows(kept.details, "store")
        found = await self._find_archived(kept.record.tenant, kept.record.task_id)
        return audit_rows(found, "archive") if found else rows_from_record(kept.record)

    async def _archived_rows(
        self, archive: ArchivedTaskReader, query: AuditQuery, tenant: str, place: str
    ) -> tuple[list[JsonObject], str]:
        """A page of the writes of archived tasks that have left the store; earlier pages have the others."""
        left = [name for name in await archive.list_task_ids(tenant) if name > place]
        rows: list[JsonObject] = []
        for name in left[: query.size]:
            found = await archive.find(tenant, name)
            if found is None or query.session not in (None, found.record.session_id):
                continue
            if await self._find(tenant, found.record.task_id) is None:
                rows += audit_rows(found, "archive")
        return rows, encode_page_token(ARCHIVE, left[query.size - 1]) if len(left) > query.size else ""

    async def _find_archived(self, tenant: str, task_id: str) -> ArchivedTask | None:
        return await self._archive.find(tenant, task_id) if self._archive else None

    async def _find(self, tenant: str, task_id: str) -> StoredTask | None:
        record = await self._tasks.get_record(tenant, task_id)
        return None if record is None else (await self._add_details([record]))[0]

    async def _add_details(self, records: Sequence[TaskRecord]) -> list[StoredTask]:
        if not records:
            return []
        of_tasks = [keys.task_keys(record.tenant, record.session_id, record.task_id) for record in records]
        asked = (("HGETALL", name) for names in of_tasks for name in (names.ledger, names.approvals))
        found = cast("list[dict[str, str]]", await self._scripts.execute_many(*asked))
        return [
            StoredTask(record, _build_details(record, ledger, approvals))
            for record, ledger, approvals in zip(records, found[::2], found[1::2], strict=True)
        ]


def _build_details(record: TaskRecord, ledger: dict[str, str], approvals: dict[str, str]) -> ArchivedTask | None:
    """The task with its ledger and approvals; None if the ledger is gone although the record names writes."""
    if not ledger and record.metadata.get("writes"):
        return None
    entries = {key: read_entry(row) for key, row in ledger.items()}
    asked = [Approval.model_validate_json(row) for key, row in approvals.items() if key != "latest"]
    ordered = tuple(sorted(asked, key=lambda one: one.asked_at))
    return ArchivedTask(record=record, ledger=entries, approvals=ordered)


def _parse_live_place(after: str) -> TaskListPlace | None:
    """Parse a page's place in the list of stored tasks; None for the start. Raises ``ValueError``."""
    if not after:
        return None
    micros, _, task = after.partition(" ")
    return TaskListPlace(int(micros), task)
