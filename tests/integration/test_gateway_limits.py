"""How much a caller may ask for and how large it may be: counted over all replicas, refused before a body is read."""

import asyncio
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, cast

import httpx
import pytest
from redis.asyncio import Redis
from redis.crc import key_slot
from typer.testing import CliRunner

from cli.keys import keys as keys_command
from services.gateway.features.identity.api_keys import CreatedKey, hash_secret, make_api_key, parse_key_request
from services.gateway.features.identity.model import Caller, LimitUse
from services.gateway.features.identity.settings import RateAllowance
from services.gateway.features.identity.store import Keyring, RateMeter
from shared.contracts.task import Principal
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra import keys
from shared.infra.archive_open import generate_encryption_key
from shared.infra.lua import Scripts, build_script
from tests.each_row import each_row
from tests.http_client import open_http, rpc_body
from tests.integration.gateway_stage import LOCKED, PATIENCE, Stage, at, gateway, gateway_client, stage

SMALL = {"max_parts": 3, "max_text_characters": 50, "max_metadata_characters": 60, "max_body_bytes": 4096}


class Way(NamedTuple):
    """One way to send a message: where to, with what headers, and what stands around the message."""

    path: str
    version: str
    method: str = ""

    def body(self, message: dict[str, object], metadata: dict[str, object]) -> dict[str, object]:
        params = {"message": message, "metadata": metadata}
        if not self.method:
            return {**params, "configuration": {"returnImmediately": True, "blocking": False}}
        if self.method == "tasks/send":
            return rpc_body(self.method, {"id": "t1", **params})
        return rpc_body(self.method, {**params, "configuration": {"returnImmediately": True, "blocking": False}})


WAYS = {
    "tasks/send": Way("/", "", "tasks/send"),
    "message/send": Way("/", "", "message/send"),
    "SendMessage": Way("/", "1.0", "SendMessage"),
    "REST 1.0": Way("/message:send", "1.0"),
    "REST 0.3": Way("/v1/message:send", "0.3"),
}
EACH_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


Parts = list[dict[str, object]]


def message(parts: Parts, **more: object) -> dict[str, object]:
    return {"messageId": "m1", "role": "ROLE_USER", "parts": parts, **more}


async def sent(client: httpx.AsyncClient, way: Way, body: dict[str, object]) -> httpx.Response:
    headers = {"A2A-Version": way.version} if way.version else {}
    return await client.post(way.path, json=body, headers=headers)


@pytest.mark.promise("gateway.limits")
@EACH_WAY
async def test_a_message_that_holds_too_much_is_refused_by_its_field(way: Way, redis: Redis, redis_server: str) -> None:
    """Too many parts, too much text, too much data, too much metadata; in every protocol, and nothing is stored."""
    short: Parts = [{"text": "a"}]
    cases: list[tuple[str, Parts, dict[str, object]]] = [
        ("message.parts", short * 4, {}),
        ("message.parts", [{"text": "a" * 51}], {}),
        ("message.parts", [{"data": {"a": "b" * 50}}], {}),
        ("metadata", short, {"note": "n" * 60}),
    ]
    async with gateway_client(redis_server, **SMALL) as client:
        for field, parts, extra in cases:
            reply = await sent(client, way, way.body(message(parts), extra))
            assert f"{field}: " in reply.text, reply.text
            assert reply.status_code < 500

    assert await redis.keys("pa:*}:*record*") == []


@pytest.mark.promise("gateway.limits")
async def test_a_question_that_brings_too_long_a_history_is_refused(redis: Redis, redis_server: str) -> None:
    question = {"task_id": "q1", "task": "Which?", "history": [{"role": "user", "content": "a" * 30}] * 2}
    async with gateway_client(redis_server, **SMALL) as client:
        reply = await client.post("/api/a2a/purple-agent", json=question)

    assert (reply.status_code, reply.json()["field"]) == (422, "task")
    assert await redis.keys("pa:*}:*record*") == []


@pytest.mark.promise("gateway.limits")
async def test_no_route_reads_a_body_over_the_limit(redis_server: str) -> None:
    """Each route that takes a POST, whoever reads it; a body is never taken in whole before it is refused."""
    large = b"[" + b" " * 5000
    async with gateway_client(redis_server, **SMALL) as client:
        described: dict[str, dict[str, object]] = (await client.get("/openapi.json")).json()["paths"]
        paths = {path for path, methods in described.items() if "post" in methods}
        statuses = {
            path: (await client.post(path, content=large, headers=_headers(path))).status_code for path in paths
        }

    assert len(paths) > 10
    assert {path: status for path, status in statuses.items() if status >= 500} == {}
    read = {path for path, status in statuses.items() if status == 413}
    assert {"/", "/message:send", "/v1/message:send", "/approvals/{approval_id}", "/api/a2a/purple-agent"} <= read


