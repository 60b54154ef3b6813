"""The gateway's metrics: on a port of their own, by the patterns of routes, without anybody's ids."""

import asyncio

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import JsonValue, ValidationError
from redis.asyncio import Redis

from cli.stack.plan import free_ports
from services.gateway.settings import GatewaySettings
from services.learner.adapters.redis_memory import RedisMemory
from services.learner.adapters.redis_outcomes import RedisOutcomes
from services.learner.core.learner import Learner
from services.learner.entrypoints.http import LearnerGauges
from shared.infra.metrics import Metrics
from tests.http_client import open_http
from tests.integration.gateway_stage import stage
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


@pytest.mark.promise("metrics.not_public", "metrics.requests")
async def test_requests_and_messages_are_shown_on_the_operators_port_alone(redis: Redis, redis_url: str) -> None:
    (port,) = free_ports(1)
    async with stage(redis, redis_url, metrics_port=port) as door:
        await door.send("my-task", "hello")
        await door.client.get("/v1/tasks/of-anna", headers={"A2A-Version": "1.0"})
        public = await door.client.get("/metrics")
        shown = await _shown(f"http://127.0.0.1:{port}/metrics")

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
    (port,) = free_ports(1)
    async with stage(redis, redis_url, metrics_port=port) as door:
        await door.client.get("/default/tasks/none", headers={"A2A-Version": "1.0"})
        await door.client.get("/console/")
        shown = await _shown(f"http://127.0.0.1:{port}/metrics")

    routes = {labels[-1] for name, *labels in shown if name == "purple_http_requests_total"}
    assert any("{" in route for route in routes)
    assert not any("default" in route for route in routes)
    assert any(route.startswith("/console") for route in routes)


@pytest.mark.promise("metrics.requests")
async def test_a_client_that_leaves_before_its_request_is_whole_is_no_fault_of_ours(
    redis: Redis, redis_url: str
) -> None:
    """Else anybody outside could raise the alert of errors by hanging up."""
    (port,) = free_ports(1)
    async with stage(redis, redis_url, metrics_port=port) as door:
        url = door.client.base_url
        _, line = await asyncio.open_connection(url.host, url.port)
        line.write(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{")
        await line.drain()
        line.close()
        async with asyncio.timeout(10):
            while not (codes := _codes(await _shown(f"http://127.0.0.1:{port}/metrics"))):
                await asyncio.sleep(0.02)

    assert codes == {"499"}


def _codes(shown: dict[tuple[str, ...], float]) -> set[str]:
    return {labels[0] for name, *labels in shown if name == "purple_http_requests_total"}


@pytest.mark.promise("metrics.shown")
async def test_what_a_learner_has_done_is_counted_once_however_often_it_is_looked_at(redis: Redis) -> None:
    learner, metrics = Learner(RedisOutcomes(redis, "one", 5.0), RedisMemory(redis)), Metrics("learner")
    await leave(redis, [an_outcome(number) for number in range(3)])
    gauges = LearnerGauges(learner, _memory_status)
    await learner.share()
    while await learner.round():
        await gauges.read(metrics)
    await gauges.read(metrics)

    assert samples(metrics.registry, "purple_outcomes_applied_total") == {("learned",): 3}
    assert samples(metrics.registry, "purple_learner_partitions") == {(): 64}
    assert samples(metrics.registry, "purple_memory_total") == {("facts_found",): 4}


def _memory_status() -> dict[str, JsonValue]:
    return {"facts": {"found": 4}, "forgotten": 0}
