"""Traces: who is told which trace a call belongs to, and a collector that is away, which nobody who works notices."""

import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.company.faults import ToolFaults
from examples.company.protocols import ToolProtocol
from examples.company.server import build_app
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.policy_http import HttpPolicy
from services.executor.adapters.rest_bridge import RestBridge
from services.executor.ports.tools import ToolServers
from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.contracts.policy import EvaluateRequest
from shared.contracts.tenant import Connection
from shared.infra.anthropic_model import AnthropicModel
from shared.infra.service_settings import TracingSettings
from shared.infra.tracing import open_tracer
from shared.ports.models import Message as ModelMessage, ModelRequest, TextBlock, Tier
from shared.ports.tracing import Tracer
from tests.company_stage import open_books
from tests.doubles.kept_spans import KeptSpans
from tests.doubles.mock_anthropic import mock_anthropic
from tests.doubles.otlp_receiver import receiving
from tests.serving import serving

_REQUEST = ModelRequest(Tier.SMALL, ("role",), (ModelMessage("user", (TextBlock("go"),)),))


class Heard(NamedTuple):
    """What requests told: their headers, and all of their bodies."""

    headers: list[str]
    bodies: bytearray


class Listening:
    """An application that notes what it is told of traces."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.heard = Heard([], bytearray())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.heard.headers.extend(v.decode() for k, v in scope.get("headers", []) if k == b"traceparent")

        async def noted() -> Message:
            message = await receive()
            self.heard.bodies.extend(message.get("body", b""))
            return message

        await self._app(scope, noted, send)


@asynccontextmanager
async def _company(folder: Path, protocol: ToolProtocol) -> AsyncIterator[tuple[str, Heard]]:
    books = open_books(folder)
    app = Listening(build_app(books, ToolFaults({}), faults_may_change=False, protocol=protocol))
    async with serving(app) as url:
        yield url, app.heard


async def _called(servers: ToolServers, url: str, kept: KeptSpans, *, asks: bool) -> str:
    """One call within a span, and that span as it would be told."""
    connection = Connection(id="company", url=url, traceparent=asks)
    await servers.discover(connection)
    with kept.tracer.open_span("call"):
        told = kept.tracer.traceparent() or ""
        answer = await servers.call(connection, "get_expense", {"expense_id": "EXP-1001"}, 5.0)
    assert not answer.is_error
    return told


@pytest.mark.promise("trace.told_to_whom_asks")
@pytest.mark.parametrize("asks", [True, False])
async def test_an_mcp_server_is_told_in_the_calls_meta_if_its_connection_asks(tmp_path: Path, asks: bool) -> None:
    kept = KeptSpans()
    async with _company(tmp_path, ToolProtocol.MCP) as (url, heard), McpTools(tracer=kept.tracer) as servers:
        told = await _called(servers, url, kept, asks=asks)
    assert (f'"traceparent":"{told}"'.encode() in heard.bodies.replace(b" ", b"")) is asks
    assert (b"traceparent" in heard.bodies) is asks


@pytest.mark.promise("trace.told_to_whom_asks")
@pytest.mark.parametrize("asks", [True, False])
async def test_a_bridge_is_told_in_a_header_if_its_connection_asks(tmp_path: Path, asks: bool) -> None:
    kept = KeptSpans()
    async with _company(tmp_path, ToolProtocol.REST) as (url, heard), RestBridge(tracer=kept.tracer) as servers:
        told = await _called(servers, url, kept, asks=asks)
    assert heard.headers == ([told] if asks else [])


@pytest.mark.promise("trace.told_to_whom_asks")
@pytest.mark.parametrize("tells", [True, False])
async def test_a_models_endpoint_is_told_only_where_the_operator_says_so(tells: bool) -> None:
    kept = KeptSpans()
    async with mock_anthropic() as mock:
        model = AnthropicModel({Tier.SMALL: "small"}, "key", mock.url, tracer=kept.tracer, sends_trace=tells)
        with kept.tracer.open_span("chat"):
            told = kept.tracer.traceparent()
            await model.complete(_REQUEST)
        await model.close()
    assert mock.asked[0].headers.get("traceparent") == (told if tells else None)
    chat = kept.named("chat small")
    assert chat.attributes["gen_ai.request.model"] == "small"


@pytest.mark.promise("trace.one_tree")
async def test_the_policy_service_is_told() -> None:
    kept, app = KeptSpans(), Listening(build_application(PolicySettings().max_body_bytes))
    async with serving(app) as url:
        policy = HttpPolicy(url, tracer=kept.tracer)
        verdict = await policy.evaluate(EvaluateRequest())
        await policy.close()
    asked = kept.named("policy evaluate")
    assert [header[:-3] for header in app.heard.headers] == [f"00-{asked.trace_id}-{asked.span_id}"]
    assert asked.attributes["purple.policy.passed"] is verdict.passed


Collector = Callable[[], AbstractContextManager[str]]
_SPANS = 2_500  # more than the queue holds
_FLUSH_SECONDS = 0.2
_SPARE_SECONDS = 10.0  # on a busy machine; the SDK by itself would wait for 30


def _settings(url: str) -> TracingSettings:
    return TracingSettings(otel_exporter_otlp_endpoint=url)


def _work(tracer: Tracer) -> None:
    for number in range(_SPANS):
        with tracer.open_span("work") as span:
            span.annotate({"purple.number": number})


@contextmanager
def _nobody() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@contextmanager
def _silent() -> Iterator[str]:
    """Connections are taken by the system; nobody ever answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.promise("trace.collector_away")
@pytest.mark.parametrize("collector", [_nobody, _silent])
def test_work_goes_on_and_ends_in_time(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    """The queue is bounded, each kind of trouble is told once, and the end waits for a bounded time."""
    before = set(threading.enumerate())
    with collector() as url, caplog.at_level(logging.WARNING):
        with open_tracer(_settings(url), "gateway", _FLUSH_SECONDS) as tracer:
            _work(tracer)
            began = monotonic()
        ended = monotonic()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)  # nobody is to be at work in other tests
    said = [record.msg for record in caplog.records]
    assert ended - began < _FLUSH_SECONDS + _SPARE_SECONDS
    assert len(said) == len(set(said))


@pytest.mark.promise("trace.one_tree")
def test_what_was_recorded_last_is_handed_over_at_the_end() -> None:
    with receiving() as receiver:
        with open_tracer(_settings(receiver.url), "gateway") as tracer, tracer.open_span("last"):
            pass
        (span,) = receiver.spans
    assert (span.service, span.name) == ("purple-gateway", "last")
