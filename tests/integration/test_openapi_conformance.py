"""What the gateway says of itself in OpenAPI is so: generated requests get documented answers, and never a 5xx."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.gateway.first_key import first_key
from shared.domain.exact_json import JsonObject, loads_object
from tests.integration.gateway_stage import Stage, at, stage

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
    made = await first_key(redis_url, "acme", "olga", again=False)
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


@pytest.mark.promise("gateway.openapi_holds")
async def test_generated_requests_get_documented_answers(redis: Redis, redis_url: str, tmp_path: Path) -> None:
    phases = ("--phases", "fuzzing", "--max-examples", "1")
    if found := await found_by_schemathesis(redis, redis_url, tmp_path, *phases):
        pytest.fail(found, pytrace=False)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.promise("gateway.openapi_holds")
async def test_thousands_of_generated_requests_get_documented_answers(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    phases = ("--phases", "examples,coverage,fuzzing", "--max-examples", "30")
    if found := await found_by_schemathesis(redis, redis_url, tmp_path, *phases):
        pytest.fail(found, pytrace=False)
