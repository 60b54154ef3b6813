"""The list of tasks: which of them a caller may see, page by page, the last changed first."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from services.gateway.edge.errors import InvalidField
from services.gateway.features.identity.model import Caller, may_read
from shared.contracts.task import TaskRecord
from shared.domain.words import Role, TaskState

MOST = 100
USUAL = 50
_EVERY_STATE = tuple(TaskState)


class ListPlace(NamedTuple):
    """Where a task stands in a list: when it last changed (microseconds), and which it is."""

    micros: int
    task: str


class WantedTasks(NamedTuple):
    """Which tasks: those of one owner (None: of everybody), of one session, in some states, changed since then."""

    tenant: str
    owner: str | None = None
    session: str | None = None
    states: tuple[TaskState, ...] = _EVERY_STATE
    since: datetime | None = None


class Page(NamedTuple):
    """``after``: where the next page goes on, if there is one. ``total``: how many there are over all pages."""

    records: Sequence[TaskRecord]
    after: ListPlace | None
    total: int


class TaskLists(Protocol):
    async def page(self, wanted: WantedTasks, size: int, after: ListPlace | None) -> Page:
        """The tasks after a place, no more than ``size``; may raise ``StoreUnavailable``, and may be repeated."""


class TaskQuery(NamedTuple):
    """What a caller asks for. ``token`` is what the page before gave for this one."""

    session: str | None = None
    states: tuple[TaskState, ...] = _EVERY_STATE
    since: datetime | None = None
    size: int = USUAL
    token: str = ""


class ListedTasks(NamedTuple):
    """``next_token`` is empty on the last page."""

    records: Sequence[TaskRecord]
    next_token: str
    total: int


class TaskListService:
    def __init__(self, lists: TaskLists) -> None:
        self._lists = lists

    async def tasks(self, query: TaskQuery, caller: Caller) -> ListedTasks:
        """One page of what the caller may see; raises ``InvalidField`` and ``StoreUnavailable``."""
        wanted = WantedTasks(caller.tenant, owner_shown(caller), query.session, query.states, query.since)
        page = await self._lists.page(wanted, query.size, _place(query.token))
        seen = [record for record in page.records if may_read(caller.principal, record)]
        if len(seen) < len(page.records):  # the session asked for is another's: not even how much is in it is told
            return ListedTasks((), "", 0)
        return ListedTasks(seen, _token(page.after) if page.after else "", page.total)


def owner_shown(caller: Caller) -> str | None:
    """Whose tasks a caller is shown: their own; everybody's to approvers, operators and where nobody is verified."""
    principal = caller.principal
    sees_all = not principal.verified or {Role.APPROVER, Role.OPERATOR} & set(principal.roles)
    return None if sees_all else principal.id


def _token(place: ListPlace) -> str:
    return base64.urlsafe_b64encode(f"{place.micros} {place.task}".encode()).decode().rstrip("=")


def _place(token: str) -> ListPlace | None:
    if not token:
        return None
    try:
        micros, _, task = (
            base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode().partition(" ")
        )
        return ListPlace(int(micros), task)
    except (binascii.Error, ValueError):
        raise InvalidField("pageToken", "is none that this server gave") from None
