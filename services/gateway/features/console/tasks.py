"""``/console/tasks``: the list of tasks, and one task with its events."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from starlette.responses import Response

from services.gateway.edge.errors import InvalidField, NotCancelable, NothingToResolve, NoVisibleTask
from services.gateway.edge.keep_alive import build_sse_response, encode_sse_frame
from services.gateway.edge.replies import build_file_reply
from services.gateway.features.audit import build_audit_rows, build_rows_from_record
from services.gateway.features.console.context import PageGroup
from services.gateway.features.console.pages import quote_id_for_url, redirect_to
from services.gateway.features.console.sessions import Visitor
from services.gateway.features.console.views import evidence, tasks as views
from services.gateway.features.console.views.timeline import EventsWithIds
from services.gateway.features.identity.model import may_stop
from services.gateway.features.tasks.listing import TaskQuery
from services.gateway.features.tasks.signals import parse_resolution
from services.gateway.features.tasks.views import ends_task
from shared.contracts.archive import ArchivedTask
from shared.contracts.task import TaskRecord
from shared.domain.words import Role
from shared.ports.archive import ArchiveUnavailable
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import EventsLost

log = structlog.get_logger()
POLL_SECONDS = 1.5
_STREAM_ID_PATTERN = re.compile(r"\d{1,20}-\d{1,20}")


class LiveStreams(PageGroup):
    """Server-sent events by which pages refresh themselves: of one task until it ends, of the inbox without end."""

    async def stream_inbox(self, visitor: Visitor) -> Response:
        return build_sse_response(self._stream_inbox_frames(visitor))

    async def stream_task(self, visitor: Visitor) -> Response:
        record = await self._context.services.tasks.get_task(visitor.request.path_params["task_id"], visitor.caller)
        last_event_id = visitor.request.headers.get("last-event-id") or visitor.request.query_params.get("after", "")
        last_event_id = last_event_id if _STREAM_ID_PATTERN.fullmatch(last_event_id) else "0"
        return build_sse_response(self._stream_task_frames(record, last_event_id))

    async def _stream_inbox_frames(self, visitor: Visitor) -> AsyncGenerator[bytes, None]:
        shown_version = visitor.request.query_params.get("seen", "")
        while True:
            try:
                if await self._context.sessions.find_visitor(visitor.request) is None:
                    yield encode_sse_frame("{}", event="out")
                    return
                version = (await self._context.inbox_cache.read_snapshot(visitor.caller)).version
                if version != shown_version:
                    yield encode_sse_frame(json.dumps({"version": version}), event="changed")
                shown_version = version
            except StoreUnavailable as fault:  # the page keeps what it shows; the next look may do
                log.warning("console_inbox_not_read", error=str(fault))
            await asyncio.sleep(POLL_SECONDS)

    async def _stream_task_frames(self, record: TaskRecord, last_event_id: str) -> AsyncGenerator[bytes, None]:
        """Yields an SSE frame for each event of a task. Ends early if the store fails; the browser then reconnects."""
        try:
            while True:
                try:
                    async with aclosing(self._context.services.tasks.watch(record, last_event_id)) as events:
                        async for stream_id, event in events:
                            yield encode_sse_frame(
                                json.dumps({"kind": event.kind}), event_id=stream_id, event="changed"
                            )
                            if ends_task(event):
                                yield encode_sse_frame("{}", event="over")
                                return
                except EventsLost:  # from the same place it would be lost again: on with what is kept
                    last_event_id = "0"
        except StoreUnavailable as fault:
            log.warning("stream_interrupted", task_id=record.task_id, error=str(fault))


_PAGE_SIZE = 25
_LONGEST_TASK_ID = 200


class TaskPages(PageGroup):
    async def show_list(self, visitor: Visitor) -> Response:
        """The list of tasks, the last changed first; with ``?q=ID`` a redirect to that task."""
        task_id = visitor.request.query_params.get("q", "").strip()[:_LONGEST_TASK_ID]
        if not task_id:
            return await self._render_list(visitor)
        try:
            record = await self._context.services.tasks.get_task(task_id, visitor.caller)
        except NoVisibleTask:
            return await self._render_list(visitor, task_id)
        return redirect_to(f"/console/tasks/{quote_id_for_url(record.task_id)}")

    async def download_file(self, visitor: Visitor) -> Response:
        """Download a file of the task's messages."""
        tasks = self._context.services.tasks
        record = await tasks.get_task(visitor.request.path_params["task_id"], visitor.caller)
        return build_file_reply(*await tasks.files.find_file(record, visitor.request.path_params["file_id"]))

    async def cancel_task(self, visitor: Visitor, _: dict[str, str]) -> Response:
        """Cancel the task and wait a little for its end, then show its page, with 409 if it had ended before.

        A write that is under way is finished first.
        """
        task_id = visitor.request.path_params["task_id"]
        try:
            await self._context.services.signals.cancel_task(task_id, visitor.caller)
        except NotCancelable:
            return await self.show_task(visitor, "It had ended before your cancel came.", 409)
        finally:
            self._context.inbox_cache.drop_snapshot(visitor.caller)
        return redirect_to(f"/console/tasks/{quote_id_for_url(task_id)}")

    async def resolve_write(self, visitor: Visitor, fields: dict[str, str]) -> Response:
        """Send an operator's decision on a write in doubt to its task."""
        task_id = visitor.request.path_params["task_id"]
        try:
            word = parse_resolution({name: fields.get(name, "") for name in ("call", "resolution", "comment")})
            await self._context.services.signals.resolve_write(task_id, word, visitor.caller)
        except (InvalidField, NothingToResolve) as fault:
            return await self.show_task(visitor, f"Nothing was changed. {fault}", 409)
        return redirect_to(f"/console/tasks/{quote_id_for_url(task_id)}")

    async def _render_list(self, visitor: Visitor, missed: str = "") -> Response:
        task_filter = views.find_task_filter(visitor.request.query_params.get("state", ""))
        token = visitor.request.query_params.get("page", "")
        query = TaskQuery(states=task_filter.states, size=_PAGE_SIZE, page_token=token)
        page = await self._context.services.lists.list_tasks(query, visitor.caller)
        return await self._context.render_page(
            visitor,
            "tasks.html",
            404 if missed else 200,
            rows=page.records,
            total=page.total,
            more=page.next_token,
            token=token,
            filters=views.TASK_FILTERS,
            task_filter=task_filter,
            missed=missed,
        )

    async def show_task(self, visitor: Visitor, problem: str = "", status: int = 200) -> Response:
        record = await self._context.services.tasks.get_task(visitor.request.path_params["task_id"], visitor.caller)
        events, details = await self._read_events_and_details(record)
        webhooks = self._context.services.webhooks
        approvals = details.approvals if details else ()
        grounds = approvals[-1].grounds if approvals else None
        return await self._context.render_page(
            visitor,
            "task.html",
            status,
            record=record,
            page=views.build_task_page(record, self._context.inbox_cache.clock()),
            events=events,
            grounds=grounds,
            writes=evidence.build_write_rows(
                build_audit_rows(details, "") if details else build_rows_from_record(record), grounds
            ),
            approvals=approvals,
            deliveries=await webhooks.list_webhooks(record) if webhooks.offers_webhooks else (),
            newest=events[-1][0] if events else "0-0",
            may_stop=may_stop(visitor.caller.principal, record) and not record.state.is_terminal,
            choices=views.RESOLUTION_CHOICES if visitor.has_any_role(Role.OPERATOR) else (),
            problem=problem,
        )

    async def _read_events_and_details(self, record: TaskRecord) -> tuple[EventsWithIds, ArchivedTask | None]:
        """The task's events, from the store or else from the archive, and its ledger and approvals.

        The latter are None if neither has them, or the archive does not answer.
        """
        events = await self._context.services.audit.read_events(record)
        try:
            details = await self._context.services.audit.read_details(record, includes_events=not events)
        except ArchiveUnavailable as fault:
            log.warning("archived_task_not_read", task_id=record.task_id, error=str(fault))
            return events, None
        if not events and details:
            events = [(f"{number}-0", event) for number, event in enumerate(details.events, 1)]
        return events, details
