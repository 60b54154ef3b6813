"""``/openapi.json`` says what the gateway does, and generated requests get what it says."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator
from redis.asyncio import Redis

from services.gateway.bootstrap import build_app
from services.gateway.features.identity.api_paths import OPERATORS_TEXT
from services.gateway.first_key import create_first_key
from services.gateway.settings import GatewaySettings
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.integration.gateway_stage import Stage, at, object_at, stage

LOCKED = {"authentication": "keys", "profile": "production", "allow_volatile_redis": True, "blocking_limit": 0.05}
HOOKS = {"SCHEMATHESIS_HOOKS": "tests.integration.openapi_hooks", "PYTHONPATH": str(Path(__file__).parents[2])}
STOPS = ("--exclude-path", "/tenants/{tenant}/stop")  # a tenant that is stopped answers 503, as it should
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
)


async def asked(play: Stage, path: str, token: str, body: JsonObject) -> JsonObject:
    reply = await play.client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
    assert reply.status_code < 300, reply.text
    return loads_object(reply.text)


async def somebody(play: Stage, operator: str) -> str:
    """The token of a principal that may do everything."""
    wish: JsonObject = {"principal": "anna", "roles": ["client", "approver", "operator"], "levels": ["manager"]}
    return str((await asked(play, "/keys/create", operator, {"key": wish}))["token"])


async def known_identifiers(play: Stage, token: str) -> Mapping[str, str]:
    """What exists: a task that has ended, and an approval that waits."""
    for task_id, text in (("t1", "hello"), ("t2", "gate it")):
        params: JsonObject = {"id": task_id, "message": {"parts": [{"text": text}]}}
        call: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": params}
        await asked(play, "/", token, call)
    reply = await play.client.get("/approvals", headers={"Authorization": f"Bearer {token}"})
    approval = str(at(loads_object(reply.text), "approvals.0.approval_id"))
    return {"task_id": "t1", "id": "t1", "approval_id": approval, "tenant": "acme"}


async def found_by_schemathesis(redis: Redis, redis_url: str, folder: Path, *more: str) -> str:
    """Its failures, in its own words; empty if nothing was found."""
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    async with stage(redis, redis_url, **LOCKED) as play:
        token = await somebody(play, made.token)
        known = json.dumps(dict(await known_identifiers(play, token)))
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("schemathesis")),
            "run",
            f"{play.url}openapi.json",
            *("--checks", ",".join(CHECKS), "--header", f"Authorization: Bearer {token}", "--request-timeout", "10"),
            *(
                "--seed",
                "8",
                "--suppress-health-check",
                "all",
                "--continue-on-failure",
                "--warnings",
                "off",
                *STOPS,
                *more,
            ),
            env={**os.environ, **HOOKS, "KNOWN_IDENTIFIERS": known},
            cwd=folder,  # it leaves files there
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
    return "" if process.returncode == 0 else said.decode().partition("= FAILURES =")[2] or said.decode()


@pytest.mark.timeout(600)
@pytest.mark.promise("gateway.openapi_holds")
@pytest.mark.parametrize(
    ("phases", "examples"), [("fuzzing", "1"), pytest.param("examples,coverage,fuzzing", "30", marks=pytest.mark.long)]
)
async def test_generated_requests_get_documented_answers(
    redis: Redis, redis_url: str, tmp_path: Path, phases: str, examples: str
) -> None:
    more = ("--phases", phases, "--max-examples", examples)
    if found := await found_by_schemathesis(redis, redis_url, tmp_path, *more):
        pytest.fail(found, pytrace=False)


_NEW = {"A2A-Version": "1.0"}


def _description() -> JsonObject:
    app = build_app(GatewaySettings.model_validate({"redis_url": "redis://127.0.0.1:1", "profile": "embedded"}))
    return dict(app.openapi())


def _operations(description: JsonObject) -> list[tuple[str, str, JsonObject]]:
    paths = object_at(description, "paths")
    found: list[tuple[str, str, JsonObject]] = []
    for path, operations in paths.items():
        assert isinstance(operations, dict)
        found += [(method, path, said) for method, said in operations.items() if isinstance(said, dict)]
    return found


@pytest.mark.promise("gateway.openapi")
def test_every_path_names_its_parameters_and_more_than_its_success() -> None:
    for method, path, said in _operations(_description()):
        assert _path_parameters(said) == set(re.findall(r"{(\w+)}", path)), path
        responses = object_at(said, "responses")
        assert {"401", "503"} <= responses.keys(), (method, path)


def _path_parameters(said: JsonObject) -> set[str]:
    parameters = said.get("parameters", [])
    assert isinstance(parameters, list)
    return {str(at(one, "name")) for one in parameters if at(one, "in") == "path"}


def test_every_schema_that_is_referred_to_is_there() -> None:
    description = _description()
    named = set(re.findall(r"#/components/schemas/(\w+)", str(description)))
    schemas = object_at(description, "components.schemas")
    assert named <= schemas.keys()


@pytest.mark.promise("gateway.openapi")
async def test_what_is_answered_fits_its_description(play: Stage) -> None:
    """A task's way over REST, each answer held against the description."""
    description = loads_object((await play.client.get("/openapi.json")).text)
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    sent = await play.client.post("/message:send", json={"message": message}, headers=_NEW)
    task_id = str(at(loads_object(sent.text), "task.id"))
    answers = {
        ("post", "/message:send"): sent,
        ("get", "/tasks"): await play.client.get("/tasks", headers=_NEW),
        ("get", "/tasks/{task_id}"): await play.client.get(f"/tasks/{task_id}", headers=_NEW),
        ("get", "/v1/tasks/{task_id}"): await play.client.get(f"/v1/tasks/{task_id}"),
        ("post", "/tasks/{task_id}:cancel"): await play.client.post(f"/tasks/{task_id}:cancel", headers=_NEW),
        ("post", "/v1/tasks/{task_id}:cancel"): await play.client.post("/v1/tasks/nobody:cancel"),
        ("get", "/approvals"): await play.client.get("/approvals"),
        ("get", "/.well-known/agent-card.json"): await play.client.get("/.well-known/agent-card.json"),
    }
    for (method, path), answer in answers.items():
        _check(description, method, path, answer)


