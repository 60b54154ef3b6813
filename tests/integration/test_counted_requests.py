"""What a service counts of its requests, and where it shows it."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from services.policy.bootstrap import build as build_policy
from services.policy.settings import PolicySettings
from shared.domain import metric_names as names
from shared.infra.counted_app import CountedApp, count_requests
from shared.infra.metrics import Metrics, MetricsPage
from tests.each_row import each_row
from tests.samples import samples

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
    app = CountedApp(build_policy(PolicySettings(), metrics), metrics, MetricsPage(metrics))
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
