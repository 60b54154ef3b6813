"""Requests as spans: by their route, never by their path."""

import httpx
import pytest
from fastapi import FastAPI, Response
from starlette.requests import Request
from starlette.responses import StreamingResponse

from shared.infra.traced_app import trace_requests
from tests.doubles.kept_spans import KeptSpan, KeptSpans

_GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _app() -> FastAPI:
    app = FastAPI()

    @app.get("/tasks/{task_id}")
    async def task(task_id: str) -> str:
        return task_id

    @app.get("/broken")
    async def broken() -> Response:
        return Response(status_code=503)

    @app.get("/raises")
    async def raises() -> None:
        raise LookupError("the words of an error")

    @app.get("/stream")
    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(iter([b"one", b"two"]))

    @app.get("/health")
    async def health() -> str:
        return "ok"

    return app


async def _asked(method: str, path: str, headers: list[tuple[str, str]] | None = None) -> tuple[KeptSpan, ...]:
    kept = KeptSpans()
    transport = httpx.ASGITransport(trace_requests(_app(), kept.tracer), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        await client.request(method, path, headers=headers)
    return kept.all


async def test_a_request_is_named_after_its_route() -> None:
    (span,) = await _asked("GET", "/tasks/of-jane-doe?q=her+words")
    assert (span.name, span.kind, span.failed) == ("GET /tasks/{task_id}", "server", False)
    assert span.attributes == {
        "http.request.method": "GET",
        "url.scheme": "http",
        "http.response.status_code": 200,
        "http.route": "/tasks/{task_id}",
    }


@pytest.mark.promise("trace.says_nothing")
async def test_what_a_caller_makes_up_is_no_name() -> None:
    (unknown,) = await _asked("GET", "/nowhere/jane")
    (made_up,) = await _asked("JANE", "/tasks/1")
    assert (unknown.name, unknown.attributes["http.response.status_code"]) == ("GET", 404)
    assert made_up.attributes["http.request.method"] == "HTTP"


@pytest.mark.promise("trace.context")
async def test_a_request_stands_within_its_callers_span_and_of_two_none_is_believed() -> None:
    (span,) = await _asked("GET", "/tasks/1", [("traceparent", _GIVEN)])
    assert (span.trace_id, span.parent_id) == (_GIVEN[3:35], _GIVEN[36:52])
    (span,) = await _asked("GET", "/tasks/1", [("traceparent", _GIVEN), ("traceparent", _GIVEN)])
    assert span.parent_id == ""


async def test_a_failure_of_ours_is_marked_a_stream_is_one_span_and_a_probe_is_none() -> None:
    (broken,) = await _asked("GET", "/broken")
    (raised,) = await _asked("GET", "/raises")
    assert (broken.failed, broken.attributes["error.type"]) == (True, "503")
    assert (raised.failed, raised.attributes["error.type"]) == (True, "LookupError")
    assert [span.name for span in await _asked("GET", "/stream")] == ["GET /stream"]
    assert await _asked("GET", "/health") == ()
