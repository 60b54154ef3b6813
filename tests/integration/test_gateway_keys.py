"""API keys, bearer tokens and web pages: who is let in, as whom, until when; and a brake on who guesses."""

import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from redis.asyncio import Redis

from services.gateway.bootstrap import build_app
from services.gateway.features.identity.api_keys import KeyRequest, OperatorExists, make_api_key
from services.gateway.features.identity.store import Keyring
from services.gateway.first_key import create_first_key
from services.gateway.settings import GatewaySettings
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import Role
from tests.doubles.token_issuer import AUDIENCE, TokenIssuer, made_key, signed
from tests.http_client import rpc_body
from tests.integration.gateway_stage import LOCKED, Locked, Stage, at, gateway_client, stage
from tests.serving import listening, serving_on

NOBODY = "the API key is unknown, expired or revoked"


def _send(task_id: str, text: str = "hello", **metadata: Json) -> dict[str, object]:
    return rpc_body("tasks/send", {"id": task_id, "message": {"parts": [{"text": text}]}, "metadata": metadata})


@pytest.mark.promise("gateway.keys")
async def test_without_a_key_only_the_card_and_the_probes_are_answered(locked: Locked) -> None:
    tried = {
        path: await locked.play.client.get(path) for path in ("/health", "/.well-known/agent-card.json", "/tasks/t1")
    }
    sent = await locked.play.client.post("/", json=_send("t1"))
    status = {path: await locked.play.client.get(path) for path in ("/rl/status", "/docs", "/openapi.json")}
    assert [tried[path].status_code for path in tried] == [200, 200, 401]
    assert (sent.status_code, sent.headers["WWW-Authenticate"].split()[0]) == (401, "Bearer")
    assert {response.status_code for response in status.values()} == {401}
    assert locked.play.worker.works == []


@pytest.mark.promise("gateway.keys")
async def test_a_key_says_who_speaks_for_which_tenant(locked: Locked) -> None:
    """And nobody can claim to be somebody else beside it."""
    token = await locked.key("casey")
    _, reply = await locked.post("/", _send("t1"), token)
    _, claimed = await locked.post("/", _send("t2", principal={"id": "dana", "roles": ["approver"]}), token)
    header = await locked.play.client.get("/tasks/t1", headers={"X-API-Key": token})
    record = locked.play.worker.works[0].record
    assert at(reply, "result.status.state") == "completed"
    assert (record.tenant, record.requester.id, record.requester.verified) == ("acme", "casey", True)
    assert "metadata.principal.id" in str(at(claimed, "error.message"))
    assert (header.status_code, len(locked.play.worker.works)) == (200, 1)


@pytest.mark.promise("solver.endpoint")
async def test_two_clients_of_a_tenant_may_ask_the_solver_the_same_question(locked: Locked) -> None:
    """Also under the same id, as benchmarks number their questions; each has a session of its own."""
    body: JsonObject = {"task_id": "q1", "task": "Paris, Berlin"}
    keys = [await locked.key(name) for name in ("casey", "dana")]
    answers = [await locked.post("/api/a2a/purple-agent", body, key) for key in keys]
    sessions = {work.record.session_id for work in locked.play.worker.works}
    assert ([status for status, _ in answers], len(sessions)) == ([200, 200], 2)


async def test_a_message_to_a_task_whose_turn_is_unreadable_is_told_that_it_ended(locked: Locked, redis: Redis) -> None:
    """Its record, which nobody could read either, still says that it is open."""
    casey = await locked.key("casey")
    await locked.post("/", _send("t1", "gate it"), casey)
    (record,) = [key async for key in redis.scan_iter("*:t:acme:*:record")]
    buried = {"state": "failed", "ended": "1", "outcome": "x", "buried": "y"}
    await redis.hset(record, mapping=buried)  # type: ignore[misc]  # redis-py
    _, again = await locked.post("/", _send("t1", "go on"), casey)
    assert "has ended (failed)" in str(at(again, "error.message"))


