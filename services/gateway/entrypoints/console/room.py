"""What every page of the console works with, and how a request becomes a page."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.approvals.desk import ApprovalDesk
from services.gateway.core.audit.desk import AuditDesk
from services.gateway.core.console.health import ENDS
from services.gateway.core.identity.source_address import Network, source_of
from services.gateway.core.operating.assessments import AssessmentDesk
from services.gateway.core.operating.dead_letters import Clerk
from services.gateway.core.operating.memory_desk import MemoryDesk
from services.gateway.core.operating.tenant_desk import TenantDesk
from services.gateway.core.push.desk import PushDesk
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.task_list import Query, TaskListDesk
from services.gateway.entrypoints.console.forms import read_form
from services.gateway.entrypoints.console.gate import Gate, Visitor
from services.gateway.entrypoints.console.glance import Glance
from services.gateway.entrypoints.console.pages import Pages, go_to
from services.gateway.ports.identity import Caller
from services.gateway.ports.learning import Statistics
from services.gateway.ports.spending import Spending
from services.gateway.ports.tasks import Stories
from services.gateway.ports.tenants import TenantState
from shared.domain.words import TaskState

Show = Callable[[Request, Visitor], Awaitable[Response]]
Act = Callable[[Request, Visitor, dict[str, str]], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]
_TAKEN_UP = timedelta(seconds=15)


@dataclass(frozen=True)
class Desks:
    tasks: TaskDesk
    lists: TaskListDesk
    approvals: ApprovalDesk
    tenants: TenantDesk
    statistics: Statistics
    spending: Spending
    stories: Stories
    webhooks: PushDesk
    clerk: Clerk
    memory: MemoryDesk
    audit: AuditDesk
    assessments: AssessmentDesk


@dataclass(frozen=True)
class Room:
    """``secure``: whether cookies are for https alone. ``trusted``: whose ``X-Forwarded-For`` is believed."""

    desks: Desks
    gate: Gate
    pages: Pages
    glance: Glance
    secure: bool
    trusted: tuple[Network, ...] = ()

    def shows(self, show: Show) -> Handler:
        """A page for who is signed in; others are asked to sign in, and come back to it."""

        async def answer(request: Request) -> Response:
            visitor = await self.gate.visitor(request)
            if visitor is None:
                return _to_the_door(request)
            request.state.visitor = visitor
            return await show(request, visitor)

        return answer

    def acts(self, act: Act) -> Handler:
        """What a form of who is signed in does; raises ``BadForm`` for a form that no page of theirs gave them."""

        async def answer(request: Request) -> Response:
            visitor = await self.gate.visitor(request)
            if visitor is None:
                return _to_the_door(request)
            request.state.visitor = visitor
            return await act(request, visitor, await read_form(request, visitor.secret))

        return answer

    async def totals(self, caller: Caller, since: datetime) -> Mapping[TaskState, int]:
        """How many of the tasks that the caller may see ended how since then."""
        ends = {state: Query(states=(state,), since=since, size=1) for state in ENDS}
        return {state: (await self.desks.lists.tasks(query, caller)).total for state, query in ends.items()}

    async def stands_still(self, caller: Caller, state: TenantState) -> bool:
        """Whether tasks wait for longer than a worker needs to take them up, and nothing is worked on."""
        if not state.waiting or state.running or state.stopped is not None:
            return False
        every = Query(states=(TaskState.SUBMITTED,), size=1)
        fresh = every._replace(since=self.glance.clock() - _TAKEN_UP)
        totals = [(await self.desks.lists.tasks(query, caller)).total for query in (every, fresh)]
        return totals[0] > totals[1]

    def source(self, request: Request) -> str:
        """The address from which a request comes; empty where it cannot be told."""
        peer = request.client.host if request.client else ""
        return source_of(peer, ",".join(request.headers.getlist("x-forwarded-for")), self.trusted)

    async def page(
        self, request: Request, template: str, visitor: Visitor, status: int = 200, **values: object
    ) -> Response:
        """A page with the number of approvals that wait for its reader."""
        badge, version = await self.glance.count(visitor.caller), await self.glance.version(visitor.caller)
        return self.pages.page(request, template, visitor, status, badge=badge, version=version, **values)


def _to_the_door(request: Request) -> Response:
    """A script is told in its own way: it then loads the whole page anew."""
    if request.headers.get("x-part") or request.headers.get("accept") == "text/event-stream":
        return Response(status_code=401, headers={"Cache-Control": "no-store"})
    wanted = request.url.path if request.method == "GET" else "/console/"
    return go_to(f"/console/sign-in?next={quote(wanted)}")
