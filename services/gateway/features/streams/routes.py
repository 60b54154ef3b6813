"""The gateway's own HTTP routes for tasks, their events and files, and for health and readiness."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import structlog
from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.edge.keep_alive import build_sse_response, encode_sse_frame
from services.gateway.edge.replies import RETRY_LATER_HEADERS, add_probe_route, asks_for_a2a_1_0, build_file_reply
from services.gateway.features.identity.middleware import get_identified_caller
from services.gateway.features.identity.model import Caller, Identity
from services.gateway.features.streams import updates
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.views import build_public_view, ends_task
from shared.domain.version import VERSION
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import EventsLost, TaskSnapshot, parse_stream_id

log = structlog.get_logger()


async def _stream_event_frames(
    tasks: TaskService, task_snapshot: TaskSnapshot, seen: updates.SeenEvents | None, model_notice: str, *, follow: bool
) -> AsyncGenerator[bytes, None]:
    """Yields a task's events after ``seen`` as SSE frames, to the end of the current turn or, if ``follow``, the task.

    If events that the client lacks have been dropped, an event ``snapshot`` with the task and the gap comes first.
    """
    try:
        resumption = updates.find_resumption(seen, task_snapshot)
        while True:
            if resumption.lost_after is not None:
                yield _build_gap_frame(task_snapshot, resumption.lost_after, model_notice)
            try:
                async with aclosing(_stream_later_frames(tasks, task_snapshot, resumption, follow=follow)) as frames:
                    async for frame in frames:
                        yield frame
                return
            except EventsLost as lost:
                task_snapshot = await tasks.read_snapshot(task_snapshot.record)
                resumption = updates.Resumption(None, lost.after)
    except StoreUnavailable as fault:
        log.warning("stream_interrupted", task_id=task_snapshot.record.task_id, error=str(fault))
        yield encode_sse_frame(json.dumps({"error": str(fault)}), event="error")


async def _stream_later_frames(
    tasks: TaskService, task_snapshot: TaskSnapshot, resumption: updates.Resumption, *, follow: bool
) -> AsyncGenerator[bytes, None]:
    record = task_snapshot.record
    newest = updates.SeenEvents(parse_stream_id(task_snapshot.newest or "0-0"))
    start = resumption.seen or (newest if resumption.lost_after else updates.SeenEvents((0, 0)))
    if record.state.is_terminal and start.position >= newest.position and start.part is None:
        return
    # the turns that do not end the stream: all that have ended, except the last if the task is at rest
    past_turns = record.turns_done[:-1] if updates.is_at_rest(record) else record.turns_done
    async with aclosing(tasks.watch(record, start.stream_id_to_read_after)) as events:
        async for stream_id, event in events:
            data = event.model_dump_json(include={"kind", "at", "data"})
            yield encode_sse_frame(data, event_id=stream_id, event=event.kind)
            is_of_past_turn = event.data.get("turn_id") in past_turns
            if ends_task(event) or (updates.leaves_task_waiting(event) and not follow and not is_of_past_turn):
                return
            if record.state.is_terminal and parse_stream_id(stream_id) >= newest.position:
                return


def _build_gap_frame(task_snapshot: TaskSnapshot, lost_after: str, model_notice: str) -> bytes:
    data = {
        "kind": "snapshot",
        "gap": {"lost_after": lost_after},
        "task": build_public_view(task_snapshot.record, model_notice),
    }
    return encode_sse_frame(json.dumps(data), event_id=task_snapshot.newest or "0-0", event="snapshot")


GetTaskIn1_0 = Callable[[Request], Awaitable[Response]]
# Why this replica should get no requests; empty if it is ready.
ListReadinessProblems = Callable[[], Awaitable[tuple[str, ...]]]


class TaskAndProbeEndpoints:
    """The gateway's own routes besides A2A: a task, its events and files, and what is asked to see whether it lives."""

    def __init__(
        self,
        tasks: TaskService,
        identity: Identity,
        find_problems: ListReadinessProblems,
        model_notice: str,
        get_task_in_1_0: GetTaskIn1_0,
    ) -> None:
        self._tasks = tasks
        self._identity = identity
        self._find_problems = find_problems
        self._model_notice, self._get_task_in_1_0 = model_notice, get_task_in_1_0

    def list_routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/tasks/{task_id}", self.get_task, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/tasks/{task_id}/events", self.stream_events, methods=["GET"], response_class=Response)
        router.add_api_route(
            "/tasks/{task_id}/files/{file_id}", self.download_file, methods=["GET"], response_class=Response
        )
        add_probe_route(router, "/health", self.report_health)
        add_probe_route(router, "/ready", self.report_readiness)
        return router

    async def get_task(self, task_id: str, request: Request) -> Response:
        """Show the task in the gateway's own form or, for requests of protocol 1.0, as an A2A task.

        404 if there is no such task that the caller may see.
        """
        if asks_for_a2a_1_0(request):
            return await self._get_task_in_1_0(request)
        return JSONResponse(
            build_public_view(await self._tasks.get_task(task_id, self._identify_caller(request)), self._model_notice)
        )

    async def stream_events(self, task_id: str, request: Request, follow: bool = False) -> Response:
        """Stream the task's events as server-sent events; with ``Last-Event-ID`` those after that event.

        404 if there is no such task that the caller may see, 400 for an invalid ``Last-Event-ID``.
        """
        last_event_id = updates.parse_last_event_id(request.headers.get(updates.LAST_EVENT_ID_HEADER))
        task_snapshot = await self._tasks.read_snapshot(
            await self._tasks.get_task(task_id, self._identify_caller(request))
        )
        return build_sse_response(
            _stream_event_frames(self._tasks, task_snapshot, last_event_id, self._model_notice, follow=follow)
        )

    async def download_file(self, task_id: str, file_id: str, request: Request) -> Response:
        """Download a file of the task's messages. 404 if there is no such task that the caller may see, or no such
        file.
        """
        record = await self._tasks.get_task(task_id, self._identify_caller(request))
        return build_file_reply(*await self._tasks.files.find_file(record, file_id))

    async def report_health(self) -> dict[str, JsonValue]:
        """Whether the process is alive, without asking any other service."""
        return {"status": "ok", "service": "gateway", "version": VERSION, "model": self._model_notice or None}

    async def report_readiness(self) -> Response:
        """Whether this replica can serve requests; 503 with the reasons otherwise."""
        if problems := await self._find_problems():
            return JSONResponse({"status": "not ready", "problems": list(problems)}, 503, RETRY_LATER_HEADERS)
        return JSONResponse({"status": "ready"})

    def _identify_caller(self, request: Request) -> Caller:
        return self._identity.caller_of(get_identified_caller(request), {})