@pytest.mark.promise("solver.endpoint")
async def test_the_solver_refuses_who_is_no_client_with_403(locked: Locked) -> None:
    approver = await locked.key("dana", roles=["approver"], levels=["manager"])
    status, refused = await locked.post("/api/a2a/purple-agent", {"task_id": "q1", "task": "Paris"}, approver)
    assert (status, refused) == (403, {"error": "you do not have the role client, and may not send tasks"})


async def test_all_keys_of_a_tenant_are_read_at_once(redis: Redis) -> None:
    keyring = Keyring(redis)
    for number in range(30):
        await keyring.add_key(make_api_key(KeyRequest(f"c{number}"), "acme", "olga").key)
    before = (await redis.info("stats"))["total_reads_processed"]
    found = await keyring.list_keys("acme")
    reads = (await redis.info("stats"))["total_reads_processed"] - before
    assert {key.principal_id for key in found} == {f"c{number}" for number in range(30)}
    assert reads < 10


@pytest.mark.promise("gateway.keys")
async def test_a_key_that_is_wrong_expired_or_revoked_lets_nobody_in(locked: Locked, redis: Redis) -> None:
    """The answer does not tell which it was. A revocation holds from the next request on."""
    expired = make_api_key(KeyRequest("casey", days=1), "acme", "olga", datetime.now(UTC) - timedelta(days=2))
    await Keyring(redis).add_key(expired.key)
    token = await locked.key("casey")
    before, _ = await locked.post("/", _send("t1"), token)
    await locked.post(f"/keys/{token.split('_')[1]}/revoke", {})
    tokens = (token, expired.token, f"{token[:-1]}!", "pa_nothing_at-all", "sk-else")
    refused = [await locked.post("/", _send("t1"), one) for one in tokens]
    assert before == 200
    assert {status for status, _ in refused} == {401}
    assert {str(body["error"]) for _, body in refused} == {NOBODY}


@pytest.mark.promise("gateway.keys")
async def test_roles_are_what_a_key_may_do(locked: Locked) -> None:
    """An approver decides another's task, sends none and makes no keys."""
    clerk = await locked.key("casey")
    approver = await locked.key("dana", roles=["approver"], levels=["manager"])
    await locked.post("/", _send("t1", "ask for approval"), clerk)
    _, own = await locked.post("/", _send("t9"), approver)
    forbidden, _ = await locked.post("/keys/create", {"key": {"principal": "eve"}}, approver)
    _, decided = await locked.post("/", _send("t1", "approve"), approver)
    assert "role client" in str(at(own, "error.message"))
    assert forbidden == 403
    assert at(decided, "result.artifacts.0.parts.0.text") == "approved by dana"
    assert locked.play.worker.works[-1].turn.principal.levels == ("manager",)


@pytest.mark.promise("gateway.keys")
async def test_a_secret_is_shown_once_and_kept_nowhere(locked: Locked, redis: Redis) -> None:
    token = await locked.key("casey", label="the ledger's robot", days=30)
    _, listed = await locked.post("/keys/list", {})
    kept = [await cast("Awaitable[dict[str, str]]", redis.hgetall(name)) for name in await redis.keys("pa:key:*")]
    assert token.split("_", 2)[2] not in str(listed)
    assert at(listed, "keys.0.label") == "the ledger's robot"
    assert len(kept) == 2
    assert all(token.split("_", 2)[2] not in str(row) for row in kept)