def _headers(path: str) -> dict[str, str]:
    return {"content-type": "application/json", "A2A-Version": "0.3" if path.startswith("/v1/") else "1.0"}


@pytest.mark.promise("gateway.sheds_load")
@EACH_WAY
async def test_while_too_much_waits_messages_are_refused_and_tasks_read(
    way: Way, redis: Redis, redis_server: str
) -> None:
    """No executor runs here, so all that is accepted waits."""
    async with gateway_client(redis_server, max_waiting_sessions=2) as client:
        one, two = (message([{"text": "hello"}], messageId=name, contextId=name) for name in ("m1", "m2"))
        simple = WAYS["REST 1.0"]
        first = (await sent(client, simple, simple.body(one, {}))).json()["task"]["id"]
        await sent(client, simple, simple.body(two, {}))
        async with asyncio.timeout(PATIENCE):
            refused = await sent(client, way, way.body(message([{"text": "more"}], messageId="m3"), {}))
        read = await client.get(f"/tasks/{first}", headers={"A2A-Version": "1.0"})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert "more work waits" in refused.text
    assert read.status_code == 200


@pytest.mark.promise("gateway.sheds_load")
async def test_a_session_takes_only_so_many_messages_that_wait_and_others_go_on(
    redis: Redis, redis_server: str
) -> None:
    way = WAYS["REST 1.0"]
    async with gateway_client(redis_server, max_waiting_messages=2) as client:
        crowd = [message([{"text": "more"}], messageId=f"m{number}", contextId="crowded") for number in range(3)]
        other = message([{"text": "hello"}], messageId="m9", contextId="other")
        replies = [await sent(client, way, way.body(one, {})) for one in (*crowd, crowd[0], other)]
    assert [reply.status_code for reply in replies] == [200, 200, 429, 200, 200]  # what was taken in is not refused
    assert replies[2].headers["retry-after"] == "5"
    assert "2 messages of this session wait" in replies[2].text


@pytest.mark.promise("gateway.sheds_load", "a2a.files")
async def test_of_a_message_that_is_refused_no_file_is_kept(redis: Redis, redis_server: str, tmp_path: Path) -> None:
    """Because too much waits, or for its task, which nobody knows."""
    way, told = WAYS["REST 1.0"], list[tuple[int, int]]()
    archive = {"archive_url": tmp_path.as_uri(), "archive_key": generate_encryption_key()}
    async with gateway_client(redis_server, max_waiting_sessions=1, **archive) as client:
        for content, more in (("first", {"taskId": "nobodys"}), ("second", {}), ("third", {})):
            file: Parts = [{"raw": b64encode(content.encode()).decode(), "filename": "hello.txt"}]
            reply = await sent(client, way, way.body(message(file, messageId=content, **more), {}))
            told.append((reply.status_code, sum(len(files) for *_, files in os.walk(tmp_path))))
    assert told == [(404, 0), (200, 1), (429, 1)]


NONE = RateAllowance()
SECRET = "s" * 43
DIGEST = hash_secret(SECRET)


async def _made(redis: Redis, **limits: int) -> CreatedKey:
    """A key with limits of its own."""
    wish = parse_key_request({"principal": "casey", "roles": ["client", "operator"], **limits})
    key = make_api_key(wish, "acme", "olga").key.model_copy(update={"secret_sha256": DIGEST})
    await Keyring(redis).add_key(key)
    return CreatedKey(key, f"pa_{key.key_id}_{SECRET}")


@asynccontextmanager
async def limited(redis: Redis, redis_url: str, **limits: int) -> AsyncIterator[tuple[Stage, dict[str, str]]]:
    """A gateway, and what a client with a key of its own limits sends along."""
    made = await _made(redis, **limits)
    async with stage(redis, redis_url, **LOCKED) as play:
        yield play, {"Authorization": f"Bearer {made.token}"}


def _sending(task_id: str) -> dict[str, object]:
    return rpc_body("tasks/send", {"id": task_id, "message": {"parts": [{"text": "hello"}]}}, call_id=7)