def _check(description: JsonObject, method: str, path: str, answer: httpx.Response) -> None:
    responses = next(said for one, where, said in _operations(description) if (one, where) == (method, path))
    said = _step(responses, "responses", str(answer.status_code), "content")
    media_type = answer.headers["content-type"].partition(";")[0]
    schema = _step(said, media_type, "schema")
    assert isinstance(schema, dict)
    whole = {**schema, "components": description["components"]}
    Draft202012Validator(whole).validate(answer.json())


def _step(value: Json, *keys: str) -> Json:
    for key in keys:
        assert isinstance(value, dict)
        assert key in value, f"{key} is not among {list(value)}"
        value = value[key]
    return value


@pytest.mark.promise("gateway.openapi")
async def test_the_page_shows_every_path_with_a_sentence_and_loads_nothing(play: Stage) -> None:
    page = await play.client.get("/docs")
    for method, path, said in _operations(_description()):
        assert " " in str(said["summary"]), (method, path)
        assert f"<b>{method.upper()}</b><code>{escape(path)}</code>" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert not re.findall(r"<script|<link|https?://", page.text)


@pytest.mark.promise("gateway.openapi", "tenant.operator", "tenant.record_walls")
async def test_operators_alone_get_past_the_paths_that_are_described_as_theirs(play: Stage) -> None:
    words = {"call": "c1", "resolution": "done", "reason": "r", "on": True, "version": 1, "record": {}}
    words |= {"key": {"principal": "x"}, "scope": "session", "subject": "s", "file": "f", "content": ""}
    claim = {**words, "metadata": {"principal": {"id": "cy", "roles": ["client"]}}}
    for method, path, said in _operations(_description()):
        if said["x-callers"] == OPERATORS_TEXT:
            url = re.sub(r"{\w+}", "default", path)
            body = None if method == "get" else claim
            answer = await play.client.request(method.upper(), url, json=body, headers={"If-Match": '"1"'})
            switched_off = answer.status_code == 404 and "not offered" in answer.text
            assert answer.status_code == 403 or switched_off, (path, answer.text)
