"""Walls: nothing of one tenant's, or of one client's, is seen or touched by another, by any way in."""

import asyncio
import base64
import hashlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import JsonValue
from redis.asyncio import Redis
from starlette.routing import BaseRoute, Mount, Route

from services.executor.adapters.made_tools import RedisMadeTools
from services.gateway.a2a.jsonrpc import JsonRpcEndpoint
from services.gateway.bootstrap import build_app
from services.gateway.features.console.sessions import derive_form_token
from services.gateway.first_key import create_first_key
from services.gateway.settings import GatewaySettings
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject
from shared.infra.archive_open import generate_encryption_key
from shared.infra.keys import partition_keys_of
from tests.doubles.redis_tasks import a_record
from tests.http_client import open_http, rpc_body
from tests.integration.gateway_stage import LOCKED, Locked, Stage, at, locked_stage
from tests.integration.test_gateway_dead_letters import TOOL, _dead_turn
from tests.integration.wall_attempts import METHODS, OPEN, ROUTES, EarlierAttempt
from tests.integration.webhook_receiver import SECRET
from tests.kept_assessments import an_assessment

CANARY = "canary-4711"  # in what is casey's
OF_ACME = "parrot-0815"  # in what is acme's
FILE = f"a file: {CANARY}".encode()
SETTINGS = {"webhook_secret": SECRET, "webhook_allowed_hosts": "receiver.example", "rate_messages": 0}
UNKNOWN = {
    "task": "no-such-task", "session": "no-such-session", "approval": "no-such-approval", "hook": "no-such-hook",
    "key": "aaaaaaaaaaaa", "letter": "turn-1-1-0", "tool": "no_such_tool", "tenant": "no-such-tenant",
    "assessment": "no-such-assessment", "file": "0" * 64,
}  # fmt: skip
_CHANGES = re.compile(
    r"\d{13}-\d+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00|Z)?|\d\d:\d\d(:\d\d)?"
)


class World(NamedTuple):
    """What casey has at acme, by name, and two who have no business with it."""

    play: Stage
    names: dict[str, str]
    tokens: dict[str, str]


@asynccontextmanager
async def world(redis: Redis, redis_url: str) -> AsyncIterator[World]:
    """``gina`` may do everything at globex; ``eve`` is a client of acme, as casey is."""
    gina = (await create_first_key(redis_url, "globex", "gina", allows_another=False)).token
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        kept = {"archive_url": f"file://{folder}", "archive_key": generate_encryption_key()}
        async with locked_stage(redis, redis_url, **SETTINGS, **kept) as locked:
            tokens = {
                "olga": locked.operator,
                "gina": gina,
                **{name: await locked.key(name) for name in ("eve", "casey")},
            }
            yield World(locked.play, await _belongings(locked, redis, tokens["casey"]), tokens)


async def _belongings(locked: Locked, redis: Redis, token: str) -> dict[str, str]:
    """A task with an approval that waits, in a session, with webhook and file; a key, a dead letter, a made tool."""
    file: Json = {"name": f"{CANARY}.txt", "bytes": base64.b64encode(FILE).decode()}
    parts: Json = [{"type": "text", "text": f"gate {CANARY}"}, {"type": "file", "file": file}]
    said: Json = {"role": "user", "parts": parts}
    params: JsonObject = {"sessionId": "session-of-casey", "message": said}
    play = locked.play
    for task_id in ("task-of-casey", "another-of-casey"):
        await locked.post("/", rpc_body("tasks/send", {**params, "id": task_id}), token)
    hook = {"id": "hook-of-casey", "url": f"https://receiver.example/{CANARY}"}
    newest = {**_key_of(token), "A2A-Version": "1.0"}
    await play.client.post("/tasks/task-of-casey/pushNotificationConfigs", json=hook, headers=newest)
    kept = {"assessment": an_assessment(agent=f"http://{CANARY}.example/").model_dump(mode="json")}
    assessed = await play.client.post("/assessments", json=kept, headers=_key_of(token))
    waiting = await play.client.get("/approvals", headers=_key_of(token))
    await RedisMadeTools(redis).store_version("acme", TOOL.model_copy(update={"purpose": OF_ACME}))
    dead = a_record("s9").model_copy(update={"tenant": "acme", "requester": Principal(id="casey")})
    dead = dead.model_copy(update={"request": dead.request.model_copy(update={"text": CANARY})})
    return {
        "task": "task-of-casey",
        "session": "session-of-casey",
        "approval": str(at(waiting.json(), "approvals.0.approval_id")),
        "hook": "hook-of-casey",
        "key": token.split("_")[1],
        "letter": await _dead_turn(redis, dead, partition_keys_of("acme", "s9").dead_turns),
        "tool": TOOL.name,
        "assessment": assessed.json()["assessment_id"],
        "file": hashlib.sha256(FILE).hexdigest(),
        "tenant": "acme",
    }


