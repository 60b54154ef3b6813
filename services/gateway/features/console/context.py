"""What all pages of the console use, and how a request becomes a page."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.features.approvals.service import ApprovalService
from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.console.pages import Pages, go_to
from services.gateway.features.console.sessions import ConsoleSessions, Visitor, read_form
from services.gateway.features.console.views.approvals import needs
from services.gateway.features.console.views.health import ENDS
from services.gateway.features.identity.model import Caller, check_operator
from services.gateway.features.identity.throttle import Network, client_address
from services.gateway.features.learning.service import LearningStatistics
from services.gateway.features.services import FeatureServices
from services.gateway.features.tasks.listing import TaskListService, TaskQuery, owner_shown
from services.gateway.features.tenants.service import TenantState
from shared.domain.lru_cache import LruCache
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable

_FRESH = timedelta(seconds=1)
_MOST = 1000
_Sight = tuple[str, str | None]  # a tenant, and whose tasks and approvals are seen of it: one owner's, or all


class _Look:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at: datetime | None = None
        self.questions: Sequence[ApprovalRequest] = ()
        self.version = ""


class Glance:
    def __init__(
        self,
        approvals: ApprovalService,
        lists: TaskListService,
        statistics: LearningStatistics,
        clock: Callable[[], datetime],
    ) -> None:
        self._approvals, self._lists, self._statistics, self.clock = approvals, lists, statistics, clock
        self._looks = LruCache[_Sight, _Look](_MOST)

    async def waiting(self, caller: Caller) -> Sequence[ApprovalRequest]:
        """The waiting approvals that the caller may see, at most a second old; raises ``StoreUnavailable``."""
        return (await self._look(caller)).questions

    async def version(self, caller: Caller) -> str:
        """A word that changes whenever an approval or task that the caller may see does, or something was learned."""
        return (await self._look(caller)).version

    async def _look(self, caller: Caller) -> _Look:
        sight = _sight_of(caller)
        look = self._looks.use(sight) or self._looks.keep(sight, _Look())
        async with look.lock:
            now = self.clock()
            if look.at is None or now - look.at > _FRESH:
                look.questions, newest = await self._approvals.waiting(caller), await self._newest_change(caller)
                look.version, look.at = _hash_version(look.questions, newest), now
        return look

    async def _newest_change(self, caller: Caller) -> str:
        found = await self._lists.tasks(TaskQuery(size=1), caller)
        learned = await self._learned_words(caller.tenant)
        told = [f"{one.task_id} {one.state} {one.updated_at}" for one in found.records]
        return " ".join([*told, str(found.total), learned])

    async def _learned_words(self, tenant: str) -> str:
        try:
            return str((await self._statistics.learning(tenant)).counts.get("events", 0))
        except StoreUnavailable:  # spoiled statistics are no reason to show no approvals
            return ""

    async def count(self, caller: Caller) -> int:
        """How many of the waiting approvals the caller can answer."""
        return len(needs(await self.waiting(caller), caller.principal, self.clock()))

    def forget(self, caller: Caller) -> None:
        """Drop the cached look, since something was just answered."""
        self._looks.pop(_sight_of(caller), None)


def _sight_of(caller: Caller) -> _Sight:
    return caller.tenant, owner_shown(caller)


def _hash_version(questions: Sequence[ApprovalRequest], newest: str) -> str:
    told = [newest, *(one.approval.model_dump_json() for one in questions)]
    return sha256("\n".join(told).encode()).hexdigest()[:16]


Show = Callable[[Request, Visitor], Awaitable[Response]]
Act = Callable[[Request, Visitor, dict[str, str]], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]
_TAKEN_UP = timedelta(seconds=15)


@dataclass(frozen=True)
class ConsoleContext:
    """What the pages share. ``secure``: cookies are for https only. ``trusted``: proxies to believe."""

    services: FeatureServices
    sessions: ConsoleSessions
    pages: Pages
    glance: Glance
    secure: bool
    trusted: tuple[Network, ...] = ()

    def shows(self, show: Show, *, operators: bool = False) -> Handler:
        """A handler that shows a page to a visitor; others are asked to sign in, and then return to it.

        ``operators``: visitors who are none raise ``NotAnOperator``.
        """

        async def answer(request: Request) -> Response:
            visitor = await self.sessions.visitor(request)
            if visitor is None:
                return _redirect_to_sign_in(request)
            request.state.visitor = visitor
            if operators:
                check_operator(visitor.caller)
            return await show(request, visitor)

        return answer

    def acts(self, act: Act, *, operators: bool = False) -> Handler:
        """A handler for a visitor's form; raises ``BadForm`` for a form that no page of theirs gave them."""

        async def show(request: Request, visitor: Visitor) -> Response:
            return await act(request, visitor, await read_form(request, visitor.secret))

        return self.shows(show, operators=operators)

    async def totals(self, caller: Caller, since: datetime) -> Mapping[TaskState, int]:
        """For each end state, how many tasks that the caller may see have ended so since then."""
        ends = {state: TaskQuery(states=(state,), since=since, size=1) for state in ENDS}
        return {state: (await self.services.lists.tasks(query, caller)).total for state, query in ends.items()}

    async def lacks_workers(self, caller: Caller, state: TenantState) -> bool:
        """Whether tasks have waited longer than a worker needs to begin them, and none is worked on."""
        if not state.waiting or state.running or state.stopped is not None:
            return False
        every = TaskQuery(states=(TaskState.SUBMITTED,), size=1)
        fresh = every._replace(since=self.glance.clock() - _TAKEN_UP)
        totals = [(await self.services.lists.tasks(query, caller)).total for query in (every, fresh)]
        return totals[0] > totals[1]

    def source(self, request: Request) -> str:
        """The address that a request comes from; empty if it cannot be known."""
        peer = request.client.host if request.client else ""
        return client_address(peer, ",".join(request.headers.getlist("x-forwarded-for")), self.trusted)

    async def page(
        self, request: Request, template: str, visitor: Visitor, status: int = 200, **values: object
    ) -> Response:
        """A page, with the number of approvals that wait for its reader."""
        badge, version = await self.glance.count(visitor.caller), await self.glance.version(visitor.caller)
        return self.pages.page(request, template, visitor, status, badge=badge, version=version, **values)


class ConsolePages:
    """Pages of one kind."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context


def _redirect_to_sign_in(request: Request) -> Response:
    """The answer to a visitor who is not signed in; a script gets a 401, and then reloads the page."""
    if request.headers.get("x-part") or request.headers.get("accept") == "text/event-stream":
        return Response(status_code=401, headers={"Cache-Control": "no-store"})
    wanted = request.url.path if request.method == "GET" else "/console/"
    return go_to(f"/console/sign-in?next={quote(wanted)}")
