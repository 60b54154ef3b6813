"""Spans within each other, over processes and of requests by their route, and what is never in them."""

import asyncio
from io import StringIO

import httpx
import pytest
import structlog
from fastapi import FastAPI, Response
from starlette.requests import Request
from starlette.responses import StreamingResponse

from shared.domain.protected_values import ProtectedKind
from shared.domain.redaction import HIDDEN_VALUES
from shared.infra.traced_app import trace_requests
from shared.ports.tracing import SpanKind
from tests.doubles.kept_spans import KeptSpan, KeptSpans
from tests.each_row import each_row

_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_GIVEN = f"00-{_TRACE}-{_SPAN}-01"


async def test_what_runs_side_by_side_stands_within_the_span_that_began_it() -> None:
    kept = KeptSpans()

    async def inner(name: str) -> None:
        with kept.tracer.open_span(name):
            await asyncio.sleep(0)

    with kept.tracer.open_span("outer"):
        async with asyncio.TaskGroup() as group:
            group.create_task(inner("one"))
            group.create_task(inner("two"))
    outer = kept.named("outer").span_id
    assert (kept.named("one").parent_id, kept.named("two").parent_id) == (outer, outer)


@pytest.mark.promise("trace.context")
def test_a_span_of_another_process_is_gone_on_from() -> None:
    kept = KeptSpans()
    with kept.tracer.continue_trace("here", SpanKind.SERVER, _GIVEN):
        told = kept.tracer.traceparent()
    here = kept.named("here")
    assert (here.trace_id, here.parent_id, here.kind) == (_TRACE, _SPAN, "server")
    assert told == f"00-{_TRACE}-{here.span_id}-01"


@pytest.mark.promise("trace.context")
@each_row(
    "given",
    None,
    f"ff-{_TRACE}-{_SPAN}-01",
    f"00-{'0' * 32}-{_SPAN}-01",
    f"00-{_TRACE}-{_SPAN}-01-more",
    "00-" + "a" * 100_000,
)
def test_what_is_no_traceparent_begins_a_trace(given: str | None) -> None:
    kept = KeptSpans()
    with kept.tracer.open_span("open"), kept.tracer.continue_trace("here", SpanKind.SERVER, given):
        pass
    here = kept.named("here")
    assert here.parent_id == ""
    assert here.trace_id not in (_TRACE, kept.named("open").trace_id)


@pytest.mark.promise("trace.context")
def test_a_later_version_of_traceparent_is_read_as_far_as_it_is_known_and_a_link_leads_to_no_parent() -> None:
    kept = KeptSpans()
    with kept.tracer.continue_trace("here", SpanKind.SERVER, f"01-{_TRACE}-{_SPAN}-01-more"):
        pass
    assert kept.named("here").parent_id == _SPAN
    kept = KeptSpans()
    with kept.tracer.continue_trace("here", SpanKind.CONSUMER, None, link=_GIVEN):
        pass
    assert kept.named("here").links == (_SPAN,)


@pytest.mark.promise("trace.context")
def test_a_trace_that_its_caller_does_not_record_is_not_recorded_here_and_goes_on() -> None:
    kept = KeptSpans()
    with kept.tracer.continue_trace("here", SpanKind.SERVER, f"00-{_TRACE}-{_SPAN}-00") as span:
        told, recording = kept.tracer.traceparent(), span.is_recording
    assert (kept.all, recording) == ((), False)
    assert told is not None
    assert (told[3:35], told[-2:]) == (_TRACE, "00")


@pytest.mark.promise("trace.says_nothing")
def test_an_error_is_told_by_its_type_and_never_by_its_words() -> None:
    kept = KeptSpans()
    with pytest.raises(ValueError), kept.tracer.open_span("here"):  # noqa: PT011  # whichever words it has
        raise ValueError("the customer's own words")
    here = kept.named("here")
    assert (here.failed, here.attributes["error.type"]) == (True, "ValueError")
    assert "words" not in kept.said()


async def test_what_is_cancelled_has_not_failed() -> None:
    kept = KeptSpans()
    with pytest.raises(asyncio.CancelledError), kept.tracer.open_span("here"):
        raise asyncio.CancelledError
    assert kept.named("here").failed is False


@pytest.mark.promise("trace.says_nothing")
def test_names_and_attributes_hold_nothing_that_the_privacy_guard_marks() -> None:
    kept = KeptSpans()
    card, word = "4111 1111 1111 1111", "swordfish-9"
    hidden = HIDDEN_VALUES.set({word: ProtectedKind.PASSWORD})
    try:
        with kept.tracer.open_span(f"tool {card}") as span:
            span.annotate({"purple.session": f"of {card}", "purple.list": (word,), "purple.count": 3})
            span.rename(f"tool {word}")
    finally:
        HIDDEN_VALUES.reset(hidden)
    assert card not in kept.said()
    assert word not in kept.said()
    assert kept.all[0].attributes["purple.count"] == 3


@pytest.mark.promise("trace.in_logs")
def test_a_line_that_is_logged_within_a_span_names_it() -> None:
    kept, lines = KeptSpans(), list[dict[str, object]]()

    def noted(_: object, __: str, event: structlog.typing.EventDict) -> str:
        lines.append(dict(event))
        return ""

    log = structlog.wrap_logger(structlog.PrintLogger(StringIO()), [structlog.contextvars.merge_contextvars, noted])
    with kept.tracer.open_span("outer"):
        with kept.tracer.open_span("inner"):
            log.info("within")
        log.info("after")
    log.info("outside")
    within, after, outside = lines
    assert (within["span_id"], after["span_id"]) == (kept.named("inner").span_id, kept.named("outer").span_id)
    assert within["trace_id"] == kept.named("outer").trace_id
    assert "trace_id" not in outside


_CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


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
    (span,) = await _asked("GET", "/tasks/1", [("traceparent", _CALLER)])
    assert (span.trace_id, span.parent_id) == (_CALLER[3:35], _CALLER[36:52])
    (span,) = await _asked("GET", "/tasks/1", [("traceparent", _CALLER), ("traceparent", _CALLER)])
    assert span.parent_id == ""


async def test_a_failure_of_ours_is_marked_a_stream_is_one_span_and_a_probe_is_none() -> None:
    (broken,) = await _asked("GET", "/broken")
    (raised,) = await _asked("GET", "/raises")
    assert (broken.failed, broken.attributes["error.type"]) == (True, "503")
    assert (raised.failed, raised.attributes["error.type"]) == (True, "LookupError")
    assert [span.name for span in await _asked("GET", "/stream")] == ["GET /stream"]
    assert await _asked("GET", "/health") == ()