@pytest.mark.promise("limits.headers")
async def test_each_answer_says_what_is_left(redis: Redis, redis_url: str) -> None:
    """In the fields of the IETF's draft; a refusal also says when to come again."""
    async with limited(redis, redis_url, requests_a_minute=3, messages_a_minute=2) as (play, key):
        answers = [await play.client.get("/tasks/t1", headers=key) for _ in range(4)]
    assert [one.status_code for one in answers] == [404, 404, 404, 429]
    policies = {one.headers["RateLimit-Policy"] for one in answers}
    assert policies == {'"requests";q=3;w=60, "messages";q=2;w=60'}
    said = [re.findall(r'"(\w+)";r=(\d+);t=(\d+)', one.headers["RateLimit"]) for one in answers]
    assert [(row[0][1], row[1][1]) for row in said] == [("2", "2"), ("1", "2"), ("0", "2"), ("0", "2")]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 20
    assert "3 requests a minute are used up" in answers[-1].json()["error"]
    assert "Retry-After" not in answers[0].headers


@pytest.mark.promise("limits.refused")
async def test_a_refused_request_is_answered_before_its_body_is_read(redis: Redis, redis_url: str) -> None:
    """On JSON-RPC as an error of its own protocol, with HTTP 429."""
    async with limited(redis, redis_url, requests_a_minute=1) as (play, key):
        await play.client.get("/tasks/t1", headers=key)
        host, _, port = play.url.removeprefix("http://").rstrip("/").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        lines = ["POST / HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in key.items())]
        writer.write("\r\n".join([*lines, "Content-Length: 1000000", "", ""]).encode())
        async with asyncio.timeout(10):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            body = loads_object((await reader.readexactly(int(re.findall(r"content-length: (\d+)", head)[0]))).decode())
        writer.close()
    assert head.startswith("http/1.1 429")
    assert re.search(r"retry-after: \d+", head)
    assert (at(body, "error.code"), body["id"], body["jsonrpc"]) == (-32010, None, "2.0")


@pytest.mark.promise("limits.apart")
async def test_messages_are_counted_apart_from_reads(redis: Redis, redis_url: str) -> None:
    """By whatever method or path they come; what was refused was not taken in."""
    async with limited(redis, redis_url, messages_a_minute=1) as (play, key):
        taken = await play.client.post("/", json=_sending("t1"), headers=key)
        refused = await play.client.post("/", json=_sending("t2"), headers=key)
        paths = ("/message:send", "/v1/message:stream", "/api/a2a/purple-agent")
        others = [await play.client.post(path, json={}, headers=key) for path in paths]
        reads = [await play.client.post("/", json=rpc_body("tasks/get", {"id": "t1"}), headers=key) for _ in range(3)]
    assert [one.status_code for one in (taken, refused, *others)] == [200, 429, 429, 429, 429]
    assert (at(refused.json(), "error.code"), refused.json()["id"]) == (-32010, 7)
    assert "1 messages a minute are used up" in str(at(refused.json(), "error.message"))
    assert "Retry-After" in refused.headers
    assert {at(one.json(), "result.status.state") for one in reads} == {"completed"}
    assert len(play.worker.works) == 1


@pytest.mark.promise("limits.shared")
async def test_replicas_count_together_and_exactly(redis: Redis, redis_url: str) -> None:
    """However many messages come at once."""
    async with (
        limited(redis, redis_url, messages_a_day=10, messages_a_minute=0) as (play, key),
        gateway(redis_url, **LOCKED) as other,
        open_http(base_url=play.url, timeout=20, trust_env=False, headers=key) as first,
        open_http(base_url=other, timeout=20, trust_env=False, headers=key) as second,
    ):
        clients = [first, second] * 10
        sent = (client.post("/", json=_sending(f"t{i}")) for i, client in enumerate(clients))
        answers = await asyncio.gather(*sent)
    assert Counter(one.status_code for one in answers) == {200: 10, 429: 10}
    assert len(play.worker.works) == 10
    late = next(one for one in answers if one.status_code == 429)
    assert '"daily";r=0' in late.headers["RateLimit"]
    assert 1 <= int(late.headers["Retry-After"]) <= 86400


@pytest.mark.promise("limits.own")
async def test_an_operator_gives_a_key_limits_of_its_own(redis: Redis, redis_url: str) -> None:
    """In place of the usual ones; nought is without limit."""
    usual = {"rate_requests": 5, "rate_messages": 2, "quota_messages": 9}
    made = await _made(redis, requests_a_minute=0)
    async with stage(redis, redis_url, **{**LOCKED, **usual}) as play:
        operator = {"Authorization": f"Bearer {made.token}"}
        wish: JsonObject = {"principal": "robot", "requests_a_minute": 7, "messages_a_day": 0}
        own = await play.client.post("/keys/create", json={"key": wish}, headers=operator)
        robot = await play.client.get("/tasks/t1", headers={"X-API-Key": own.json()["token"]})
        mine = await play.client.get("/tasks/t1", headers=operator)
        wrong = [
            await play.client.post("/keys/create", json={"key": {**wish, **limit}}, headers=operator)
            for limit in ({"requests_a_minute": -1}, {"messages_a_day": "5"}, {"messages_a_minute": 10**12})
        ]
    assert robot.headers["RateLimit-Policy"] == '"requests";q=7;w=60, "messages";q=2;w=60'
    assert mine.headers["RateLimit-Policy"] == '"messages";q=2;w=60, "daily";q=9;w=86400'
    assert [(one.status_code, one.json()["error"].split(":")[0]) for one in wrong] == [
        (400, "key.requests_a_minute"),
        (400, "key.messages_a_day"),
        (400, "key.messages_a_minute"),
    ]


@pytest.mark.promise("limits.own")
async def test_where_nobody_checks_callers_nothing_is_limited(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, rate_requests=1, rate_messages=1, quota_messages=1) as play:
        await play.send("t1", "hello")
        await play.send("t2", "hello")
        answer = await play.client.get("/tasks/t2")
    assert answer.status_code == 200
    assert "RateLimit" not in answer.headers


@pytest.mark.promise("limits.own")
async def test_nobody_uses_up_anothers_allowance(redis: Redis) -> None:
    """A key's id is no secret: a wrong secret with it costs its holder nothing."""
    made, meter = await _made(redis, requests_a_minute=2), RateMeter(redis)
    for _ in range(5):
        key, stranger = await meter.count_request_of_key(made.key.key_id, hash_secret("guess"), LimitUse.REQUEST, NONE)
        assert key is not None
        assert stranger.usages == ()
    _, mine = await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST, NONE)
    assert (mine.used_up, mine.usages[0].remaining) == ("", 1)


