"""What all pages of the console share: services, sign-in checks, and a short-lived cache of the approvals inbox."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.features.approvals.approvals import MOST_LISTED_APPROVALS, ApprovalService
from services.gateway.features.approvals.views import ApprovalRequest
from services.gateway.features.console.pages import PageLink, PageRenderer, redirect_to, select_visible_links
from services.gateway.features.console.sessions import ConsoleSessions, Visitor, read_verified_form
from services.gateway.features.console.views.approvals import select_answerable_requests
from services.gateway.features.console.views.health import END_STATES
from services.gateway.features.identity.model import Caller, require_operator_role
from services.gateway.features.identity.throttle import Network, determine_client_address
from services.gateway.features.learning import LearnedData
from services.gateway.features.services import FeatureServices
from services.gateway.features.tasks.listing import TaskLists, TaskQuery, choose_visible_owner
from services.gateway.features.tenants import DailySpending, TenantState
from shared.domain.lru_cache import LruCache
from shared.domain.words import TaskState
from shared.ports.store import StoreUnavailable

_SNAPSHOT_LIFETIME = timedelta(seconds=1)
_MOST_SNAPSHOTS = 1000
_CacheKey = tuple[str, str | None]  # a tenant, and whose tasks and approvals are seen of it: one owner's, or all


class InboxSnapshot:
    """The first waiting approvals, by deadline, that a caller may see; at most a second old.

    ``version``: a hash that changes with the approvals and tasks that the caller may see, and the learner's counts.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at: datetime | None = None
        self.requests: Sequence[ApprovalRequest] = ()
        self.version = ""


class InboxCache:
    """Caches what each caller sees of the inbox (the approvals that wait)."""

    def __init__(
        self, approvals: ApprovalService, lists: TaskLists, learned: LearnedData, clock: Callable[[], datetime]
    ) -> None:
        self._approvals = approvals
        self._lists = lists
        self._learned = learned
        self.clock = clock
        self._snapshots = LruCache[_CacheKey, InboxSnapshot](_MOST_SNAPSHOTS)

    async def read_snapshot(self, caller: Caller) -> InboxSnapshot:
        """What the caller sees of the inbox; raises ``StoreUnavailable``."""
        key = _build_cache_key(caller)
        snapshot = self._snapshots.look_up(key) or self._snapshots.put(key, InboxSnapshot())
        async with snapshot.lock:
            now = self.clock()
            if snapshot.at is None or now - snapshot.at > _SNAPSHOT_LIFETIME:
                waiting = await self._approvals.list_waiting(caller, MOST_LISTED_APPROVALS)
                snapshot.requests, fingerprint = waiting.requests, await self._fingerprint_tasks_and_learned(caller)
                parts = [fingerprint, *(request.approval.model_dump_json() for request in snapshot.requests)]
                snapshot.version = sha256("\n".join(parts).encode()).hexdigest()[:16]
                snapshot.at = now
        return snapshot

    async def _fingerprint_tasks_and_learned(self, caller: Caller) -> str:
        """A text that changes with the newest task, the number of tasks, and what was learned."""
        page = await self._lists.list_tasks(TaskQuery(size=1), caller)
        try:
            learned = (await self._learned.read_totals(caller.tenant)).counts.get("events", 0)
        except StoreUnavailable:  # spoiled statistics are no reason to show no approvals
            learned = 0
        changes = [f"{record.task_id} {record.state} {record.updated_at}" for record in page.records]
        return " ".join([*changes, str(page.total), str(learned)])

    def drop_snapshot(self, caller: Caller) -> None:
        """Drop the caller's cached approvals, after an answer or a cancel."""
        self._snapshots.pop(_build_cache_key(caller), None)


def _build_cache_key(caller: Caller) -> _CacheKey:
    return caller.tenant, choose_visible_owner(caller)


ShowPage = Callable[[Visitor], Awaitable[Response]]
HandleForm = Callable[[Visitor, dict[str, str]], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]
_NEWLY_WAITING_AGE = timedelta(seconds=15)