class Intruder:
    """Somebody with a key of their own, who is also signed in to the console."""

    def __init__(self, play: Stage, token: str, *names: dict[str, str]) -> None:
        """``names``: what may be named, and is left out of what was said."""
        self._token, self._names = token, names
        self._made = 0
        self.client = open_http(base_url=play.url, timeout=20, trust_env=False)

    async def sign_in(self) -> None:
        await self.client.get("/console/sign-in")
        form = derive_form_token(self.client.cookies["purple_console_form"])
        signed = await self.client.post("/console/sign-in", data={"form": form, "key": self._token})
        assert signed.status_code == 303

    async def tries(self, attempt: EarlierAttempt, names: dict[str, str]) -> tuple[int, str, frozenset[str]]:
        """Status, what was said (without names, and what differs from one answer to the next), and its headers."""
        self._made += 1
        filled = {**names, "fresh": f"fresh-{self._made}"}
        path, body = _filled(attempt.path, filled), _filled(attempt.body, filled)
        response = await self._asked(attempt, str(path), body)
        return response.status_code, _told(response.text, self._names), frozenset(response.headers) - {"etag"}

    async def _asked(self, attempt: EarlierAttempt, path: str, body: Json) -> httpx.Response:
        if attempt.form:
            fields = {**cast("dict[str, str]", body), "form": derive_form_token(self.client.cookies["purple_console"])}
            return await self.client.request(attempt.method, path, data=None if attempt.method == "GET" else fields)
        headers = {**_key_of(self._token), **({"A2A-Version": attempt.version} if attempt.version else {})}
        return await self.client.request(attempt.method, path, json=cast("JsonValue", body), headers=headers)


def _key_of(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _filled(value: Json, names: dict[str, str]) -> Json:
    match value:
        case str():
            return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], value)
        case dict():
            return {name: _filled(part, names) for name, part in value.items()}
        case list():
            return [_filled(part, names) for part in value]
        case _:
            return value


def _told(text: str, names: Iterable[dict[str, str]]) -> str:
    """What an answer says apart from the names that a question may bring."""
    for kind, name in sorted((item for one in names for item in one.items()), key=lambda item: -len(item[1])):
        text = text.replace(name, f"<{kind}>")
    text = re.sub(r"fresh-\d+", "<fresh>", text)
    return re.sub(r"[0-9a-f]{32,}|csrf-\w+", "<digest>", _CHANGES.sub("<changes>", text))


_MAKERS = ("tasks/send", "tasks/sendSubscribe", "POST /api/a2a/purple-agent")  # an unknown id begins a task


def _attempts() -> Iterable[tuple[str, EarlierAttempt]]:
    """All rows, those last that begin tasks of the intruder's own."""
    rows = {**ROUTES, **METHODS}
    for name in sorted(rows, key=lambda name: (name in _MAKERS, name)):
        for attempt in rows[name]:
            yield name, attempt


@pytest.mark.promise("walls.no_oracle", "tenant.operator", "tenant.record_walls")
@pytest.mark.parametrize("who", ["eve", "gina"])
async def test_what_is_anothers_is_as_unknown_as_what_is_not_there(redis: Redis, redis_url: str, who: str) -> None:
    """To an operator of another tenant, and to another client of the same one: by every way in, the same answer."""
    async with world(redis, redis_url) as (play, names, tokens):
        before = await _seen_by_its_owner(play, names, tokens)
        unknown = {**UNKNOWN, "tenant": names["tenant"] if who == "eve" else UNKNOWN["tenant"]}
        intruder = Intruder(play, tokens[who], names, unknown)
        await intruder.sign_in()
        found: list[str] = []
        for name, attempt in _attempts():
            real, other = await intruder.tries(attempt, names), await intruder.tries(attempt, unknown)
            if real != other:
                found.append(f"{name} {attempt.path}: {real} where there is something, {other} where there is nothing")
            if CANARY in real[1] or (who == "gina" and OF_ACME in real[1]):
                found.append(f"{name} {attempt.path} tells {real[1]}")
        await intruder.client.aclose()
        after = await _seen_by_its_owner(play, names, tokens)
    assert not found, "\n\n".join(found)
    assert after == before


