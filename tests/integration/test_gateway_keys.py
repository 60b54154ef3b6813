"""API keys: who is let in, as whom, and until when."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from redis.asyncio import Redis

from services.gateway.features.identity.api_keys import Fresh, HasOperator, KeyRequest, make
from services.gateway.features.identity.store import RedisKeyring
from services.gateway.first_key import first_key
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import Role
from tests.http_client import open_http
from tests.integration.gateway_stage import Stage, at, gateway, stage

LOCKED = {"authentication": "keys", "profile": "production", "allow_volatile_redis": True}
NOBODY = "the API key is unknown, expired or revoked"


@asynccontextmanager
async def locked(redis: Redis, redis_url: str) -> AsyncIterator[tuple[Stage, str]]:
    """A gateway that asks for keys, and the token of its first operator."""
    made = await first_key(redis_url, "acme", "olga", again=False)
    async with stage(redis, redis_url, **LOCKED) as play:
        yield play, made.token


async def _post(play: Stage, path: str, body: JsonObject, token: str) -> tuple[int, JsonObject]:
    response = await play.client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
    return response.status_code, loads_object(response.text)


async def _key(play: Stage, operator: str, principal: str, **wish: Json) -> str:
    status, made = await _post(play, "/keys/create", {"key": {"principal": principal, **wish}}, operator)
    assert status == 201, made
    return str(made["token"])


def _send(task_id: str, text: str = "hello", **metadata: Json) -> JsonObject:
    params: JsonObject = {"id": task_id, "message": {"parts": [{"text": text}]}, "metadata": metadata}
    return {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params}


@pytest.mark.promise("gateway.keys")
async def test_without_a_key_only_the_card_and_the_probes_are_answered(redis: Redis, redis_url: str) -> None:
    async with locked(redis, redis_url) as (play, _):
        tried = {path: await play.client.get(path) for path in ("/health", "/.well-known/agent-card.json", "/tasks/t1")}
        sent = await play.client.post("/", json=_send("t1"))
        status = {path: await play.client.get(path) for path in ("/rl/status", "/docs", "/openapi.json")}
    assert [tried[path].status_code for path in tried] == [200, 200, 401]
    assert (sent.status_code, sent.headers["WWW-Authenticate"].split()[0]) == (401, "Bearer")
    assert {response.status_code for response in status.values()} == {401}
    assert play.worker.works == []


@pytest.mark.promise("gateway.keys")
async def test_a_key_says_who_speaks_for_which_tenant(redis: Redis, redis_url: str) -> None:
    """And nobody can claim to be somebody else beside it."""
    async with locked(redis, redis_url) as (play, operator):
        token = await _key(play, operator, "casey")
        _, reply = await _post(play, "/", _send("t1"), token)
        _, claimed = await _post(play, "/", _send("t2", principal={"id": "dana", "roles": ["approver"]}), token)
        header = await play.client.get("/tasks/t1", headers={"X-API-Key": token})
    record = play.worker.works[0].record
    assert at(reply, "result.status.state") == "completed"
    assert (record.tenant, record.requester.id, record.requester.verified) == ("acme", "casey", True)
    assert "metadata.principal.id" in str(at(claimed, "error.message"))
    assert (header.status_code, len(play.worker.works)) == (200, 1)


@pytest.mark.promise("solver.endpoint")
async def test_two_clients_of_a_tenant_may_ask_the_solver_the_same_question(redis: Redis, redis_url: str) -> None:
    """Also under the same id, as benchmarks number their questions; each has a session of its own."""
    async with locked(redis, redis_url) as (play, operator):
        body: JsonObject = {"task_id": "q1", "task": "Paris, Berlin"}
        keys = [await _key(play, operator, name) for name in ("casey", "dana")]
        answers = [await _post(play, "/api/a2a/purple-agent", body, key) for key in keys]
        sessions = {work.record.session_id for work in play.worker.works}
    assert ([status for status, _ in answers], len(sessions)) == ([200, 200], 2)


async def test_a_message_to_a_task_whose_turn_could_not_be_read_is_told_that_it_has_ended(
    redis: Redis, redis_url: str
) -> None:
    """Its record, which nobody could read either, still says that it is open."""
    async with locked(redis, redis_url) as (play, operator):
        casey = await _key(play, operator, "casey")
        await _post(play, "/", _send("t1", "gate it"), casey)
        (record,) = [key async for key in redis.scan_iter("*:t:acme:*:record")]
        buried = {"state": "failed", "ended": "1", "outcome": "x", "buried": "y"}
        await redis.hset(record, mapping=buried)  # type: ignore[misc]  # redis-py
        _, again = await _post(play, "/", _send("t1", "go on"), casey)
    assert "has ended (failed)" in str(at(again, "error.message"))


@pytest.mark.promise("gateway.keys")
async def test_a_key_that_is_wrong_expired_or_revoked_lets_nobody_in(redis: Redis, redis_url: str) -> None:
    """The answer does not tell which it was. A revocation holds from the next request on."""
    long_ago = Fresh(datetime.now(UTC) - timedelta(days=2), "abcdef012345", "s" * 43)
    expired = make(KeyRequest("casey", days=1), "acme", "olga", long_ago)
    async with locked(redis, redis_url) as (play, operator):
        await RedisKeyring(redis).add(expired.key)
        token = await _key(play, operator, "casey")
        before, _ = await _post(play, "/", _send("t1"), token)
        await _post(play, f"/keys/{token.split('_')[1]}/revoke", {}, operator)
        tokens = (token, expired.token, f"{token[:-1]}!", "pa_nothing_at-all", "sk-else")
        refused = [await _post(play, "/", _send("t1"), one) for one in tokens]
    assert before == 200
    assert {status for status, _ in refused} == {401}
    assert {str(body["error"]) for _, body in refused} == {NOBODY}


@pytest.mark.promise("gateway.keys")
async def test_roles_are_what_a_key_may_do(redis: Redis, redis_url: str) -> None:
    """An approver decides another's task, sends none and makes no keys."""
    async with locked(redis, redis_url) as (play, operator):
        clerk = await _key(play, operator, "casey")
        approver = await _key(play, operator, "dana", roles=["approver"], levels=["manager"])
        await _post(play, "/", _send("t1", "ask for approval"), clerk)
        _, own = await _post(play, "/", _send("t9"), approver)
        forbidden, _ = await _post(play, "/keys/create", {"key": {"principal": "eve"}}, approver)
        _, decided = await _post(play, "/", _send("t1", "approve"), approver)
    assert "role client" in str(at(own, "error.message"))
    assert forbidden == 403
    assert at(decided, "result.artifacts.0.parts.0.text") == "approved by dana"
    assert play.worker.works[-1].turn.principal.levels == ("manager",)


