"""The Messages API over HTTP, served by rules. Nothing is kept between requests but which prefixes were seen."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from services.planner.core import faults as faulty
from services.planner.core.request import PlannerReply, Request as ModelRequest, parse_request
from services.planner.entrypoints import messages
from services.planner.entrypoints.checks import RequestRefused, answer_refused, build_error_body, check_request
from shared.domain.exact_json import JsonObject, dumps, loads_object

_log = structlog.get_logger("planner")
_SEEN_AT_MOST = 4_096
_LOOK_BACK = 20


class PlannerServer:
    """What the planner serves, and how badly. ``reply`` is told whether it is heedless."""

    def __init__(
        self,
        reply: Callable[[ModelRequest, bool], PlannerReply],
        model: str,
        latency_ms: int,
        faults: dict[str, str],
        allow_faults: bool,
        max_body: int,
    ) -> None:
        self.reply = reply
        self.model = model
        self.latency_ms = latency_ms
        self.faults = faults
        self.allow_faults = allow_faults
        self.max_body = max_body
        self._seen: OrderedDict[str, None] = OrderedDict()

    def read_and_cache_prefixes(self, body: JsonObject) -> tuple[int, int]:
        """Caches the body's marked prefixes; returns the tokens read from the cache, up to the longest prefix that was
        known, and written from there to the last mark.

        As at the real API, a prefix is found again at most ``_LOOK_BACK`` blocks before a mark.
        """
        prefixes = messages.list_prefixes(body)
        marks = [place for place, prefix in enumerate(prefixes) if prefix.is_marked]
        near = {place for mark in marks for place in range(max(0, mark - _LOOK_BACK), mark + 1)}
        read = max((prefixes[place].size for place in near if prefixes[place].key in self._seen), default=0)
        for mark in marks:
            self._seen[prefixes[mark].key] = None
            self._seen.move_to_end(prefixes[mark].key)
        while len(self._seen) > _SEEN_AT_MOST:
            self._seen.popitem(last=False)
        return read, max(0, prefixes[marks[-1]].size - read) if marks else 0

    def faults_of(self, request: Request) -> dict[str, str]:
        """The faults of this request: the standing ones, and those its header asks for where that is allowed."""
        header = request.headers.get("x-planner-faults", "")
        return {**self.faults, **_parse_faults(header)} if header and self.allow_faults else self.faults


def build_application(served: PlannerServer) -> FastAPI:
    """The planner as an ASGI application."""
    app = FastAPI(title="Purple Agent planner (rule-based, not an LLM)", docs_url=None, redoc_url=None)
    app.add_exception_handler(RequestRefused, answer_refused)
    app.add_exception_handler(HTTPException, _answer_http)
    _add_messages(app, served)
    _add_model_and_health_routes(app, served)
    if served.allow_faults:
        _add_faults(app, served)
    return app


def _add_messages(app: FastAPI, served: PlannerServer) -> None:
    @app.post("/v1/messages")
    async def create_message(request: Request) -> Response:
        body = await _read_request(request, served)
        check_request(body, served.model)
        faults = served.faults_of(request)
        await _delay_answer(request, served)
        answer = _make_answer(body, served, faults)
        if body.get("stream") is True:
            return StreamingResponse(_stream(answer), media_type="text/event-stream")
        return Response(dumps(answer.message), media_type="application/json")

    @app.post("/v1/messages/count_tokens")
    async def count_tokens(request: Request) -> JSONResponse:
        body = await _read_request(request, served)
        check_request(body, served.model, counting=True)
        return JSONResponse({"input_tokens": messages.count_input_tokens(body)})


def _add_model_and_health_routes(app: FastAPI, served: PlannerServer) -> None:
    model_info = {
        "type": "model",
        "id": served.model,
        "display_name": "Rule-based planner, not an LLM",
        "created_at": "2025-01-01T00:00:00Z",
    }

    @app.get("/v1/models")
    async def list_models() -> JSONResponse:
        return JSONResponse(
            {"data": [model_info], "has_more": False, "first_id": served.model, "last_id": served.model}
        )

    @app.get("/v1/models/{model}")
    async def show_model(model: str) -> JSONResponse:
        if model != served.model:
            raise RequestRefused(f"model: {model}", 404)
        return JSONResponse(model_info)

    @app.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get("/ready")
    async def ready() -> JSONResponse:
        return JSONResponse({"status": "ok", "model": served.model, "kind": "rule-based planner, not an LLM"})


def _add_faults(app: FastAPI, served: PlannerServer) -> None:
    @app.post("/faults")
    async def switch_faults(request: Request) -> JSONResponse:
        """``{"faults": "name, name=detail", "latency_ms": 0}``: what is left out stays as it is."""
        body = await _read_object(request, served.max_body)
        faults, latency = body.get("faults"), body.get("latency_ms")
        if isinstance(faults, str):
            served.faults = _parse_faults(faults)
        if isinstance(latency, int) and latency >= 0:
            served.latency_ms = latency
        return JSONResponse({"faults": served.faults, "latency_ms": served.latency_ms})


def _make_answer(body: JsonObject, served: PlannerServer, faults: dict[str, str]) -> messages.FinishedMessage:
    request = parse_request(body)
    reply = served.reply(request, "ignored_policy" in faults)
    reply = faulty.apply_faults(reply, request, faults)
    message = messages.make_message(body, reply, served.read_and_cache_prefixes(body), "truncated" in faults)
    _log.info(
        "model_reply_planned",
        state=request.state or "other",
        calls=len(reply.calls),
        stop=message.stop,
        faults=sorted(faults),
    )
    return message


async def _stream(message: messages.FinishedMessage) -> AsyncIterator[str]:
    for event in messages.message_events(message):
        yield event


async def _delay_answer(request: Request, served: PlannerServer) -> None:
    header = request.headers.get("x-planner-latency-ms", "")
    latency = int(header) if header.isdecimal() and served.allow_faults else served.latency_ms
    if latency:
        await asyncio.sleep(latency / 1000)


async def _read_request(request: Request, served: PlannerServer) -> JsonObject:
    if not request.headers.get("x-api-key") and not request.headers.get("authorization"):
        raise RequestRefused("x-api-key header is required", 401)
    if not request.headers.get("anthropic-version"):
        raise RequestRefused("anthropic-version: header is required")
    return await _read_object(request, served.max_body)


async def _read_object(request: Request, max_body: int) -> JsonObject:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > max_body:
            raise RequestRefused(f"Request exceeds the maximum size of {max_body} bytes", 413)
    try:
        return loads_object(bytes(raw))
    except (ValueError, RecursionError) as error:
        raise RequestRefused(f"The request body is not valid JSON: {error}") from error


def _parse_faults(text: str) -> dict[str, str]:
    try:
        return faulty.parse_faults(text)
    except faulty.UnknownFault as error:
        raise RequestRefused(str(error)) from error


async def _answer_http(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else "Internal server error"
    return JSONResponse(build_error_body(status, detail), status)