async def _seen_by_its_owner(play: Stage, names: dict[str, str], tokens: dict[str, str]) -> dict[str, JsonValue]:
    """All that an intruder might have changed."""
    key, operator = _key_of(tokens["casey"]), _key_of(tokens["olga"])
    newest = {**key, "A2A-Version": "1.0"}
    file = await play.client.get(f"/tasks/{names['task']}/files/{names['file']}", headers=key)
    assert (file.status_code, file.content) == (200, FILE)
    read = {path: await play.client.get(path, headers=newest) for path in (
        f"/tasks/{names['task']}",
        f"/approvals/{names['approval']}",
        f"/tasks/{names['task']}/pushNotificationConfigs",
        f"/assessments/{names['assessment']}",
    )}  # fmt: skip
    asked = {path: await play.client.post(path, json={}, headers=operator) for path in (
        f"/dlq/{names['letter']}/show",
        f"/tools/made/{names['tool']}/show",
        "/tenants/acme/record/history",
    )}  # fmt: skip
    assert [path for path, one in (read | asked).items() if one.status_code != 200] == []
    stopped = (await play.client.post("/tenants/acme/show", json={}, headers=operator)).json()["stopped"]
    return {path: json.loads(one.text) for path, one in (read | asked).items()} | {"stopped": stopped}


@pytest.mark.promise("walls.every_way_in")
def test_every_way_in_has_its_row_of_attempts() -> None:
    """Whoever adds a route or a method says how an intruder would use it, or why it holds nothing of anybody's."""
    app = build_app(GatewaySettings.model_validate({**LOCKED, **SETTINGS, "redis_url": "redis://127.0.0.1:1"}))
    ways = set(_ways(app.routes))
    methods = _methods(app)
    assert ways - ROUTES.keys() - OPEN.keys() == set()
    assert (ROUTES.keys() | OPEN.keys()) - ways == set()
    assert methods ^ METHODS.keys() == set()


def _ways(routes: Iterable[BaseRoute], prefix: str = "") -> Iterable[str]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _ways(inner.routes, prefix)
        elif isinstance(route, Mount):
            yield from _ways(route.routes, prefix + route.path)
        else:
            assert isinstance(route, Route), f"what kind of way is {route!r}?"
            path = re.sub(r"\{(\w+):\w+\}", r"{\1}", prefix + route.path)
            yield from (f"{method} {path}" for method in (route.methods or set()) - {"HEAD"})


def _endpoints(routes: Iterable[BaseRoute]) -> Iterable[object]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _endpoints(inner.routes)
        elif isinstance(route, APIRoute):
            yield getattr(route.endpoint, "__self__", None)


def _methods(app: FastAPI) -> frozenset[str]:
    (rpc,) = {one for one in _endpoints(app.routes) if isinstance(one, JsonRpcEndpoint)}
    return frozenset(rpc.methods)


async def _sent(play: Stage, token: str, task_id: str, text: str, **more: Json) -> JsonObject:
    said: Json = {"role": "user", "parts": [{"type": "text", "text": text}]}
    params: JsonObject = {"id": task_id, "message": said, **more}
    return (await Locked(play, token).post("/", rpc_body("tasks/send", params)))[1]


@pytest.mark.promise("walls.ids")
async def test_clients_that_count_their_tasks_do_not_stand_in_each_others_way(redis: Redis, redis_url: str) -> None:
    """Each goes on with its own, also at once and by a resend; an approver finds the first of that id."""
    async with world(redis, redis_url) as (play, _, tokens):
        dana = await Locked(play, tokens["olga"]).key("dana", roles=["approver"], levels=["manager"])
        first = await asyncio.gather(*(_sent(play, tokens[who], "1", "ask") for who in ("casey", "eve")))
        again = [await _sent(play, tokens[who], "1", "go on") for who in ("casey", "eve")]
        resent = await _sent(play, tokens["eve"], "1", "go on")
        seen = [await play.client.get("/tasks/1", headers=_key_of(tokens[who])) for who in ("casey", "eve", "gina")]
        await _sent(play, tokens["casey"], "2", "ask")
        decided = await _sent(play, dana, "2", "approve")
        other = await _sent(play, tokens["eve"], "2", "approve")
    assert [at(one, "result.status.state") for one in first] == ["input-required", "input-required"]
    assert [at(one, "result.id") for one in again] == ["1", "1"]
    assert {at(one, "result.artifacts.0.parts.0.text") for one in (*again, resent)} == {"done: go on"}
    assert [one.status_code for one in seen] == [200, 200, 404]
    assert [at(one.json(), "metadata.requester.id") for one in seen[:2]] == ["casey", "eve"]
    assert seen[0].json()["session_id"] != seen[1].json()["session_id"]
    assert at(decided, "result.artifacts.0.parts.0.text") == "approved by dana"
    assert at(other, "result.artifacts.0.parts.0.text") == "done: approve"


