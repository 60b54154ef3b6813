"""Lists the tasks that a caller may see, page by page, the last changed first."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import decode_page_token, encode_page_token
from services.gateway.features.identity.model import Caller, may_read, sees_all
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState

MOST = 100
USUAL = 50
_EVERY_STATE = tuple(TaskState)


class TaskListPlace(NamedTuple):
    """A task's place in the list: when it last changed (microseconds), and its key in the store's list."""

    micros: int
    task: str


class WantedTasks(NamedTuple):
    """Which tasks to list: of ``owner`` (None: of all), of ``session``, in one of ``states``, changed since a time."""

    tenant: str
    owner: str | None = None
    session: str | None = None
    states: tuple[TaskState, ...] = _EVERY_STATE
    since: datetime | None = None


class TaskListPage(NamedTuple):
    """A page of tasks. ``after``: the last task's place, None on the last page; ``total``: over all pages."""

    records: Sequence[TaskRecord]
    after: TaskListPlace | None
    total: int

    @property
    def next_token(self) -> str:
        """The token for the next page; empty on the last page."""
        return encode_page_token(str(self.after.micros), self.after.task) if self.after else ""


class TaskLists(Protocol):
    async def page(self, wanted: WantedTasks, size: int, after: TaskListPlace | None) -> TaskListPage:
        """At most ``size`` of the wanted tasks after a place; may raise ``StoreUnavailable``."""


class TaskQuery(NamedTuple):
    """Which tasks a caller wants to see. ``token``: from the page before; empty for the first page."""

    session: str | None = None
    states: tuple[TaskState, ...] = _EVERY_STATE
    since: datetime | None = None
    size: int = USUAL
    token: str = ""


class TaskListService:
    def __init__(self, lists: TaskLists) -> None:
        self._lists = lists

    async def list_tasks(self, query: TaskQuery, caller: Caller) -> TaskListPage:
        """One page of the tasks that the caller may see; raises ``InvalidField`` and ``StoreUnavailable``."""
        wanted = WantedTasks(caller.tenant, visible_owner(caller), query.session, query.states, query.since)
        page = await self._lists.page(wanted, query.size, _parse_token(query.token))
        seen = [record for record in page.records if may_read(caller.principal, record)]
        if len(seen) < len(page.records):  # the session asked for is another's: not even how much is in it is told
            return TaskListPage((), None, 0)
        return page._replace(records=seen)


def visible_owner(caller: Caller) -> str | None:
    """The owner whose tasks the caller may see; None if it may see all (approvers, operators, unverified callers)."""
    return None if sees_all(caller.principal) else caller.principal.id


def _parse_token(token: str) -> TaskListPlace | None:
    if not token:
        return None
    micros, task = decode_page_token(token)
    if not (micros.isascii() and micros.isdecimal() and task):
        raise InvalidField("pageToken", "is none that this server gave")
    return TaskListPlace(int(micros), task)