@dataclass(frozen=True)
class ConsoleContext:
    """The services and settings that all pages share. ``has_secure_cookies``: for https only. ``trusted_proxies``:
    whose ``X-Forwarded-For`` is believed.
    """

    services: FeatureServices
    sessions: ConsoleSessions
    pages: PageRenderer
    inbox_cache: InboxCache
    has_secure_cookies: bool
    trusted_proxies: tuple[Network, ...] = ()

    def make_page_handler(self, show: ShowPage, *, requires_operator: bool = False) -> Handler:
        """Make a request handler of a page. Without a session, it redirects to the sign-in page, and back afterwards.

        ``requires_operator``: the handler raises ``NotAnOperator`` for visitors without the role operator.
        """

        async def answer_page_request(request: Request) -> Response:
            visitor = await self.sessions.find_visitor(request)
            if visitor is None:
                return _redirect_to_sign_in(request)
            request.state.visitor = visitor
            if requires_operator:
                require_operator_role(visitor.caller)
            return await show(visitor)

        return answer_page_request

    def make_form_handler(self, act: HandleForm, *, requires_operator: bool = False) -> Handler:
        """Make a request handler of a submitted form; it raises ``BadForm`` for a form without the visitor's token.

        ``requires_operator``: as of ``make_page_handler``.
        """

        async def check_form_and_act(visitor: Visitor) -> Response:
            return await act(visitor, await read_verified_form(visitor.request, visitor.secret))

        return self.make_page_handler(check_form_and_act, requires_operator=requires_operator)

    async def count_ended(self, caller: Caller, since: datetime) -> Mapping[TaskState, int]:
        """Count the tasks that the caller may see and that have ended since then, by end state."""
        ends = {state: TaskQuery(states=(state,), since=since, size=1) for state in END_STATES}
        return {state: (await self.services.lists.list_tasks(query, caller)).total for state, query in ends.items()}

    async def read_spending(self, tenant: str, days: int) -> Sequence[DailySpending]:
        """The tenant's spending on each of so many days, the oldest first, until today in UTC; until tomorrow if calls
        were already made on that day of the tenant's time zone.
        """
        today = self.inbox_cache.clock().date()
        dates = [(today + timedelta(days=shift)).isoformat() for shift in range(1 - days, 2)]
        spent = await self.services.tenants.read_spending(tenant, dates)
        return spent[1:] if spent[-1].calls else spent[:-1]

    async def is_stuck(self, caller: Caller, state: TenantState) -> bool:
        """Whether tasks have waited for over 15 seconds and no session is worked on, as if no executor ran."""
        if not state.waiting or state.running or state.stopped is not None:
            return False
        waiting = TaskQuery(states=(TaskState.SUBMITTED,), size=1)
        waiting_shortly = waiting._replace(since=self.inbox_cache.clock() - _NEWLY_WAITING_AGE)
        totals = [(await self.services.lists.list_tasks(query, caller)).total for query in (waiting, waiting_shortly)]
        return totals[0] > totals[1]

    def read_client_address(self, request: Request) -> str:
        """The IP address of the request's client; empty if it is unknown."""
        peer = request.client.host if request.client else ""
        return determine_client_address(
            peer, ",".join(request.headers.getlist("x-forwarded-for")), self.trusted_proxies
        )

    async def render_page(
        self, visitor: Visitor, template: str, status: int = 200, tabs: Sequence[PageLink] = (), **values: object
    ) -> Response:
        """Render a page; its frame shows the number of approvals that the visitor may answer.

        ``tabs``: those that the visitor may open are shown, if there are several.
        """
        inbox, caller = self.inbox_cache, visitor.caller
        snapshot = await inbox.read_snapshot(caller)
        frame = {
            "badge": len(select_answerable_requests(snapshot.requests, caller.principal, inbox.clock())),
            "version": snapshot.version,
            "tabs": select_visible_links(tabs, visitor),
        }
        return self.pages.render(visitor.request, template, visitor, status, **frame, **values)


class PageGroup:
    """Base of classes that handle the requests for related pages of the console."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context


def _redirect_to_sign_in(request: Request) -> Response:
    """The response to a request without sign-in: a redirect, or 401 for requests of the page's script."""
    if request.headers.get("x-part") or request.headers.get("accept") == "text/event-stream":
        return Response(status_code=401, headers={"Cache-Control": "no-store"})
    path = request.url.path if request.method == "GET" else "/console/"
    return redirect_to(f"/console/sign-in?next={quote(path)}")