@pytest.mark.promise("walls.ids")
async def test_anothers_session_takes_no_message(redis: Redis, redis_url: str) -> None:
    """Of a stranger of another tenant it is a session of its own that has the same name."""
    async with world(redis, redis_url) as (play, names, tokens):
        eve = await _sent(play, tokens["eve"], "e1", "hello", sessionId=names["session"])
        gina = await _sent(play, tokens["gina"], "g1", "hello", sessionId=names["session"])
        said: Json = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "x"}], "contextId": names["session"]}
        call = rpc_body("SendMessage", {"message": said})
        newest = {**_key_of(tokens["eve"]), "A2A-Version": "1.0"}
        modern = await play.client.post("/", json=call, headers=newest)
    assert (at(eve, "error.code"), "belongs to another principal" in str(at(eve, "error.message"))) == (-32602, True)
    assert at(modern.json(), "error.code") == -32602
    assert at(gina, "result.status.state") == "completed"
    assert {work.record.tenant for work in play.worker.works if work.turn.text == "hello"} == {"globex"}


@pytest.mark.promise("walls.ids")
async def test_the_same_message_of_two_clients_is_two_messages(redis: Redis, redis_url: str) -> None:
    """Also by the same message id: nobody is answered with another's task."""
    async with world(redis, redis_url) as (play, _, tokens):
        said: Json = {"messageId": "same", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        call = rpc_body("SendMessage", {"message": said})
        answers = [
            await play.client.post("/", json=call, headers={**_key_of(tokens[who]), "A2A-Version": "1.0"})
            for who in ("casey", "eve", "gina", "eve")
        ]
    ids = [at(one.json(), "result.task.id") for one in answers]
    assert len(set(ids)) == 3
    assert ids[1] == ids[3]


_AN_APPROVER_MAY_NOT = (
    "tasks/cancel",
    "CancelTask",
    "POST /tasks/{task_id}:cancel",
    "POST /v1/tasks/{task_id}:cancel",
    "POST /console/tasks/{task_id}/cancel",
    "POST /tasks/{task_id}/resolve",
    "POST /message:send",
    "POST /v1/message:send",
    "tasks/pushNotification/set",
    "tasks/pushNotificationConfig/delete",
    "DeleteTaskPushNotificationConfig",
    "POST /dlq/{letter_id}/drop",
    "POST /keys/list",
    "POST /keys/{key_id}/revoke",
    "POST /tools/made/{name}/remove",
    "POST /tenants/{tenant}/stop",
    "GET /audit",
    "POST /webhooks/secret",
)


@pytest.mark.promise("walls.approver")
async def test_an_approver_sees_and_decides_and_does_nothing_else(redis: Redis, redis_url: str) -> None:
    async with world(redis, redis_url) as (play, names, tokens):
        before = await _seen_by_its_owner(play, names, tokens)
        token = await Locked(play, tokens["olga"]).key("dana", roles=["approver"], levels=["manager"])
        dana = Intruder(play, token, names)
        await dana.sign_in()
        rows = {**ROUTES, **METHODS}
        answers = {name: [await dana.tries(one, names) for one in rows[name]] for name in _AN_APPROVER_MAY_NOT}
        seen = await dana.tries(rows["GET /tasks/{task_id}"][-1], names)
        await dana.client.aclose()
        after = await _seen_by_its_owner(play, names, tokens)
    let_through = [f"{name}: {one}" for name, all_of in answers.items() for one in all_of if not _is_refusal(*one[:2])]
    assert not let_through, "\n\n".join(let_through)
    assert seen[0] == 200
    assert after == before


def _is_refusal(status: int, text: str) -> bool:
    return status in (303, 400, 403, 404, 409) or '"error":{' in text.replace(" ", "")
