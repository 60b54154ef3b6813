"""The REST bindings of protocols 1.0 and 0.3 on the task desk."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import NamedTuple

import structlog
from a2a.types.a2a_pb2 import Message, Task
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from services.gateway.core.errors import InvalidField, Refusal
from services.gateway.core.tasks.message import from_rest_0_3
from services.gateway.entrypoints.a2a.calls import A2aCalls, Sent
from services.gateway.entrypoints.a2a.faults import failed, rest_fault, rest_fault_0_3
from services.gateway.entrypoints.a2a.replies import Fault
from services.gateway.entrypoints.a2a.versions import MEDIA_TYPE, check_0_3, check_1_0, version_of
from services.gateway.entrypoints.a2a.wire import (
    Shown,
    listed,
    rest_0_3,
    rest_sent_0_3,
    sent_1_0,
    shown_0_3,
    shown_1_0,
)
from services.gateway.entrypoints.edge.body import BadCall, check_content_type, read_object
from services.gateway.entrypoints.edge.door import let_in
from services.gateway.entrypoints.edge.kept_alive import JSON_BEAT, KeptAlive
from services.gateway.ports.tasks import StoreUnavailable
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Dialect

log = structlog.get_logger()
Handler = Callable[..., Awaitable[Response]]


class Binding(NamedTuple):
    """How one protocol's REST is spoken: its check of the version, its media type, its words for a refusal."""

    dialect: Dialect
    check: Callable[[str, str], None]
    media_type: str
    refused: Callable[[Fault | BadCall], JSONResponse]


REST_1_0 = Binding(Dialect.A2A_1_0, check_1_0, MEDIA_TYPE, rest_fault)
REST_0_3 = Binding(Dialect.A2A_0_3, check_0_3, "application/json", rest_fault_0_3)


