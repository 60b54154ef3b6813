"""``/console/operations``, for operators: what waits, how long tasks take, what fails, what it costs; dead letters."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.console.health import (
    ENDS,
    causes,
    cost_of_a_task,
    day_counts,
    day_rows,
    endings,
    error_rate,
    latencies,
    load,
)
from services.gateway.core.console.letters import letter_rows
from services.gateway.core.console.overview import begun, last_days
from services.gateway.core.errors import NoSuchLetter, WouldRepeatWrites
from services.gateway.core.tasks.resolve import check_operator
from services.gateway.core.tasks.task_list import Query
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.pages import go_to, in_path
from services.gateway.entrypoints.console.pictures import days_chart, spend_chart
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.console.tabs import OPERATIONS, WEBHOOKS, Tab, tabs_of
from services.gateway.ports.tasks import SessionBelongsToOther, TaskEnded, TenantIsStopped

_DAY = timedelta(days=1)
_DAYS = 30
_SAMPLE = 100
_LETTERS = 100
_PLACE = "/console/operations/dead-letters"
_MADE_WRITES = (
    "Nothing was done: the task has made writes, or may have. Look at them; then say that they may be repeated."
)


class OperationsPages:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def load(self, request: Request, visitor: Visitor) -> Response:
        check_operator(visitor.caller)
        now, desks, caller = self._room.glance.clock(), self._room.desks, visitor.caller
        state, history = await desks.tenants.show(caller.tenant, caller), await desks.statistics.history(caller.tenant)
        ended = await desks.lists.tasks(Query(states=ENDS, since=now - _DAY, size=_SAMPLE), caller)
        spent = begun(await desks.spending.spent(caller.tenant, last_days(now.date(), _DAYS)))
        totals = await self._room.totals(caller, now - _DAY)
        first = (now.date() - _DAY * _DAYS).isoformat()
        days = [day for day in day_counts(history.days) if day.date >= first]
        return await self._room.page(
            request,
            "operations.html",
            visitor,
            tabs=self._tabs(visitor),
            stopped=state.stopped,
            figures=[
                *load(state, still=await self._room.stands_still(caller, state)),
                error_rate(totals),
                *latencies(ended.records),
            ],
            endings=endings(totals),
            causes=causes(ended.records),
            spent=[day for day in reversed(spent) if day.calls],
            each=cost_of_a_task(spent, days),
            spent_drawn=spend_chart(spent) if any(day.calls for day in spent) else "",
            days=day_rows(days),
            days_drawn=days_chart(days) if len(days) > 1 else "",
            days_small=days_chart(days, small=True) if len(days) > 1 else "",
        )

    async def letters(self, request: Request, visitor: Visitor) -> Response:
        return await self._letters(request, visitor)

    async def requeued(self, request: Request, visitor: Visitor, fields: dict[str, str]) -> Response:
        """Put back to work; a turn that wrote only where the operator says that it may write again."""
        letter_id = request.path_params["letter_id"]
        try:
            done = await self._room.desks.clerk.requeue(visitor.caller, letter_id, again=fields.get("again") == "yes")
        except WouldRepeatWrites:
            return await self._letters(request, visitor, _MADE_WRITES, 409)
        except (NoSuchLetter, TaskEnded, SessionBelongsToOther, TenantIsStopped) as fault:
            return await self._letters(request, visitor, f"Nothing was done: {fault}.", 409)
        return go_to(f"/console/tasks/{in_path(done.task_id)}" if done.task_id else f"{_PLACE}?done=requeued")

    async def dropped(self, request: Request, visitor: Visitor, _: dict[str, str]) -> Response:
        try:
            await self._room.desks.clerk.drop(visitor.caller, request.path_params["letter_id"])
        except NoSuchLetter as fault:
            return await self._letters(request, visitor, f"Nothing was done: {fault}.", 409)
        return go_to(f"{_PLACE}?done=dropped")

    async def _letters(self, request: Request, visitor: Visitor, problem: str = "", status: int = 200) -> Response:
        found = await self._room.desks.clerk.listed(visitor.caller, _LETTERS)
        values = {"tabs": self._tabs(visitor), "letters": letter_rows(found), "problem": problem}
        done = request.query_params.get("done", "")
        return await self._room.page(request, "letters.html", visitor, status, **values, done=done)

    def _tabs(self, visitor: Visitor) -> tuple[Tab, ...]:
        hooks = (WEBHOOKS,) if self._room.desks.webhooks.offered else ()
        return tabs_of((*OPERATIONS, *hooks), visitor)
