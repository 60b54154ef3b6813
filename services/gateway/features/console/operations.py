"""The console's overview, and its pages on learning, operations, dead letters and webhooks."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.edge.errors import NotFound, WouldRepeatWrites
from services.gateway.features.console import charts
from services.gateway.features.console.context import PageGroup
from services.gateway.features.console.pages import (
    LEARNING_TABS,
    OPERATIONS_TABS,
    WEBHOOKS_TAB,
    PageLink,
    quote_id_for_url,
    redirect_to,
)
from services.gateway.features.console.sessions import Visitor
from services.gateway.features.console.views import health, memory, progress
from services.gateway.features.console.views.approvals import (
    build_approval_page,
    select_answerable_requests,
)
from services.gateway.features.console.views.formatting import parse_digits_or_zero
from services.gateway.features.console.views.tasks import RUNNING_STATES, list_writes_in_doubt
from services.gateway.features.tasks.listing import TaskQuery
from services.gateway.features.tenants import DailySpending, TenantState
from shared.contracts.task import TaskRecord
from shared.domain.words import Role, TaskState
from shared.ports.tasks import SessionBelongsToOther, TaskEnded, TenantIsStopped

_LATEST_TASKS_SHOWN = 6
_MOST_QUESTIONS_SHOWN = 3
_COUNT_LIMIT = 100
_ONE_DAY = timedelta(days=1)
_DAYS_DRAWN = 14


class _OperatorData(NamedTuple):
    """What the overview page shows to operators only."""

    state: TenantState | None = None
    spent: Sequence[DailySpending] = ()
    tasks_in_doubt: Sequence[TaskRecord] = ()
    dead_letters: int = 0
    disabled_webhooks: int = 0


class OverviewPages(PageGroup):
    async def show_overview(self, visitor: Visitor) -> Response:
        context = self._context
        caller = visitor.caller
        now = self._context.inbox_cache.clock()
        waiting = (await context.inbox_cache.read_snapshot(caller)).requests
        answerable = select_answerable_requests(waiting, caller.principal, now)
        history = await context.services.learned.read_history(caller.tenant)
        operated = await self._read_operator_data(visitor)
        waiting_counts = health.WaitingCounts(
            len(answerable), len(operated.tasks_in_doubt), operated.dead_letters, operated.disabled_webhooks
        )
        running = await context.services.lists.list_tasks(TaskQuery(states=RUNNING_STATES, size=1), caller)
        deadline = min((approval.approval.deadline for approval in answerable), default=None)
        tiles = [
            health.build_working_tile(
                await context.count_ended(caller, now - _ONE_DAY),
                running.total,
                operated.state,
                is_stuck=operated.state is not None and await context.is_stuck(caller, operated.state),
            ),
            health.build_quality_tile(progress.compute_quality_trend(history.quality)),
            health.build_waiting_tile(waiting_counts, len(waiting) - len(answerable), deadline, now),
        ]
        if operated.state:
            tiles.append(health.build_cost_tile(operated.spent, health.parse_day_counts(history.days), now.date()))
        pages = [
            build_approval_page(approval, caller.principal, now) for approval in answerable[:_MOST_QUESTIONS_SHOWN]
        ]
        quality = progress.build_quality_history(history.quality)
        spent = [day for day in operated.spent if day.calls]
        return await context.render_page(
            visitor,
            "overview.html",
            tiles=tiles,
            waiting_counts=waiting_counts,
            approvals=pages,
            tasks_in_doubt=operated.tasks_in_doubt[:_MOST_QUESTIONS_SHOWN],
            latest=await self._list_tasks(visitor, TaskQuery(size=_LATEST_TASKS_SHOWN)),
            quality=quality,
            quality_drawn=charts.draw_quality_chart(quality, is_small=True) if quality else "",
            spent_drawn=charts.draw_spending_chart(operated.spent, is_small=True) if spent else "",
            spent=spent,
        )

    async def _read_operator_data(self, visitor: Visitor) -> _OperatorData:
        services = self._context.services
        caller = visitor.caller
        now = self._context.inbox_cache.clock()
        if not visitor.has_any_role(Role.OPERATOR):
            return _OperatorData()
        failing = await services.webhooks.list_failing_deliveries(caller) if services.webhooks.offers_webhooks else ()
        waiting = await self._list_tasks(visitor, TaskQuery(states=(TaskState.INPUT_REQUIRED,), size=_COUNT_LIMIT))
        return _OperatorData(
            state=await services.tenants.read_state(caller.tenant, now),
            spent=await self._context.read_spending(caller.tenant, _DAYS_DRAWN),
            tasks_in_doubt=[record for record in waiting if list_writes_in_doubt(record)],
            dead_letters=len(await services.dead_letters.list_newest(caller.tenant, _COUNT_LIMIT)),
            disabled_webhooks=sum(delivery.disabled for delivery in failing),
        )

    async def _list_tasks(self, visitor: Visitor, query: TaskQuery) -> Sequence[TaskRecord]:
        return (await self._context.services.lists.list_tasks(query, visitor.caller)).records


_LONGEST_QUERY = 200
_MOST_CARDS = 24  # processes that are drawn, the most used ones


class LearningPages(PageGroup):
    async def show_progress(self, visitor: Visitor) -> Response:
        """Shows the page on learning: what was learned to all visitors of the tenant, how often predictions were right
        to operators alone.
        """
        services, tenant = self._context.services, visitor.caller.tenant
        learning = await services.learned.read_totals(tenant)
        history = await services.learned.read_history(tenant)
        cards = progress.build_process_cards(learning.arms, history.arms)
        quality = progress.build_quality_history(history.quality)
        return await self._context.render_page(
            visitor,
            "learning.html",
            tabs=LEARNING_TABS,
            learning=learning,
            direction=progress.compute_quality_trend(history.quality),
            quality=quality,
            quality_drawn=charts.draw_quality_chart(quality) if quality else "",
            quality_small=charts.draw_quality_chart(quality, is_small=True) if quality else "",
            cards=[(card, charts.draw_arms_chart(card)) for card in cards[:_MOST_CARDS]],
            left_out=len(cards[_MOST_CARDS:]),
            accuracy=sorted((await services.memory.read_memory(tenant)).accuracy.items())
            if visitor.has_any_role(Role.OPERATOR)
            else (),
        )

    async def show_cases(self, visitor: Visitor) -> Response:
        cases = await self._context.services.memory.read_cases(visitor.caller.tenant)
        page = memory.build_cases_page(cases, _read_memory_query(visitor.request))
        return await self._context.render_page(visitor, "cases.html", tabs=LEARNING_TABS, page=page)

    async def show_facts(self, visitor: Visitor) -> Response:
        remembered = await self._context.services.memory.read_memory(visitor.caller.tenant)
        page = memory.build_facts_page(remembered.facts, _read_memory_query(visitor.request))
        cost = memory.describe_finding_cost(remembered.fact_costs)
        return await self._context.render_page(visitor, "facts.html", tabs=LEARNING_TABS, page=page, cost=cost)

    async def show_entities(self, visitor: Visitor) -> Response:
        remembered = await self._context.services.memory.read_memory(visitor.caller.tenant)
        page = memory.build_entities_page(remembered.linked_entities, _read_memory_query(visitor.request))
        return await self._context.render_page(visitor, "entities.html", tabs=LEARNING_TABS, page=page)


def _read_memory_query(request: Request) -> memory.MemoryQuery:
    query = request.query_params
    words = query.get("q", "").strip()[:_LONGEST_QUERY]
    kind = query.get("kind", "")[:_LONGEST_QUERY]
    return memory.MemoryQuery(words, kind, parse_digits_or_zero(query.get("page", "")) or 1)


_DAYS_SHOWN = 30
_TASKS_SAMPLED = 100
_MOST_LETTERS = 100
_DEAD_LETTERS_PATH = "/console/operations/dead-letters"
_CANNOT_RERUN_TEXT = (
    "Nothing was done: the task has made writes, or may have. Look at them; then say that they may be repeated."
)


class OperationsPages(PageGroup):
    async def show_load(self, visitor: Visitor) -> Response:
        now = self._context.inbox_cache.clock()
        services = self._context.services
        caller = visitor.caller
        state = await services.tenants.read_state(caller.tenant, now)
        history = await services.learned.read_history(caller.tenant)
        ended_tasks = await services.lists.list_tasks(
            TaskQuery(states=health.END_STATES, since=now - _ONE_DAY, size=_TASKS_SAMPLED), caller
        )
        spent = await self._context.read_spending(caller.tenant, _DAYS_SHOWN)
        totals = await self._context.count_ended(caller, now - _ONE_DAY)
        first_date = (now.date() - _ONE_DAY * (_DAYS_SHOWN - 1)).isoformat()
        days = [day for day in health.parse_day_counts(history.days) if day.date >= first_date]
        return await self._context.render_page(
            visitor,
            "operations.html",
            tabs=self._tabs,
            stopped=state.stopped,
            figures=[
                *health.build_load_tiles(state, is_stuck=await self._context.is_stuck(caller, state)),
                health.build_error_rate_tile(totals),
                *health.build_duration_tiles(ended_tasks.records),
            ],
            endings=health.build_end_state_rows(totals),
            causes=health.count_failure_causes(ended_tasks.records),
            spent=[day for day in reversed(spent) if day.calls],
            mean_cost=health.compute_mean_cost_of_tasks(spent, days),
            spent_drawn=charts.draw_spending_chart(spent) if any(day.calls for day in spent) else "",
            days=days[::-1],
            days_drawn=charts.draw_days_chart(days) if len(days) > 1 else "",
            days_small=charts.draw_days_chart(days, is_small=True) if len(days) > 1 else "",
        )

    async def show_failing_webhooks(self, visitor: Visitor) -> Response:
        failing = await self._context.services.webhooks.list_failing_deliveries(visitor.caller)
        return await self._context.render_page(visitor, "webhooks.html", tabs=self._tabs, failing=failing)

    async def requeue_dead_letter(self, visitor: Visitor, fields: dict[str, str]) -> Response:
        """Requeue a dead letter; if its task made writes, only when the operator has agreed to repeat them."""
        letter_id = visitor.request.path_params["letter_id"]
        try:
            _, task_id = await self._context.services.dead_letters.requeue_letter(
                visitor.caller.tenant, letter_id, repeats_writes=fields.get("again") == "yes"
            )
        except WouldRepeatWrites:
            return await self.show_dead_letters(visitor, _CANNOT_RERUN_TEXT, 409)
        except (NotFound, TaskEnded, SessionBelongsToOther, TenantIsStopped) as fault:
            return await self.show_dead_letters(visitor, f"Nothing was done: {fault}.", 409)
        return redirect_to(
            f"/console/tasks/{quote_id_for_url(task_id)}" if task_id else f"{_DEAD_LETTERS_PATH}?done=requeued"
        )

    async def drop_dead_letter(self, visitor: Visitor, _: dict[str, str]) -> Response:
        try:
            await self._context.services.dead_letters.delete_letter(
                visitor.caller.tenant, visitor.request.path_params["letter_id"]
            )
        except NotFound as fault:
            return await self.show_dead_letters(visitor, f"Nothing was done: {fault}.", 409)
        return redirect_to(f"{_DEAD_LETTERS_PATH}?done=dropped")

    async def show_dead_letters(self, visitor: Visitor, problem: str = "", status: int = 200) -> Response:
        letters = await self._context.services.dead_letters.list_newest(visitor.caller.tenant, _MOST_LETTERS)
        values = {"letters": letters, "problem": problem, "done": visitor.request.query_params.get("done", "")}
        return await self._context.render_page(visitor, "letters.html", status, self._tabs, **values)

    @property
    def _tabs(self) -> tuple[PageLink, ...]:
        hooks = (WEBHOOKS_TAB,) if self._context.services.webhooks.offers_webhooks else ()
        return *OPERATIONS_TABS, *hooks
