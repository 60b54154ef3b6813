"""What is read over plain HTTP: tasks, their events, health and readiness."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import InvalidField, UnknownTask
from services.gateway.core.streaming.positions import read_seen
from services.gateway.core.tasks.desk import TaskDesk
from services.gateway.core.tasks.views import public_view
from services.gateway.entrypoints.a2a.replies import RETRY_LATER
from services.gateway.entrypoints.a2a.streams import last_event_id
from services.gateway.entrypoints.a2a.versions import asks_for_1_0
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.entrypoints.edge.kept_alive import SSE_BEAT, KeptAlive
from services.gateway.entrypoints.edge.refusals import Statuses, kinds, refused
from services.gateway.entrypoints.operating.story import story
from services.gateway.ports.identity import Caller, Identity
from services.gateway.ports.tasks import Readiness, StoreUnavailable
from shared.domain.version import VERSION

_STATUS: Statuses = {UnknownTask: 404, InvalidField: 400, StoreUnavailable: 503}
TaskOf1_0 = Callable[[Request], Awaitable[Response]]


class RestEndpoints:
    def __init__(
        self, desk: TaskDesk, identity: Identity, readiness: Readiness, notice: str, task_of_1_0: TaskOf1_0
    ) -> None:
        self._task_of_1_0 = task_of_1_0
        self._desk, self._identity, self._readiness, self._notice = desk, identity, readiness, notice

    def routes(self) -> APIRouter:
        router = APIRouter()
        router.add_api_route("/tasks/{task_id}", self.task, methods=["GET"], response_class=JSONResponse)
        router.add_api_route("/tasks/{task_id}/events", self.events, methods=["GET"], response_class=Response)
        router.add_api_route("/health", self.health, methods=["GET"])
        router.add_api_route("/ready", self.ready, methods=["GET"], response_class=JSONResponse)
        return router

    async def task(self, task_id: str, request: Request) -> Response:
        """The task's record as JSON; a client that says protocol 1.0 gets the task in the words of that protocol."""
        if asks_for_1_0(request):
            return await self._task_of_1_0(request)
        try:
            record = await self._desk.read(task_id, self._caller(request))
        except kinds(_STATUS) as fault:
            return refused(fault, _STATUS)
        return JSONResponse(public_view(record, self._notice))

    async def events(self, task_id: str, request: Request, follow: bool = False) -> Response:
        """The task's events, live, each with its id; ``Last-Event-ID`` goes on after that one."""
        try:
            seen = read_seen(last_event_id(request))
            standing = await self._desk.standing(await self._desk.read(task_id, self._caller(request)))
        except kinds(_STATUS) as fault:
            return refused(fault, _STATUS)
        frames = story(self._desk, standing, seen, self._notice, follow=follow)
        return KeptAlive(frames, "text/event-stream", SSE_BEAT)

    async def health(self) -> dict[str, JsonValue]:
        """Whether the process lives; asks nobody else."""
        return {"status": "ok", "service": "gateway", "version": VERSION, "model": self._notice or None}

    async def ready(self) -> Response:
        """Whether requests should come here; 503 with the reasons otherwise."""
        problems = await self._readiness.problems()
        if problems:
            return JSONResponse({"status": "not ready", "problems": list(problems)}, 503, RETRY_LATER)
        return JSONResponse({"status": "ready"})

    def _caller(self, request: Request) -> Caller:
        return self._identity.caller_of(let_in(request), {})