@pytest.mark.promise("limits.flow")
async def test_a_fresh_caller_is_told_the_whole_of_its_allowance(redis: Redis) -> None:
    """Also where a minute is no whole multiple of the quota in binary."""
    told = []
    for quota in (51, 102, 105, 420):
        caller = Caller("acme", Principal(id=f"p{quota}"))
        fresh = await RateMeter(redis).count_request_of_bearer(
            caller, LimitUse.UNCOUNTED, RateAllowance(requests=quota)
        )
        told.append(fresh.usages[0].remaining)
    assert told == [51, 102, 105, 420]


@pytest.mark.promise("limits.flow")
async def test_a_minutes_allowance_flows_back_evenly(redis: Redis) -> None:
    """Used up, one of sixty is there again after a second; there is no edge at which twice as many pass."""
    made, meter = await _made(redis, requests_a_minute=60), RateMeter(redis)
    seconds, micros = await redis.time()
    now, name = seconds * 1_000_000 + micros, keys.rate_keys_of_api_key(made.key.key_id).requests
    await redis.set(name, now + 30_000_000)
    _, half = await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST, NONE)
    await redis.set(name, now + 90_000_000)
    _, none = await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST, NONE)
    assert half.used_up == ""
    assert 29 <= half.usages[0].remaining <= 50  # one more a second that the test took
    assert 10 <= half.usages[0].reset_seconds <= 31
    assert (none.used_up, none.usages[0].remaining) == ("requests", 0)
    assert 10 <= none.wait <= 31


@pytest.mark.promise("limits.flow")
async def test_a_days_quota_is_that_of_its_day(redis: Redis) -> None:
    made, meter = await _made(redis, messages_a_day=2), RateMeter(redis)
    seconds, _ = await redis.time()
    await redis.set(keys.rate_keys_of_api_key(made.key.key_id).daily, f"{seconds // 86400 - 1}:2")
    stood = [(await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.MESSAGE, NONE))[1] for _ in range(3)]
    assert [(one.used_up, one.usages[0].remaining) for one in stood] == [("", 1), ("", 0), ("daily", 0)]


@pytest.mark.promise("limits.cheap")
async def test_a_key_is_found_and_counted_in_one_step_that_nothing_is_logged_of(redis: Redis) -> None:
    """The log of writes is fsynced: reads, which are many, must not wait for it."""
    made, meter = await _made(redis, requests_a_minute=60, messages_a_minute=60), RateMeter(redis)
    for _ in range(30):  # half a minute's worth: a count that is over is taken out, and that would be logged
        await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST_AND_MESSAGE, NONE)
    await redis.config_resetstat()
    before = (await redis.info("persistence"))["aof_current_size"]
    for _ in range(20):
        await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST_AND_MESSAGE, NONE)
    after = (await redis.info("persistence"))["aof_current_size"]
    stats = cast("dict[str, dict[str, int]]", await redis.info("commandstats"))
    assert stats["cmdstat_evalsha"]["calls"] == 20
    assert before == after
    assert 0 < await redis.pttl(keys.rate_keys_of_api_key(made.key.key_id).requests) <= 60_001