async def test_a_wrong_wish_names_its_field(locked: Locked) -> None:
    wishes: list[tuple[JsonObject, str]] = [
        ({"principal": ""}, "key.principal"),
        ({"principal": "casey", "roles": ["king"]}, "key.roles"),
        ({"principal": "casey", "levels": ["king"]}, "key.levels"),
        ({"principal": "casey", "levels": ["manager"]}, "key.levels"),
        ({"principal": "casey", "roles": ["client"], "levels": ["manager"]}, "key.levels"),
        ({"principal": "casey", "days": 0}, "key.days"),
        ({"principal": "casey", "label": "x" * 201}, "key.label"),
        ({"principal": "casey", "day": 7}, "key.day: nobody reads this field"),
    ]
    for wish, field in wishes:
        status, body = await locked.post("/keys/create", {"key": wish})
        assert (status, str(body["error"]).startswith(field)) == (400, True), wish


@pytest.mark.promise("gateway.keys")
async def test_the_first_key_is_made_once(redis: Redis, redis_url: str) -> None:
    """Whoever can reach Redis makes it; a second one has to be asked for by name."""
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    with pytest.raises(OperatorExists, match="olga"):
        await create_first_key(redis_url, "acme", "mallory", allows_another=False)
    again = await create_first_key(redis_url, "acme", "omar", allows_another=True)
    assert Role.OPERATOR in made.key.roles
    assert made.token != again.token


async def test_a_store_that_is_away_lets_nobody_in_and_says_so() -> None:
    """Fails closed: 503, which a client may try again."""
    async with gateway_client("redis://127.0.0.1:1", **LOCKED) as client:
        response = await client.post("/", json=_send("t1"), headers={"X-API-Key": "pa_abc_def"})
    assert (response.status_code, "Retry-After" in response.headers) == (503, True)


@pytest.mark.promise("identity.brake")
async def test_guesses_from_an_address_are_braked_and_good_keys_from_it_are_not(redis: Redis, redis_url: str) -> None:
    """A proxy that is trusted says the address; what its clients write of themselves does not count."""
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    settings = {**LOCKED, "failures_a_minute": 3, "trusted_proxies": "127.0.0.0/8"}

    async def tried(key: str, source: str) -> int:
        headers = {"X-API-Key": key, "X-Forwarded-For": f"203.0.113.250, {source}"}
        return (await play.client.get("/tasks/t1", headers=headers)).status_code

    async with stage(redis, redis_url, **settings) as play:
        good = await tried(made.token, "198.51.100.7")
        guesses = [await tried(f"pa_guess_{number}", "198.51.100.7") for number in range(5)]
        neighbour = await tried(made.token, "198.51.100.7")
        elsewhere = await tried("pa_guess_9", "198.51.100.8")
        nothing = [
            (await play.client.get("/tasks/t1", headers={"X-Forwarded-For": source})).status_code
            for source in ("198.51.100.7", *["198.51.100.9"] * 5)
        ]
        braked = await play.client.get(
            "/tasks/t1", headers={"X-API-Key": "pa_guess_1", "X-Forwarded-For": "198.51.100.7"}
        )
    async with stage(redis, redis_url, **{**settings, "trusted_proxies": ""}) as play:
        unnamed = [await tried(f"pa_guess_{number}", "198.51.100.7") for number in range(5)]
    assert set(unnamed) == {401}  # all clients of that proxy have its address: one guesser would shut out the others
    assert (good, guesses, neighbour, elsewhere) == (404, [401, 401, 401, 429, 429], 404, 401)
    assert set(nothing) == {401}  # who presents nothing guesses nothing
    assert (braked.status_code, 1 <= int(braked.headers["Retry-After"]) <= 60) == (429, True)


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


async def _send_with(play: Stage, task_id: str, token: str) -> JsonObject:
    response = await play.client.post("/", json=_send(task_id), headers={"Authorization": f"Bearer {token}"})
    return loads_object(response.text)


