"""What services count of requests and where they show it: by patterns of routes, without anybody's ids."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from cli.stack.plan import find_free_ports
from services.gateway.settings import GatewaySettings
from services.learner.adapters.redis_lessons import RedisLessons
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.workers.health import LearnerGauges
from services.learner.workers.learner import Learner
from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.domain import metric_names as names
from shared.infra.counted_app import CountedApp, count_requests
from shared.infra.metrics import Metrics, MetricsPage
from tests.each_row import each_row
from tests.http_client import open_http
from tests.integration.gateway_stage import Stage, stage
from tests.integration.learner_stage import an_outcome, leave
from tests.samples import samples


async def _shown(url: str) -> dict[tuple[str, ...], float]:
    """Name and labels of each sample; waits until somebody listens."""
    async with asyncio.timeout(10), open_http(trust_env=False) as client:
        while True:
            try:
                text = (await client.get(url)).text
                break
            except httpx.ConnectError:
                await asyncio.sleep(0.02)
    found = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value for sample in found}


@asynccontextmanager
async def _measured(redis: Redis, redis_url: str) -> AsyncIterator[tuple[Stage, str]]:
    """A gateway, and where it shows its metrics."""
    (port,) = find_free_ports(1)
    async with stage(redis, redis_url, metrics_port=port) as play:
        yield play, f"http://127.0.0.1:{port}/metrics"


@pytest.mark.promise("metrics.not_public", "metrics.requests")
async def test_requests_and_messages_are_shown_on_the_operators_port_alone(redis: Redis, redis_url: str) -> None:
    async with _measured(redis, redis_url) as (play, metrics):
        await play.send("my-task", "hello")
        await play.client.get("/v1/tasks/of-anna", headers={"A2A-Version": "1.0"})
        public = await play.client.get("/metrics")
        shown = await _shown(metrics)

    assert public.status_code == 404
    assert shown["purple_http_requests_total", "200", "POST", "/"] == 1
    assert shown["purple_turns_accepted_total", "legacy", "yes"] == 1
    assert shown["purple_store_up",] == 1
    assert shown["purple_sessions_waiting",] == 0
    assert [name for name in shown if "anna" in str(name) or "my-task" in str(name)] == []


@pytest.mark.promise("metrics.not_public")
def test_metrics_cannot_be_put_on_the_port_that_clients_reach() -> None:
    with pytest.raises(ValidationError, match="METRICS_PORT must be another port than PORT"):
        GatewaySettings(redis_url="redis://here", authentication="keys", port=9010, metrics_port=9010)


@pytest.mark.promise("metrics.requests")
async def test_a_route_behind_a_tenants_name_is_counted_as_the_route_that_it_is(redis: Redis, redis_url: str) -> None:
    async with _measured(redis, redis_url) as (play, metrics):
        await play.client.get("/default/tasks/none", headers={"A2A-Version": "1.0"})
        await play.client.get("/console/")
        shown = await _shown(metrics)

    routes = {labels[-1] for name, *labels in shown if name == "purple_http_requests_total"}
    assert any("{" in route for route in routes)
    assert not any("default" in route for route in routes)
    assert any(route.startswith("/console") for route in routes)


@pytest.mark.promise("metrics.requests")
async def test_a_client_that_leaves_before_its_request_is_whole_is_no_error(redis: Redis, redis_url: str) -> None:
    """Else anybody outside could raise the alert of errors by hanging up."""
    async with _measured(redis, redis_url) as (play, metrics):
        url = play.client.base_url
        _, line = await asyncio.open_connection(url.host, url.port)
        line.write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{")
        await line.drain()
        line.close()
        async with asyncio.timeout(10):
            while not (codes := _codes(await _shown(metrics))):
                await asyncio.sleep(0.02)

    assert codes == {"499"}


def _codes(shown: dict[tuple[str, ...], float]) -> set[str]:
    return {labels[0] for name, *labels in shown if name == "purple_http_requests_total"}


@pytest.mark.promise("metrics.shown")
async def test_what_a_learner_has_done_is_counted_once_however_often_it_is_looked_at(redis: Redis) -> None:
    learner, metrics = Learner(RedisOutcomes(redis, "one", 5.0), RedisLessons(redis)), Metrics("learner")
    await leave(redis, [an_outcome(number) for number in range(3)])
    gauges = LearnerGauges(learner, _memory_status)
    await learner.update_share()
    while await learner.run_once():
        await gauges.set_gauges(metrics)
    await gauges.set_gauges(metrics)

    assert samples(metrics.registry, "purple_outcomes_applied_total") == {("learned",): 3}
    assert samples(metrics.registry, "purple_learner_partitions") == {(): 64}
    assert samples(metrics.registry, "purple_memory_total") == {("facts_found",): 4}


def _memory_status() -> dict[str, JsonValue]:
    return {"facts": {"found": 4}, "forgotten": 0}


PLAIN = "text/plain; version="
OPEN = "application/openmetrics-text; version="


async def _page(_: Request) -> Response:
    return Response("page")


def _shop() -> FastAPI:
    app = FastAPI()

    @app.get("/items/{item}")
    async def item(item: str) -> dict[str, str]:
        return {"item": item}

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("broken")

    @app.get("/news")
    async def news() -> StreamingResponse:
        return StreamingResponse(iter(["data: 1\n\n"]), media_type="text/event-stream")

    app.router.routes.append(Mount("/inner", Starlette(routes=[Route("/{page}", _page)])))
    return app


@pytest.mark.promise("metrics.requests")
def test_requests_are_counted_by_the_pattern_of_their_route_and_never_by_their_path() -> None:
    metrics = Metrics("planner")
    with TestClient(CountedApp(_shop(), metrics), raise_server_exceptions=False) as client:
        for path in ("/items/anna", "/items/bert", "/nothing/anna", "/broken", "/news", "/inner/anna"):
            client.get(path)
        client.request("PURPLE", "/items/anna")

    assert samples(metrics.registry, "purple_http_requests_total") == {
        ("200", "GET", "/items/{item}"): 2,
        ("404", "GET", "none"): 1,
        ("500", "GET", "/broken"): 1,
        ("200", "GET", "/news"): 1,
        ("200", "GET", "/inner/{page}"): 1,
        ("405", "OTHER", "/items/{item}"): 1,
    }
    assert samples(metrics.registry, "purple_http_open_requests") == {}
    assert samples(metrics.registry, "purple_http_open_streams") == {}


@pytest.mark.promise("metrics.shown")
@each_row(("accept", "kind"), [("", PLAIN), ("*/*", PLAIN), (f"{OPEN}1.0.0", OPEN), (PLAIN, PLAIN)])
def test_the_page_speaks_the_format_that_is_asked_for(accept: str, kind: str) -> None:
    with TestClient(count_requests(_shop(), "planner")) as client:
        shown = client.get("/metrics", headers={"Accept": accept})

    assert shown.headers["content-type"].startswith(kind)
    assert 'purple_build_info{service="planner",version="' in shown.text
    assert shown.text.endswith("# EOF\n") is (kind is OPEN)
    assert "process_resident_memory_bytes" in shown.text


@pytest.mark.promise("metrics.shown")
async def test_verdicts_are_counted_where_they_are_given() -> None:
    metrics = Metrics("policy")
    app = CountedApp(build_application(PolicySettings().max_body_bytes, metrics), metrics, MetricsPage(metrics))
    rule = {"id": "r", "condition": "amount > 5", "action": "block", "reason": "too much"}
    asked = {"policies": [{"id": "p", "rules": [rule]}], "binding": True}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://policy") as client:
        for amount in (1, 9):
            await client.post("/v1/evaluate", json={**asked, "context": {"amount": amount}})

    assert samples(metrics.registry, "purple_verdicts_total") == {("yes", "passed"): 1, ("yes", "blocked"): 1}
    assert samples(metrics.registry, "purple_verdict_seconds_count") == {(): 2}


@pytest.mark.promise("metrics.bounded")
def test_a_metric_never_has_more_series_than_it_may() -> None:
    metrics = Metrics("planner")

    for number in range(names.MOST_SERIES + 50):
        metrics.add(names.HTTP_REQUESTS, route=f"/{number}", method="GET", code="200")

    found = samples(metrics.registry, "purple_http_requests_total")
    assert len(found) == names.MOST_SERIES + 1
    assert found[("other", "other", "other")] == 50


@pytest.mark.promise("metrics.shown")
async def test_scrapes_that_come_together_are_all_answered() -> None:
    app = count_requests(_shop(), "planner")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://planner") as client:
        answers = await asyncio.gather(*(client.get("/metrics") for _ in range(5)))

    assert {answer.status_code for answer in answers} == {200}
