"""Bearer tokens: who is let in by what an issuer signed, as whom, and for how long."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from redis.asyncio import Redis

from services.gateway.first_key import first_key
from shared.domain.exact_json import JsonObject, loads_object
from tests.doubles.token_issuer import AUDIENCE, TokenIssuer, made_key, signed
from tests.integration.gateway_stage import Stage, at, stage
from tests.serving import listening, serving_on

GOOD = ("rsa", "ec", "ed")


@asynccontextmanager
async def issuing() -> AsyncIterator[TokenIssuer]:
    with listening() as (listener, url):
        issuer = TokenIssuer(url)
        issuer.add("rsa", "RS256")
        issuer.add("ec", "ES256")
        issuer.add("ed", "EdDSA")
        async with serving_on(listener, issuer.app()):
            yield issuer


@asynccontextmanager
async def trusting(
    redis: Redis, redis_url: str, authentication: str = "jwt", **settings: object
) -> AsyncIterator[tuple[Stage, TokenIssuer]]:
    """A gateway that believes an issuer, which it finds by discovery."""
    async with issuing() as issuer:
        believed = {"authentication": authentication, "jwt_issuer": issuer.url, "jwt_audience": AUDIENCE}
        production = {"profile": "production", "allow_volatile_redis": True}
        async with stage(redis, redis_url, **{**production, **believed, **settings}) as play:
            yield play, issuer


async def _read(play: Stage, token: str, path: str = "/tasks/t1") -> httpx.Response:
    return await play.client.get(path, headers={"Authorization": f"Bearer {token}"})


async def _send(play: Stage, task_id: str, token: str) -> JsonObject:
    params = {"id": task_id, "message": {"parts": [{"text": "hello"}]}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params}
    response = await play.client.post("/", json=body, headers={"Authorization": f"Bearer {token}"})
    return loads_object(response.text)


@pytest.mark.promise("identity.tokens")
async def test_a_token_says_who_speaks_for_which_tenant(redis: Redis, redis_url: str) -> None:
    """With each kind of key that issuers use, found by the issuer's discovery document."""
    async with trusting(redis, redis_url) as (play, issuer):
        for kid in GOOD:
            reply = await _send(play, f"t-{kid}", issuer.token(kid, sub=f"casey-{kid}", tenant="acme"))
            assert at(reply, "result.status.state") == "completed"
        nobody = await play.client.get("/tasks/t-rsa")
        asked = issuer.asked
    records = [work.record for work in play.worker.works]
    assert {(one.tenant, one.requester.id, one.requester.verified) for one in records} == {
        ("acme", f"casey-{kid}", True) for kid in GOOD
    }
    assert (nobody.status_code, nobody.headers["WWW-Authenticate"].split()[0], asked) == (401, "Bearer", 1)


@pytest.mark.promise("identity.tokens")
async def test_tokens_and_keys_open_the_same_door(redis: Redis, redis_url: str) -> None:
    """What is presented tells which it is; the walls between tenants are the same."""
    made = await first_key(redis_url, "acme", "olga", again=False)
    other = await first_key(redis_url, "globex", "gina", again=False)
    async with trusting(redis, redis_url, "keys, jwt") as (play, issuer):
        await _send(play, "t1", issuer.token("ec"))
        by_key = await _read(play, made.token)
        by_header = await play.client.get("/tasks/t1", headers={"X-API-Key": made.token})
        stranger = await _read(play, other.token)
        neither = await _read(play, "sk-else")
        nothing = await play.client.get("/tasks/t1")
    answers = [one.status_code for one in (by_key, by_header, stranger, neither, nothing)]
    assert answers == [200, 200, 404, 401, 401]
    assert "key or a token" in nothing.json()["error"]
    assert "error" not in nothing.headers["WWW-Authenticate"]
    assert 'error="invalid_token"' in neither.headers["WWW-Authenticate"]


@pytest.mark.promise("identity.tokens")
async def test_the_card_says_how_a_token_is_had(redis: Redis, redis_url: str) -> None:
    """And the rate of requests is told to who comes with one."""
    async with trusting(redis, redis_url, "keys,jwt", rate_requests=9, rate_messages=0) as (play, issuer):
        card = await play.client.get("/.well-known/agent-card.json", headers={"A2A-Version": "1.0"})
        answer = await _read(play, issuer.token("ec"))
    schemes = loads_object(card.text)["securitySchemes"]
    discovery = f"{issuer.url}/.well-known/openid-configuration"
    assert at(schemes, "openId.openIdConnectSecurityScheme.openIdConnectUrl") == discovery
    assert "JSON Web Token" in str(at(schemes, "bearer.httpAuthSecurityScheme.description"))
    assert (answer.headers["RateLimit-Policy"], answer.headers["RateLimit"].split(";")[1]) == (
        '"requests";q=9;w=60',
        "r=8",
    )