async def test_a_client_is_told_that_it_may_not_see_what_fails_for_the_tenant(redis: Redis, redis_url: str) -> None:
    """No empty list: its own webhook may be among what fails."""
    async with locked(redis, redis_url) as (play, operator):
        clerk = await _key(play, operator, "casey")
        refused = await play.client.get("/webhooks", headers={"X-API-Key": clerk})
    assert (refused.status_code, "neither the role operator nor approver" in refused.text) == (403, True)


@pytest.mark.promise("gateway.keys")
async def test_a_secret_is_shown_once_and_kept_nowhere(redis: Redis, redis_url: str) -> None:
    async with locked(redis, redis_url) as (play, operator):
        token = await _key(play, operator, "casey", label="the ledger's robot", days=30)
        _, listed = await _post(play, "/keys/list", {}, operator)
    kept = [await cast("Awaitable[dict[str, str]]", redis.hgetall(name)) for name in await redis.keys("pa:key:*")]
    assert token.split("_", 2)[2] not in str(listed)
    assert at(listed, "keys.0.label") == "the ledger's robot"
    assert len(kept) == 2
    assert all(token.split("_", 2)[2] not in str(row) for row in kept)


async def test_a_wrong_wish_names_its_field(redis: Redis, redis_url: str) -> None:
    wishes: list[tuple[JsonObject, str]] = [
        ({"principal": ""}, "key.principal"),
        ({"principal": "casey", "roles": ["king"]}, "key.roles"),
        ({"principal": "casey", "levels": ["king"]}, "key.levels"),
        ({"principal": "casey", "levels": ["manager"]}, "key.levels"),
        ({"principal": "casey", "roles": ["client"], "levels": ["manager"]}, "key.levels"),
        ({"principal": "casey", "days": 0}, "key.days"),
        ({"principal": "casey", "label": "x" * 201}, "key.label"),
    ]
    async with locked(redis, redis_url) as (play, operator):
        for wish, field in wishes:
            status, body = await _post(play, "/keys/create", {"key": wish}, operator)
            assert (status, str(body["error"]).startswith(field)) == (400, True), wish


@pytest.mark.promise("gateway.keys")
async def test_the_first_key_is_made_once(redis: Redis, redis_url: str) -> None:
    """Whoever can reach Redis makes it; a second one has to be asked for by name."""
    made = await first_key(redis_url, "acme", "olga", again=False)
    with pytest.raises(HasOperator, match="olga"):
        await first_key(redis_url, "acme", "mallory", again=False)
    again = await first_key(redis_url, "acme", "omar", again=True)
    assert Role.OPERATOR in made.key.roles
    assert made.token != again.token


async def test_a_store_that_is_away_lets_nobody_in_and_says_so() -> None:
    """Fails closed: 503, which a client may try again."""
    async with (
        gateway("redis://127.0.0.1:1", **LOCKED) as url,
        open_http(base_url=url, trust_env=False) as client,
    ):
        response = await client.post("/", json=_send("t1"), headers={"X-API-Key": "pa_abc_def"})
    assert (response.status_code, "Retry-After" in response.headers) == (503, True)