@pytest.mark.promise("limits.tokens")
async def test_a_bearers_limits_are_those_of_the_principal(redis: Redis) -> None:
    """Whatever token is presented; another tenant's of the same name is another."""
    meter, usual = RateMeter(redis), RateAllowance(requests=2)
    casey = Caller("acme", Principal(id="casey", verified=True))
    standings = [await meter.count_request_of_bearer(casey, LimitUse.REQUEST, usual) for _ in range(3)]
    other = await meter.count_request_of_bearer(casey._replace(tenant="globex"), LimitUse.REQUEST, usual)
    assert [one.used_up for one in standings] == ["", "", "requests"]
    assert other.used_up == ""


@pytest.mark.promise("keys.used")
async def test_a_keys_last_use_is_listed_and_seldom_written(redis: Redis, redis_url: str) -> None:
    async with limited(redis, redis_url) as (play, key):
        name = keys.api_key(next(iter(await Keyring(redis).list_keys("acme"))).key_id)
        listed = loads_object((await play.client.post("/keys/list", json={}, headers=key)).text)
        first = await redis.hget(name, "used_at")  # type: ignore[misc]  # redis-py types it for both clients
        await play.client.get("/tasks/t1", headers=key)
        assert await redis.hget(name, "used_at") == first  # type: ignore[misc]  # the same
        await redis.hset(name, "used_at", "1700000000")  # type: ignore[misc]  # the same
        await play.client.get("/tasks/t1", headers=key)
        again = await redis.hget(name, "used_at")  # type: ignore[misc]  # the same
    assert str(at(listed, "keys.0.last_used_at")).startswith("20")
    assert int(str(again)) >= int(str(first))


@pytest.mark.promise("keys.used")
async def test_a_key_that_will_soon_expire_is_listed_with_a_warning(redis: Redis, redis_url: str) -> None:
    async with limited(redis, redis_url) as (play, key):
        for days in (1, 9, 90):
            await play.client.post("/keys/create", json={"key": {"principal": "p", "days": days}}, headers=key)
        rows = (await play.client.post("/keys/list", json={}, headers=key)).json()["keys"]
    assert {row["warning"] for row in rows} == {None, "expires in 8 days", "expires within two days"}


@pytest.mark.promise("keys.used")
async def test_the_command_line_sets_and_shows_a_keys_limits(url: str) -> None:
    common = ("--url", url, "--as", "olga")
    wish = ("create", "robot", "--daily", "100", "--rate", "0", "--days", "3", "--json", *common)
    made = await asyncio.to_thread(CliRunner().invoke, keys_command, wish)
    listed = await asyncio.to_thread(CliRunner().invoke, keys_command, ("list", *common))
    limits = [
        at(loads_object(made.stdout), name) for name in ("requests_a_minute", "messages_a_minute", "messages_a_day")
    ]
    assert limits == [0, None, 100]
    words = re.sub(r"[^\w/]+", " ", listed.stdout)
    assert all(word in words for word in ("any", "100", "last used", "limits"))


@each_row("names", [keys.rate_keys_of_api_key("1f0c9a"), keys.rate_keys_of_bearer("acme {x}", "casey")])
def test_what_is_counted_in_one_step_lies_in_one_slot(names: keys.RateKeys) -> None:
    """With the key that is found in it."""
    with_key = [*names, keys.api_key("1f0c9a")] if "pa:key:" in names.requests else [*names]
    assert len({key_slot(name.encode()) for name in with_key}) == 1


@pytest.mark.promise("limits.shared")
async def test_a_request_whose_reply_was_lost_costs_nothing_more(redis: Redis) -> None:
    """It is repeated, and who repeats says so."""
    made, meter = await _made(redis, requests_a_minute=5, messages_a_day=5), RateMeter(redis)
    await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.REQUEST_AND_MESSAGE, NONE)
    names = [*keys.rate_keys_of_api_key(made.key.key_id), keys.api_key(made.key.key_id)]
    await Scripts(redis).execute("EVAL", build_script("admit", is_repeated=True), 4, *names, 1, 1, 0, 0, 0, DIGEST, 60)
    _, stands = await meter.count_request_of_key(made.key.key_id, DIGEST, LimitUse.UNCOUNTED, NONE)
    assert [one.remaining for one in stands.usages] == [4, 4]
