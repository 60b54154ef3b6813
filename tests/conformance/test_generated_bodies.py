"""Generated calls of every method over both bindings: no fault, no hang, every refusal in the protocol's form."""

import asyncio
import json
from random import Random

import httpx
import pytest
from redis.asyncio import Redis

from services.gateway.a2a.rest import list_rest_paths
from shared.domain.exact_json import JsonObject, loads_object
from tests.integration.gateway_stage import list_at, object_at, stage
from tests.integration.rough_bodies import rough_call, spoiled
from tests.integration.test_gateway_rough_bodies import first_event

_PATIENCE = 20.0
_REST = (
    ("POST", "/message:send"), ("POST", "/message:stream"), ("GET", "/tasks"), ("POST", "/tasks/{id}:cancel"),
    ("GET", "/tasks/{id}:subscribe"), ("POST", "/tasks/{id}:subscribe"), ("GET", "/tasks/{id}"),
    ("POST", "/tasks/{id}/pushNotificationConfigs"), ("GET", "/tasks/{id}/pushNotificationConfigs"),
    ("GET", "/tasks/{id}/pushNotificationConfigs/{id}"), ("DELETE", "/tasks/{id}/pushNotificationConfigs/{id}"),
)  # fmt: skip
_NAMED = [(verb, f"{root}{path}") for root in ("", "/v1") for verb, path in _REST]
_CARDS = [("GET", "/extendedAgentCard"), ("GET", "/v1/card")]
_COUNTS = [100, pytest.param(2_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]


def test_every_path_of_the_binding_is_among_the_generated() -> None:
    """``GET /tasks/{id}`` of 1.0 is a shared path, and stands elsewhere."""
    named = {(verb, path.replace("{id}", "{task_id}", 1).replace("{id}", "{config_id}")) for verb, path in _NAMED}
    known = {(path.verb, path.path) for path in list_rest_paths(_Nothing())}  # type: ignore[arg-type]  # only names are read
    assert known <= named | set(_CARDS)


class _Nothing:
    """Stands in for the methods, which nobody calls."""

    def __getattr__(self, name: str) -> object:
        return name


@pytest.mark.promise("gateway.generated_calls")
@pytest.mark.parametrize("count", _COUNTS)
async def test_generated_calls_of_every_path_are_answered_in_the_binding_s_form(
    count: int, redis: Redis, redis_url: str
) -> None:
    random = Random(21)  # noqa: S311 - the same calls in every run
    calls = [*_NAMED, *_CARDS]
    async with stage(redis, redis_url, blocking_limit=0.05) as play:
        for number in range(count):
            verb, path = calls[number % len(calls)]
            await _check_answer(play.client, verb, path, random)


async def _check_answer(client: httpx.AsyncClient, verb: str, path: str, random: Random) -> None:
    old = path.startswith("/v1")
    body: object = rough_call(random)["params"]
    for _ in range(random.randrange(4)):
        body = spoiled(body, random)
    url = path.replace("{id}", f"t{random.randrange(40)}")
    headers = {"Content-Type": "application/json", "A2A-Version": "0.3" if old else "1.0"}
    content = json.dumps(body).encode("utf-8", "surrogatepass") if verb == "POST" else None
    async with asyncio.timeout(_PATIENCE), client.stream(verb, url, content=content, headers=headers) as reply:
        assert reply.status_code < 500, (verb, url, body)
        if reply.headers["content-type"].startswith("text/event-stream"):
            assert await first_event(reply)
            return
        said = (await reply.aread()).decode()
    if reply.status_code >= 400:
        _check_refusal(loads_object(said), reply.status_code, old=old)


def _check_refusal(said: JsonObject, status: int, *, old: bool) -> None:
    """0.3 has a code and a message, 1.0 a ``google.rpc.Status`` with its reason."""
    if old:
        assert isinstance(said["code"], int)
        assert said["message"]
        return
    error = object_at(said, "error")
    assert error["code"] == status
    details = list_at(error, "details")
    assert any(isinstance(one, dict) and one.get("reason") for one in details)
