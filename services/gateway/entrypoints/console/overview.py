"""``/console/``: is it working, is it getting better, what needs me, what does it cost."""

from collections.abc import Sequence
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.console.approvals import approval_page, needs, summary_of
from services.gateway.core.console.doubts import doubts_of
from services.gateway.core.console.overview import (
    Needs,
    Tile,
    begun,
    better_tile,
    cost_tile,
    first_due,
    last_days,
    needs_tile,
    working_tile,
)
from services.gateway.core.console.progress import direction, quality
from services.gateway.core.console.tasks import RUNNING, task_row
from services.gateway.core.tasks.task_list import Query
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.pictures import quality_chart, spend_chart
from services.gateway.entrypoints.console.room import Room
from services.gateway.ports.approvals import Question
from services.gateway.ports.courses import Course
from services.gateway.ports.tenants import DaySpent, TenantState
from shared.contracts.task import TaskRecord
from shared.domain.words import Role, TaskState

_LATEST = 6
_MOST = 20
_DAY = timedelta(days=1)
_DAYS_DRAWN = 14


class OverviewPage:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def shown(self, request: Request, visitor: Visitor) -> Response:
        now, caller = self._room.glance.clock(), visitor.caller
        latest, course = await self._tasks(visitor, Query(size=_LATEST)), await self._course(visitor)
        mine = needs(await self._room.glance.waiting(caller), caller.principal, now)
        doubted = await self._doubted(visitor)
        asked = [approval_page(one, caller.principal, now) for one in mine[:3]]
        spent = await self._spent(visitor)
        return await self._room.page(
            request,
            "overview.html",
            visitor,
            tiles=await self._tiles(visitor, course, mine, doubted, spent),
            asked=[(page, summary_of(page.calls)) for page in asked],
            more=len(mine) - len(asked),
            doubted=[task_row(one) for one in doubted[:3]],
            latest=[task_row(one) for one in latest],
            quality=(found := quality(course.quality)),
            quality_drawn=quality_chart(found, small=True) if found else "",
            spent_drawn=spend_chart(spent) if any(day.calls for day in spent) else "",
            spent=[day for day in spent if day.calls],
        )

    async def _tiles(
        self,
        visitor: Visitor,
        course: Course,
        mine: Sequence[Question],
        doubted: Sequence[TaskRecord],
        spent: Sequence[DaySpent],
    ) -> list[Tile]:
        now, caller, desks = self._room.glance.clock(), visitor.caller, self._room.desks
        totals = await self._room.totals(caller, now - _DAY)
        running = (await desks.lists.tasks(Query(states=RUNNING, size=1), caller)).total
        letters, hooks, state = await self._troubles(visitor)
        others = len(await self._room.glance.waiting(caller)) - len(mine)
        tiles = [
            working_tile(totals, running, state),
            better_tile(direction(course.quality)),
            needs_tile(Needs(len(mine), len(doubted), letters, hooks), others, first_due(mine), now),
        ]
        return [*tiles, cost_tile(spent, course.days, now.date())] if state else tiles

    async def _troubles(self, visitor: Visitor) -> tuple[int, int, TenantState | None]:
        """Dead letters, webhooks that were given up, and the tenant's state: for operators alone."""
        if not visitor.has(Role.OPERATOR):
            return 0, 0, None
        desks, caller = self._room.desks, visitor.caller
        letters = await desks.clerk.listed(caller, _MOST)
        failing = await desks.webhooks.failing(caller) if desks.webhooks.offered else ()
        state = await desks.tenants.show(caller.tenant, caller)
        return len(letters), sum(one.disabled for one in failing), state

    async def _doubted(self, visitor: Visitor) -> Sequence[TaskRecord]:
        """Tasks with writes that an operator must judge."""
        if not visitor.has(Role.OPERATOR):
            return ()
        waiting = await self._tasks(visitor, Query(states=(TaskState.INPUT_REQUIRED,), size=_MOST))
        return [one for one in waiting if doubts_of(one)]

    async def _tasks(self, visitor: Visitor, query: Query) -> Sequence[TaskRecord]:
        return (await self._room.desks.lists.tasks(query, visitor.caller)).records

    async def _course(self, visitor: Visitor) -> Course:
        return await self._room.desks.courses.learned(visitor.caller.tenant)

    async def _spent(self, visitor: Visitor) -> Sequence[DaySpent]:
        """Operators alone are told what the tenant spends."""
        if not visitor.has(Role.OPERATOR):
            return ()
        days = last_days(self._room.glance.clock().date(), _DAYS_DRAWN)
        return begun(await self._room.desks.courses.spent(visitor.caller.tenant, days))