@pytest.mark.promise("identity.tokens")
async def test_a_new_key_of_the_issuer_counts_at_once_and_a_withdrawn_one_no_more(redis: Redis, redis_url: str) -> None:
    async with trusting(redis, redis_url, jwt_keys_again=0.001) as (play, issuer):
        old = issuer.token("rsa")
        assert (await _read(play, old)).status_code == 404  # let in: there is no such task
        del issuer.keys["rsa"]
        issuer.add("fresh", "RS256")
        fresh = await _read(play, issuer.token("fresh"))
        withdrawn = await _read(play, old)
    assert (fresh.status_code, withdrawn.status_code) == (404, 401)


@pytest.mark.promise("identity.issuer_away")
async def test_with_the_issuer_away_known_keys_count_and_unknown_ones_wait(redis: Redis, redis_url: str) -> None:
    """Fails closed with 503, which a client may try again, and never asks more often than it should."""
    async with trusting(redis, redis_url) as (play, issuer):
        before = await _read(play, issuer.token("ec"))
        issuer.away = True
        issuer.add("fresh", "ES256")
        known = await _read(play, issuer.token("ec"))
        unknown = [await _read(play, issuer.token("fresh")) for _ in range(3)]
    assert (before.status_code, known.status_code) == (404, 404)
    assert {one.status_code for one in unknown} <= {401, 503}
    assert issuer.asked <= 2


@pytest.mark.promise("identity.issuer_away")
async def test_an_issuer_that_never_answered_lets_nobody_in(redis: Redis, redis_url: str) -> None:
    nowhere = {"jwt_jwks_url": "http://127.0.0.1:1/jwks"}
    async with trusting(redis, redis_url, **nowhere) as (play, issuer):
        refused = await _read(play, issuer.token("ec"))
        card = await play.client.get("/.well-known/agent-card.json")
    assert (refused.status_code, "Retry-After" in refused.headers, card.status_code) == (503, True, 200)
    assert "issuer's keys" in refused.json()["error"]


@pytest.mark.promise("identity.claims")
async def test_roles_of_a_token_are_what_its_bearer_may_do(redis: Redis, redis_url: str) -> None:
    """Under the names of claims that the operator stated."""
    names = {"jwt_roles_claim": "realm_access.roles", "jwt_roles_prefix": "purple-", "jwt_tenant": "acme"}
    async with trusting(redis, redis_url, **names) as (play, issuer):
        operator = issuer.token("ec", tenant=None, realm_access={"roles": ["purple-operator", "offline_access"]})
        approver = issuer.token("ec", tenant=None, realm_access={"roles": ["purple-approver"]}, levels="manager")
        nobody = await _read(play, issuer.token("ec", tenant=None, realm_access={"roles": ["operator"]}))
        headers = {"Authorization": f"Bearer {operator}"}
        listed = await play.client.post("/keys/list", json={}, headers=headers)
        forbidden = await play.client.post("/keys/list", json={}, headers={"Authorization": f"Bearer {approver}"})
    assert (nobody.status_code, listed.status_code, forbidden.status_code) == (403, 200, 403)
    assert "purple-operator" in nobody.json()["error"]


@pytest.mark.promise("identity.tokens")
async def test_what_is_wrong_with_a_token_is_said(redis: Redis, redis_url: str) -> None:
    now = int(time.time())
    async with trusting(redis, redis_url) as (play, issuer):
        other = made_key("ES256", "another issuer's")
        tried = {
            "has expired": issuer.token("ec", exp=now - 60),
            "not valid yet": issuer.token("ec", nbf=now + 120),
            "another audience": issuer.token("ec", aud="shop"),
            "another issuer": issuer.token("ec", iss="https://else.example"),
            "no claim 'exp'": issuer.token("ec", exp=None),
            "no claim 'aud'": issuer.token("ec", aud=None),
            "signature is wrong": signed(issuer.claims(), other, "ES256", "ec"),
            "does not publish": signed(issuer.claims(), other, "ES256", "unheard-of"),
            "cannot be read": "e30.e30",
        }
        answers = {said: await _read(play, token) for said, token in tried.items()}
    assert {said: answer.status_code for said, answer in answers.items()} == dict.fromkeys(tried, 401)
    assert [said for said, answer in answers.items() if said not in answer.json()["error"]] == []
