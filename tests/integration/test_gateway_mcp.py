"""The gateway as an MCP server, asked with the official client: tasks, and approvals by an approver's key."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from pydantic import JsonValue
from redis.asyncio import Redis

from services.gateway.features.identity.api_keys import KeyRequest, make_api_key
from services.gateway.features.identity.store import Keyring
from shared.domain.words import Role
from tests.integration.gateway_stage import Stage, stage
from tests.scripted_agent import make_keys

pytestmark = pytest.mark.promise("gateway.mcp")
_PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
LOCKED = {
    "authentication": "keys",
    "profile": "production",
    "allow_volatile_redis": True,
    "gateway_parts": "console,mcp",
}
PEOPLE = {
    "anna": ("acme", (Role.CLIENT,)),
    "bob": ("acme", (Role.CLIENT,)),
    "eve": ("other", (Role.CLIENT, Role.APPROVER)),
}


@asynccontextmanager
async def _locked(redis: Redis, redis_url: str) -> AsyncIterator[tuple[Stage, dict[str, str]]]:
    keys = await make_keys(redis, PEOPLE)
    boss = make_api_key(KeyRequest("boss", (Role.APPROVER,), levels=("manager",)), "acme", "olga")
    await Keyring(redis).add_key(boss.key)
    keys["boss"] = boss.token
    async with stage(redis, redis_url, **LOCKED) as play:
        yield play, keys


@asynccontextmanager
async def _client(play: Stage, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(f"{play.url}mcp", http_client=http), cache=None) as client,
    ):
        yield client


async def _call(play: Stage, key: str, tool: str, **arguments: object) -> CallToolResult:
    async with _client(play, key) as client:
        return await client.call_tool(tool, arguments)


def _field(result: CallToolResult, name: str) -> JsonValue:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return cast(JsonValue, result.structured_content[name])


async def test_a_task_is_sent_looked_at_and_listed(redis: Redis, redis_url: str) -> None:
    async with _locked(redis, redis_url) as (play, keys):
        async with _client(play, keys["anna"]) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
        sent = await _call(play, keys["anna"], "send_task", text="hello", session_id="s1", idempotency_key="k1")
        again = await _call(play, keys["anna"], "send_task", text="hello", session_id="s1", idempotency_key="k1")
        task = _field(sent, "task_id")
        shown = await _call(play, keys["anna"], "get_task", task_id=task)
        listed = await _call(play, keys["anna"], "list_tasks", session_id="s1")
        foreign = await _call(play, keys["eve"], "get_task", task_id=task)
    assert names == ["send_task", "get_task", "list_tasks", "list_approvals", "decide_approval"]
    assert (_field(sent, "state"), _field(sent, "answer")) == ("completed", "done: hello")
    assert (_field(again, "task_id"), play.worker.seen) == (task, ["hello"])
    assert (_field(shown, "session_id"), _field(shown, "answer")) == ("s1", "done: hello")
    assert _field(listed, "total") == 1
    assert foreign.is_error


async def test_an_approval_takes_the_approvers_key(redis: Redis, redis_url: str) -> None:
    async with _locked(redis, redis_url) as (play, keys):
        sent = await _call(play, keys["anna"], "send_task", text="gate it")
        waiting = _field(await _call(play, keys["boss"], "list_approvals"), "approvals")
        (approval,) = [one["approval_id"] for one in cast("list[dict[str, JsonValue]]", waiting)]
        answer = {"approval_id": approval, "decision": "approve"}
        refused = [await _call(play, keys[who], "decide_approval", **answer) for who in ("anna", "bob", "eve")]
        before = await _call(play, keys["anna"], "get_task", task_id=_field(sent, "task_id"))
        decided = await _call(play, keys["boss"], "decide_approval", **answer)
        after = await _call(play, keys["anna"], "get_task", task_id=_field(sent, "task_id"))
    assert [result.is_error for result in refused] == [True, True, True]
    assert (_field(before, "state"), _field(decided, "heeded")) == ("input-required", True)
    assert (_field(after, "state"), _field(after, "answer")) == ("completed", "approved by boss")


async def test_approvals_are_listed_page_by_page(redis: Redis, redis_url: str) -> None:
    async with _locked(redis, redis_url) as (play, keys):
        for number in range(3):
            await _call(play, keys["anna"], "send_task", text=f"gate it {number}")
        pages = [await _call(play, keys["boss"], "list_approvals", page_size=2)]
        while token := _field(pages[-1], "next_page_token"):
            pages.append(await _call(play, keys["boss"], "list_approvals", page_size=2, page_token=token))
        whole = await _call(play, keys["boss"], "list_approvals")
    found = [cast("list[dict[str, JsonValue]]", _field(page, "approvals")) for page in pages]
    assert [len(page) for page in found] == [2, 1]
    assert [one for page in found for one in page] == _field(whole, "approvals")


async def test_what_is_asked_wrongly_is_refused_by_the_name_of_its_field(redis: Redis, redis_url: str) -> None:
    async with _locked(redis, redis_url) as (play, keys):
        empty = await _call(play, keys["anna"], "send_task", text="", wait="yes")
        unknown = await _call(play, keys["anna"], "drop_tables")
        approver_sends = await _call(play, keys["boss"], "send_task", text="hello")
    assert [result.is_error for result in (empty, unknown, approver_sends)] == [True, True, True]
    assert "text: " in str(empty.content)
    assert "drop_tables" in str(unknown.content)
    assert play.worker.seen == []


async def test_an_id_or_a_token_that_is_none_is_refused_by_the_name_of_its_argument(
    redis: Redis, redis_url: str
) -> None:
    wrong = [("send_task", name) for name in ("idempotency_key", "session_id", "task_id")]
    wrong += [("list_tasks", "page_token"), ("list_approvals", "page_token")]
    async with _locked(redis, redis_url) as (play, keys):
        for tool, name in wrong:
            others = {"text": "hello"} if tool == "send_task" else {}
            refused = await _call(play, keys["anna"], tool, **{**others, name: "two\nlines"})
            assert refused.is_error
            assert f"text='{name}: " in str(refused.content)


async def test_nobody_is_served_without_a_key_and_nothing_where_it_is_off(redis: Redis, redis_url: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with _locked(redis, redis_url) as (play, keys):
        keyless = await play.client.post("/mcp", json=body)
    async with stage(redis, redis_url, **{**LOCKED, "gateway_parts": "console"}) as play:
        off = await play.client.post("/mcp", json=body, headers={"Authorization": f"Bearer {keys['anna']}"})
    assert (keyless.status_code, off.status_code) == (401, 404)


async def test_the_documented_client_sends_a_task(redis: Redis, redis_url: str) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", _PAGE.read_text("utf-8"), re.DOTALL)
    async with _locked(redis, redis_url) as (play, keys):
        known = {"PURPLE_URL": play.url.rstrip("/"), "PURPLE_KEY": keys["anna"], "NO_PROXY": "*"}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", example),
            env={**os.environ, **known},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
    assert out.decode().strip() == "completed done: Approve claim C-1"