class A2aRest:
    """The paths of both protocols that answer with one JSON value."""

    def __init__(self, calls: A2aCalls, max_body: int) -> None:
        self._calls, self._max_body = calls, max_body

    def routes(self) -> APIRouter:
        router = APIRouter()
        table: Mapping[tuple[str, str], Handler] = {
            ("POST", "/message:send"): self.send,
            ("GET", "/tasks"): self.listed,
            ("POST", "/tasks/{task_id}:cancel"): self.cancel,
            ("POST", "/v1/message:send"): self.send_0_3,
            ("GET", "/v1/tasks"): self.listed_0_3,
            ("GET", "/v1/tasks/{task_id}"): self.task_0_3,
            ("POST", "/v1/tasks/{task_id}:cancel"): self.cancel_0_3,
        }
        for (method, path), handler in table.items():
            router.add_api_route(path, handler, methods=[method], response_class=JSONResponse)
        return router

    async def send(self, request: Request) -> Response:
        """SendMessage of protocol 1.0: one message; its answer is the task once its turn is over."""

        async def act() -> Response:
            params = await self._params(request)
            return self._answered(await self._calls.submit(params, Dialect.A2A_1_0, let_in(request)), sent_1_0)

        return await answered(REST_1_0, request, act)

    async def task(self, task_id: str, request: Request) -> Response:
        """GetTask of protocol 1.0."""

        async def act() -> Response:
            params = {**query_of(request), "id": task_id}
            return _shown(REST_1_0, shown_1_0(await self._calls.task(params, Dialect.A2A_1_0, let_in(request))))

        return await answered(REST_1_0, request, act)

    async def listed(self, request: Request) -> Response:
        """ListTasks of protocol 1.0: the tasks that the caller may see, the last changed first, page by page."""

        async def act() -> Response:
            return _shown(REST_1_0, listed(shown_1_0, *await self._calls.tasks(query_of(request), let_in(request))))

        return await answered(REST_1_0, request, act)

    async def cancel(self, task_id: str, request: Request) -> Response:
        """CancelTask of protocol 1.0."""

        async def act() -> Response:
            params = {**await self._params(request, may_be_empty=True), "id": task_id}
            return _shown(REST_1_0, shown_1_0(await self._calls.cancel(params, let_in(request))))

        return await answered(REST_1_0, request, act)

    async def send_0_3(self, request: Request) -> Response:
        """message/send of protocol 0.3; whoever words the message with ``parts`` is answered likewise."""

        async def act() -> Response:
            body = await self._params(request)
            sent = await self._calls.submit(from_rest_0_3(body), Dialect.A2A_0_3, let_in(request))
            return self._answered(sent, shown_0_3 if _has_parts(body) else rest_sent_0_3)

        return await answered(REST_0_3, request, act)

    async def task_0_3(self, task_id: str, request: Request) -> Response:
        """tasks/get of protocol 0.3."""

        async def act() -> Response:
            params = {**query_of(request), "id": task_id}
            return _shown(REST_0_3, rest_0_3(await self._calls.task(params, Dialect.A2A_0_3, let_in(request))))

        return await answered(REST_0_3, request, act)

    async def listed_0_3(self, request: Request) -> Response:
        """tasks/list of protocol 0.3, which has it over REST alone; pages and filters are those of 1.0."""

        async def act() -> Response:
            return _shown(REST_0_3, listed(rest_0_3, *await self._calls.tasks(query_of(request), let_in(request))))

        return await answered(REST_0_3, request, act)

    async def cancel_0_3(self, task_id: str, request: Request) -> Response:
        """tasks/cancel of protocol 0.3."""

        async def act() -> Response:
            params = {**await self._params(request, may_be_empty=True), "id": task_id}
            return _shown(REST_0_3, rest_0_3(await self._calls.cancel(params, let_in(request))))

        return await answered(REST_0_3, request, act)

    async def _params(self, request: Request, *, may_be_empty: bool = False) -> JsonObject:
        check_content_type(request)
        return await read_object(request, self._max_body, may_be_empty=may_be_empty)

    def _answered(self, sent: Sent, word: Callable[[Task | Message], Shown]) -> Response:
        media_type = MEDIA_TYPE if word is sent_1_0 else "application/json"
        return KeptAlive(self._answer(sent, word), media_type, JSON_BEAT)

    async def _answer(self, sent: Sent, word: Callable[[Task | Message], Shown]) -> AsyncGenerator[bytes, None]:
        """The status has gone out: if the end cannot be followed, the task is shown as it was accepted."""
        try:
            shown = word(await self._calls.answer(sent))
        except Exception:  # the outermost edge of a request: the message is safe, and the client is owed its task
            log.exception("answer_not_followed", task_id=sent.ticket.record.task_id)
            shown = word(await self._calls.answer(sent._replace(options=sent.options._replace(wait=False))))
        yield json.dumps(shown, ensure_ascii=False).encode()


async def answered(binding: Binding, request: Request, act: Callable[[], Awaitable[Response]]) -> Response:
    """The answer of ``act``, or its refusal in the words of the protocol."""
    try:
        binding.check(version_of(request), f"{request.method} {request.url.path}")
        return await act()
    except (BadCall, Refusal, StoreUnavailable) as fault:
        return binding.refused(fault)
    except Exception:  # the outermost edge of a request
        log.exception("request_failed", path=request.url.path)
        return failed()


def _shown(binding: Binding, value: Shown) -> Response:
    return JSONResponse(value, media_type=binding.media_type)


_NUMBERS = frozenset({"historyLength", "pageSize"})
_FLAGS = {"true": True, "false": False}


def query_of(request: Request) -> JsonObject:
    """The query's parameters as the values that JSON would have."""
    return {key: _typed(key, value) for key, value in request.query_params.items()}


def _typed(key: str, value: str) -> Json:
    if key in _NUMBERS:
        if not value.removeprefix("-").isdecimal() or not value.isascii() or len(value) > 12:
            raise InvalidField(key, "must be a whole number")
        return int(value)
    if key == "includeArtifacts":
        if value.lower() not in _FLAGS:
            raise InvalidField(key, "must be true or false")
        return _FLAGS[value.lower()]
    return value


def _has_parts(body: JsonObject) -> bool:
    message = body.get("message")
    return isinstance(message, dict) and "parts" in message