@pytest.mark.promise("identity.tokens")
async def test_a_token_says_who_speaks_for_which_tenant(redis: Redis, redis_url: str) -> None:
    """With each kind of key that issuers use, found by the issuer's discovery document."""
    async with trusting(redis, redis_url) as (play, issuer):
        for kid in GOOD:
            reply = await _send_with(play, f"t-{kid}", issuer.token(kid, sub=f"casey-{kid}", tenant="acme"))
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
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    other = await create_first_key(redis_url, "globex", "gina", allows_another=False)
    async with trusting(redis, redis_url, "keys, jwt") as (play, issuer):
        await _send_with(play, "t1", issuer.token("ec"))
        by_key = await _read(play, made.token)
        by_header = await play.client.get("/tasks/t1", headers={"X-API-Key": made.token})
        beside = {"X-API-Key": made.token, "Authorization": "Basic cHJveHk6eA=="}  # a proxy's own, in front of us
        by_both = await play.client.get("/tasks/t1", headers=beside)
        stranger = await _read(play, other.token)
        neither = await _read(play, "sk-else")
        nothing = await play.client.get("/tasks/t1")
    answers = [one.status_code for one in (by_key, by_header, by_both, stranger, neither, nothing)]
    assert answers == [200, 200, 200, 404, 401, 401]
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


EVIL = "https://evil.example"
ANSWER = '{"decision": "approve", "metadata": {"principal": {"id": "mallory", "roles": ["approver"]}}}'
OPEN = {"redis_url": "redis://127.0.0.1:1", "profile": "embedded", "purple_agent_card_url": "http://127.0.0.1:9010/"}
KEYED = {"redis_url": "redis://127.0.0.1:1", "profile": "production", "authentication": "keys"}


def _asking(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:9010")


def _app(settings: dict[str, str]) -> FastAPI:
    return build_app(GatewaySettings.model_validate(settings))


@pytest.mark.promise("identity.own_pages")
@pytest.mark.parametrize("path", ["/approvals/a1", "/", "/message:send", "/console/sign-in", "/tenants/default/stop"])
async def test_what_a_page_of_another_site_sends_is_refused_unread(path: str) -> None:
    """As a browser sends it without asking first: a plain text, or a form."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.post(path, content=ANSWER, headers={"Origin": EVIL, "Content-Type": "text/plain"})
    assert reply.status_code == 403
    assert EVIL in str(loads_object(reply.text)["error"])


@pytest.mark.promise("identity.own_pages")
@pytest.mark.parametrize("headers", [{}, {"Origin": "http://127.0.0.1:9010"}])
async def test_programs_and_own_pages_are_heard(headers: dict[str, str]) -> None:
    """They get as far as the store, which is away here."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.post("/approvals/a1", content=ANSWER, headers=headers)
    assert reply.status_code == 503


@pytest.mark.promise("identity.own_pages")
@pytest.mark.parametrize("path", ["/console/", "/approvals", "/tasks/t1", "/.well-known/agent-card.json", "/rl/status"])
async def test_what_a_page_reads_under_a_name_that_its_owner_leads_here_is_refused(path: str) -> None:
    """A page of evil.example, whose name then leads to this machine, reads it as its own: no ``Origin`` is sent."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.get(path, headers={"Host": "evil.example:9010"})
    assert reply.status_code == 403
    assert "PURPLE_AGENT_CARD_URL" in str(loads_object(reply.text)["error"])


@pytest.mark.promise("identity.own_pages")
@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_probes_are_answered_by_whatever_name_they_ask(path: str) -> None:
    async with _asking(_app(OPEN)) as client:
        reply = await client.get(path, headers={"Host": "10.1.2.3.pods.example:9010"})
    assert reply.status_code != 403


@pytest.mark.promise("identity.own_pages")
async def test_where_keys_are_asked_for_any_name_may_be_asked_and_a_page_that_has_none_is_told_so() -> None:
    """What can be read needs the key, which no page of another site has."""
    async with _asking(_app(KEYED)) as client:
        card = await client.get("/.well-known/agent-card.json", headers={"Host": "evil.example"})
        answer = await client.post("/approvals/a1", content=ANSWER, headers={"Origin": EVIL})
    assert (card.status_code, answer.status_code) == (200, 401)
