"""``/console/``: is it working, what needs me, what does it cost."""

from datetime import timedelta

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.console.approvals import approval_page, needs, summary_of
from services.gateway.core.console.overview import Share, Tile, average_quality, endings, spent_tile
from services.gateway.core.console.tasks import ENDED_BADLY, RUNNING, task_row
from services.gateway.core.console.times import distance
from services.gateway.core.console.words import counted
from services.gateway.core.tasks.task_list import ListedTasks, Query
from services.gateway.entrypoints.console.charts import Bar, bars
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room
from shared.domain.words import Role

_CHART = 290  # as wide as its card: its words then have the size of the page's
_LATEST = 6
_LATELY = timedelta(days=1)


class OverviewPage:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def shown(self, request: Request, visitor: Visitor) -> Response:
        now = self._room.glance.clock()
        running = await self._tasks(visitor, Query(states=RUNNING, size=1))
        failed = await self._tasks(visitor, Query(states=ENDED_BADLY, since=now - _LATELY, size=3))
        latest = await self._tasks(visitor, Query(size=_LATEST))
        learning = await self._room.desks.statistics.learning(visitor.caller.tenant)
        tiles = [await self._waiting(visitor), _running(running), _failed(failed), *await self._spent(visitor)]
        mine = needs(await self._room.glance.waiting(visitor.caller), visitor.caller.principal, now)
        asked = [approval_page(one, visitor.caller.principal, now) for one in mine[:3]]
        return await self._room.page(
            request,
            "overview.html",
            visitor,
            tiles=tiles,
            asked=[(page, summary_of(page.calls)) for page in asked],
            latest=[task_row(one) for one in latest.records],
            failed=[task_row(one) for one in failed.records],
            endings=_drawn(endings(learning.counts)),
            quality=average_quality(learning),
        )

    async def _tasks(self, visitor: Visitor, query: Query) -> ListedTasks:
        return await self._room.desks.lists.tasks(query, visitor.caller)

    async def _waiting(self, visitor: Visitor) -> Tile:
        now, questions = self._room.glance.clock(), await self._room.glance.waiting(visitor.caller)
        mine = needs(questions, visitor.caller.principal, now)
        others = counted(len(questions) - len(mine), "more waits", "more wait") + " for others"
        first = f"the first is due {distance(mine[0].approval.deadline, now)}" if mine else ""
        remark = first or (others if len(questions) > len(mine) else "nothing to decide")
        return Tile("Waiting for you", str(len(mine)), remark, "/console/approvals", "warn" if mine else "")

    async def _spent(self, visitor: Visitor) -> list[Tile]:
        """Operators alone are told what the tenant spends."""
        if not visitor.has(Role.OPERATOR):
            return []
        state = await self._room.desks.tenants.show(visitor.caller.tenant, visitor.caller)
        return [spent_tile(state.spent, self._room.glance.clock().date())]


def _drawn(found: tuple[Share, ...]) -> Markup:
    """A chart of how tasks ended; empty before the first."""
    if not found:
        return Markup()
    most = max(share.number for share in found)
    return bars([Bar(share.word, share.number) for share in found], "How tasks ended", _CHART, 0, max(most, 4))


def _running(found: ListedTasks) -> Tile:
    return Tile("Running now", str(found.total), "queued or worked on", "/console/tasks?state=running")


def _failed(found: ListedTasks) -> Tile:
    tone = "bad" if found.total else ""
    return Tile("Failed or rejected", str(found.total), "in the last 24 hours", "/console/tasks?state=failed", tone)
