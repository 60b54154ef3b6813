"""The audit export: a tenant's writes, from the store while it has them and then from the archive."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import InvalidField, NotAnOperator, NoVisibleTask
from services.gateway.edge.fields import read_token, write_token
from services.gateway.features.audit.rows import audit_rows, rows_of_record, time_of
from services.gateway.features.identity.model import Caller
from shared.contracts.archive import ArchivedTask
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject
from shared.domain.words import Role


class Kept(NamedTuple):
    """A task with what is still stored of it; ``details`` is None if only the record is left."""

    record: TaskRecord
    details: ArchivedTask | None


class KeptPage(NamedTuple):
    """A page of tasks. ``after``: where the next page begins; empty if there is none."""

    tasks: Sequence[Kept]
    after: str


class LiveTasks(Protocol):
    """The tasks in the store. All methods may raise ``StoreUnavailable``."""

    async def page(self, tenant: str, session: str | None, since: datetime | None, size: int, after: str) -> KeptPage:
        """A page of tasks, the last changed first; raises ``ValueError`` for an invalid ``after``."""

    async def find(self, tenant: str, task_id: str) -> Kept | None: ...


class ArchivedTasks(Protocol):
    """The tasks in the archive. All methods may raise ``ArchiveUnavailable``."""

    async def names(self, tenant: str) -> Sequence[str]:
        """The ids of the tenant's archived tasks, sorted."""

    async def find(self, tenant: str, task_id: str) -> ArchivedTask | None: ...


MOST = 500
USUAL = 100
_LIVE, _ARCHIVE = "live", "archive"


class AuditQuery(NamedTuple):
    """What to export: writes from ``since`` until before ``until``. ``size`` counts tasks a page."""

    since: datetime | None = None
    until: datetime | None = None
    task: str | None = None
    session: str | None = None
    size: int = USUAL
    token: str = ""


class AuditPage(NamedTuple):
    """A page of writes. ``token`` is empty on the last one; a page may have no writes and yet be followed by others."""

    writes: Sequence[JsonObject]
    token: str
    archive: bool  # whether ended tasks are still found after they have left the store


class AuditService:
    """The audit export, for operators.

    All methods raise ``NotAnOperator``, ``InvalidField``, ``StoreUnavailable`` and ``ArchiveUnavailable``.
    """

    def __init__(self, live: LiveTasks, archive: ArchivedTasks | None) -> None:
        self._live, self._archive = live, archive

    async def page(self, query: AuditQuery, caller: Caller) -> AuditPage:
        """One page of the export. Also raises ``NoVisibleTask`` if a single task is asked for and does not exist."""
        _check(caller)
        rows, token = await self._rows_of_page(query, caller)
        wanted = [row for row in rows if _falls_into(row, query)]
        return AuditPage(wanted, token, self._archive is not None)

    async def all(self, query: AuditQuery, caller: Caller) -> AsyncIterator[AuditPage]:
        """Yields all pages from the query's place on."""
        page = await self.page(query, caller)
        yield page
        while page.token:
            page = await self.page(query._replace(token=page.token), caller)
            yield page

    async def read_kept(self, record: TaskRecord, *, whole: bool) -> ArchivedTask | None:
        """What is stored of a task, for a caller who may read its record: from the store, else from the archive.

        ``whole``: with its journal and its events, which only the archive has. Does not raise ``NotAnOperator``.
        """
        found = await self._live.find(record.tenant, record.task_id)
        details = found.details if found else None
        if details is not None and not whole:
            return details
        return await self._from_archive(record.tenant, record.task_id) or details

    async def _from_archive(self, tenant: str, task_id: str) -> ArchivedTask | None:
        return await self._archive.find(tenant, task_id) if self._archive else None

    async def _rows_of_page(self, query: AuditQuery, caller: Caller) -> tuple[list[JsonObject], str]:
        if query.task is not None:
            return await self._of_task(caller, query.task), ""
        where, place = _parse_token(query.token)
        if where == _ARCHIVE and self._archive is not None:
            return await self._archived_rows(self._archive, query, caller.tenant, place)
        return await self._stored_rows(query, caller.tenant, place)

    async def _of_task(self, caller: Caller, task_id: str) -> list[JsonObject]:
        kept = await self._live.find(caller.tenant, task_id)
        if kept is not None:
            return await self._rows_told(kept)
        found = await self._from_archive(caller.tenant, task_id)
        if found is None:
            raise NoVisibleTask(task_id)
        return audit_rows(found, "archive")

    async def _stored_rows(self, query: AuditQuery, tenant: str, place: str) -> tuple[list[JsonObject], str]:
        try:
            page = await self._live.page(tenant, query.session, query.since, query.size, place)
        except ValueError:
            raise InvalidField("token", "is none that this server gave") from None
        rows = [row for kept in page.tasks for row in await self._rows_told(kept)]
        if page.after:
            return rows, write_token(_LIVE, page.after)
        return rows, write_token(_ARCHIVE, "") if self._archive else ""

    async def _rows_told(self, kept: Kept) -> list[JsonObject]:
        """The task's writes, in full if the store or the archive has them, else as the record says."""
        if kept.details is not None:
            return audit_rows(kept.details, "store")
        found = await self._from_archive(kept.record.tenant, kept.record.task_id)
        return audit_rows(found, "archive") if found else rows_of_record(kept.record)

    async def _archived_rows(
        self, archive: ArchivedTasks, query: AuditQuery, tenant: str, place: str
    ) -> tuple[list[JsonObject], str]:
        """The writes of tasks that have left the store; the others were exported before."""
        left = [name for name in await archive.names(tenant) if name > place]
        rows: list[JsonObject] = []
        for name in left[: query.size]:
            found = await archive.find(tenant, name)
            if found is None or query.session not in (None, found.record.session_id):
                continue
            if await self._live.find(tenant, found.record.task_id) is None:
                rows += audit_rows(found, "archive")
        return rows, write_token(_ARCHIVE, left[query.size - 1]) if len(left) > query.size else ""


def _check(caller: Caller) -> None:
    """Raises ``NotAnOperator``, unless nobody is verified here."""
    if caller.principal.verified and Role.OPERATOR not in caller.principal.roles:
        raise NotAnOperator


def _falls_into(row: JsonObject, query: AuditQuery) -> bool:
    moment = time_of(row)
    if moment is None:
        return query.since is None and query.until is None
    return (query.since is None or moment >= query.since) and (query.until is None or moment < query.until)


def _parse_token(token: str) -> tuple[str, str]:
    where, place = read_token(token) if token else (_LIVE, "")
    if where not in (_LIVE, _ARCHIVE):
        raise InvalidField("token", "is none that this server gave")
    return where, place
