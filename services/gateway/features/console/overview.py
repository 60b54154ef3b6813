"""``/console/``: is it working, is it getting better, what needs me, what does it cost."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.features.approvals.model import Question
from services.gateway.features.console.charts import quality_chart, spend_chart
from services.gateway.features.console.context import ConsoleContext
from services.gateway.features.console.sessions import Visitor
from services.gateway.features.console.views.approvals import approval_page, needs, summary_of
from services.gateway.features.console.views.health import day_counts
from services.gateway.features.console.views.overview import (
    Needs,
    Tile,
    begun_days,
    better_tile,
    cost_tile,
    first_due,
    last_days,
    needs_tile,
    working_tile,
)
from services.gateway.features.console.views.progress import direction, quality
from services.gateway.features.console.views.tasks import RUNNING, doubts_of, task_row
from services.gateway.features.learning.model import LearningHistory
from services.gateway.features.tasks.listing import TaskQuery
from services.gateway.features.tenants.model import DaySpent, TenantState
from shared.contracts.task import TaskRecord
from shared.domain.words import Role, TaskState

_LATEST = 6
_ASKED = 3
_MOST = 100
_DAY = timedelta(days=1)
_DAYS_DRAWN = 14


class _Seen(NamedTuple):
    """What the page is made of; ``state`` and what follows are for operators alone."""

    history: LearningHistory
    waiting: Sequence[Question]
    mine: Sequence[Question]
    state: TenantState | None = None
    spent: Sequence[DaySpent] = ()
    doubted: Sequence[TaskRecord] = ()
    letters: int = 0
    hooks: int = 0

    @property
    def needs(self) -> Needs:
        return Needs(len(self.mine), len(self.doubted), self.letters, self.hooks)


class OverviewPage:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    async def show_page(self, request: Request, visitor: Visitor) -> Response:
        now, caller = self._context.glance.clock(), visitor.caller
        seen = await self._read_all(visitor)
        asked = [approval_page(one, caller.principal, now) for one in seen.mine[:_ASKED]]
        return await self._context.page(
            request,
            "overview.html",
            visitor,
            tiles=await self._tiles(visitor, seen),
            needs=seen.needs,
            asked=[(page, summary_of(page.calls)) for page in asked],
            doubted=[task_row(one) for one in seen.doubted[:_ASKED]],
            latest=[task_row(one) for one in await self._tasks(visitor, TaskQuery(size=_LATEST))],
            quality=(found := quality(seen.history.quality)),
            quality_drawn=quality_chart(found, small=True) if found else "",
            spent_drawn=spend_chart(seen.spent, small=True) if any(day.calls for day in seen.spent) else "",
            spent=[day for day in seen.spent if day.calls],
        )

    async def _tiles(self, visitor: Visitor, seen: _Seen) -> list[Tile]:
        now, caller = self._context.glance.clock(), visitor.caller
        totals = await self._context.totals(caller, now - _DAY)
        running = (await self._context.services.lists.tasks(TaskQuery(states=RUNNING, size=1), caller)).total
        still = await self._context.stands_still(caller, seen.state) if seen.state else False
        tiles = [
            working_tile(totals, running, seen.state, still=still),
            better_tile(direction(seen.history.quality)),
            needs_tile(seen.needs, len(seen.waiting) - len(seen.mine), first_due(seen.mine), now),
        ]
        return [*tiles, cost_tile(seen.spent, day_counts(seen.history.days), now.date())] if seen.state else tiles

    async def _read_all(self, visitor: Visitor) -> _Seen:
        services, caller, now = self._context.services, visitor.caller, self._context.glance.clock()
        waiting = await self._context.glance.waiting(caller)
        seen = _Seen(await services.statistics.history(caller.tenant), waiting, needs(waiting, caller.principal, now))
        if not visitor.has(Role.OPERATOR):
            return seen
        failing = await services.webhooks.failing(caller) if services.webhooks.offered else ()
        return seen._replace(
            state=await services.tenants.show(caller.tenant, caller),
            spent=begun_days(await services.spending.spending_of(caller.tenant, last_days(now.date(), _DAYS_DRAWN))),
            doubted=await self._doubted_tasks(visitor),
            letters=len(await services.dead_letters.list_newest(caller, _MOST)),
            hooks=sum(one.disabled for one in failing),
        )

    async def _doubted_tasks(self, visitor: Visitor) -> Sequence[TaskRecord]:
        """Tasks with writes that an operator must judge."""
        waiting = await self._tasks(visitor, TaskQuery(states=(TaskState.INPUT_REQUIRED,), size=_MOST))
        return [one for one in waiting if doubts_of(one)]

    async def _tasks(self, visitor: Visitor, query: TaskQuery) -> Sequence[TaskRecord]:
        return (await self._context.services.lists.tasks(query, visitor.caller)).records
