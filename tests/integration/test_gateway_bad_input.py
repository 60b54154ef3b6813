"""Bad input is the client's error, said in a sentence that names the field; never a 5xx, never a task."""

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from shared.domain.exact_json import loads_object
from shared.infra import keys
from shared.infra.redis import connect
from tests.each_row import each_row
from tests.http_client import rpc_body
from tests.integration.gateway_stage import at, gateway_client

TEXT = [{"text": "hello"}]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def redis(redis_server: str) -> AsyncIterator[Redis]:
    client = connect(redis_server)
    await client.flushall()
    yield client
    await client.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(redis: Redis, redis_server: str) -> AsyncIterator[httpx.AsyncClient]:
    """One gateway for all of this: none of these requests leaves anything behind."""
    async with gateway_client(redis_server, max_body_bytes=4096) as made:
        yield made


def _send(**params: object) -> dict[str, object]:
    return rpc_body("tasks/send", {"id": "t1", "message": {"parts": TEXT}} | params, call_id=7)


@pytest.mark.promise("gateway.bad_input")
@each_row(
    ("body", "status", "code", "says"),
    (b"{", 200, -32700, "not JSON"),
    (b'{"a": NaN}', 200, -32700, "NaN"),
    (b'{"jsonrpc": "2.0", "method": "\xff\xfe"}', 200, -32700, "not UTF-8"),
    (b'{"a": "\\ud800"}', 200, -32700, "surrogate"),
    (b'{"a": ' + b"9" * 4000 + b"}", 200, -32700, "too large"),
    (b'{"jsonrpc": "2.0", "method": "x", "params": ' + b"[" * 80 + b"]" * 80 + b"}", 200, -32700, "nested deeper"),
    (b"[]", 200, -32600, "batch"),
    (b'"hello"', 200, -32600, "a string"),
    (b"null", 200, -32600, "null"),
    (b'{"method": "tasks/send"}', 400, -32600, "jsonrpc"),
    (b'{"jsonrpc": "2.0"}', 200, -32600, "method"),
    (b'{"jsonrpc": "2.0", "method": 5}', 200, -32600, "method"),
    (b'{"jsonrpc": "2.0", "method": "tasks/send", "id": {}}', 400, -32600, "id"),
    (b'{"jsonrpc": "2.0", "method": "tasks/send", "id": true}', 400, -32600, "id"),
    (b'{"jsonrpc": "2.0", "method": "tasks/send", "params": []}', 400, -32602, "params"),
    (b'{"jsonrpc": "2.0", "method": "tasks/send", "params": "x"}', 400, -32602, "params"),
    (b'{"jsonrpc": "2.0", "method": "tasks/send"}', 400, -32602, "params.id"),
    (b'{"jsonrpc": "2.0", "method": "tasks/fly", "params": {}}', 200, -32601, "tasks/fly"),
    (b'{"a": "' + b"x" * 5000 + b'"}', 413, -32600, "4096"),
)
async def test_what_is_no_call_is_refused(
    client: httpx.AsyncClient, body: bytes, status: int, code: int, says: str
) -> None:
    response = await client.post("/", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == status
    assert at(loads_object(response.text), "error.code") == code
    assert says in str(at(loads_object(response.text), "error.message"))
    assert loads_object(response.text)["id"] is None


@pytest.mark.promise("gateway.bad_input", "gateway.tools_endpoint")
@each_row(
    ("params", "field"),
    ({"id": None}, "params.id"),
    ({"id": ""}, "params.id"),
    ({"id": 5}, "params.id"),
    ({"id": "x" * 300}, "params.id"),
    ({"id": f"~{'0a' * 32}"}, "params.id"),  # so a long id's file is named in the archive
    ({"id": "a\nb"}, "params.id"),
    ({"sessionId": 5}, "params.sessionId"),
    ({"historyLength": -1}, "params.historyLength"),
    ({"historyLength": "many"}, "params.historyLength"),
    ({"message": None}, "params.message"),
    ({"message": "hello"}, "params.message"),
    ({"message": {}}, "message.parts"),
    ({"message": {"parts": "hello"}}, "message.parts"),
    ({"message": {"parts": []}}, "message.parts"),
    ({"message": {"parts": ["hello"]}}, "message.parts[0]"),
    ({"message": {"parts": [{"text": 5}]}}, "message.parts[0].text"),
    ({"message": {"parts": [{"text": "   "}]}}, "message.parts"),
    ({"message": {"parts": [{}]}}, "message.parts[0]"),
    ({"message": {"parts": [{"data": "x"}]}}, "message.parts[0].data"),
    ({"message": {"role": "agent", "parts": TEXT}}, "message.role"),
    ({"message": {"parts": TEXT, "metadata": 5}}, "message.metadata"),
    ({"metadata": "x"}, "metadata"),
    ({"metadata": {"session_id": 5}}, "metadata.session_id"),
    ({"metadata": {"session_id": "s1"}, "sessionId": "s2"}, "metadata.session_id"),
    ({"metadata": {"policy_doc": 5}}, "metadata.policy_doc"),
    ({"metadata": {"tools_endpoint": 5}}, "metadata.tools_endpoint"),
    ({"metadata": {"tools_endpoint": "http://10.0.0.1/"}}, "metadata.tools_endpoint"),
    ({"metadata": {"tools_endpoint": "ftp://localhost/"}}, "metadata.tools_endpoint"),
    ({"metadata": {"toolsEndpoint": "ftp://localhost/"}}, "metadata.tools_endpoint"),
    ({"metadata": {"dryRun": True, "dry_run": False}}, "metadata.dry_run"),
    ({"metadata": {"principal": "bob"}}, "metadata.principal"),
    ({"metadata": {"principal": {"id": 5}}}, "metadata.principal.id"),
    ({"metadata": {"principal": {"id": "bob", "roles": "approver"}}}, "metadata.principal.roles"),
    ({"metadata": {"principal": {"id": "bob", "roles": ["king"]}}}, "metadata.principal.roles"),
    ({"metadata": {"principal": {"id": "bob", "roles": [1]}}}, "metadata.principal.roles[0]"),
    ({"metadata": {"principal": {"id": "bob", "levels": ["king"]}}}, "metadata.principal.levels"),
)
async def test_a_field_of_the_wrong_type_is_named(
    client: httpx.AsyncClient, redis: Redis, params: dict[str, object], field: str
) -> None:
    response = await client.post("/", json=_send(**params))
    reply = loads_object(response.text)
    assert (response.status_code, at(reply, "error.code"), reply["id"]) == (400, -32602, 7)
    assert str(at(reply, "error.message")).startswith(f"{field}: ")
    assert await redis.keys() in ([], [keys.SERVER_LINEAGE_KEY])


@pytest.mark.parametrize("message", [None, [], {"messageId": "m", "parts": {}}])
async def test_a_later_message_of_no_shape_is_named(client: httpx.AsyncClient, message: object) -> None:
    """Which fields a message of each protocol wants is tried in tests/conformance."""
    response = await client.post("/", json=rpc_body("message/send", {"message": message}))
    assert (response.status_code, at(loads_object(response.text), "error.code")) == (200, -32602)
    assert "message" in str(at(loads_object(response.text), "error.message"))


async def test_files_are_refused_by_their_own_code(client: httpx.AsyncClient) -> None:
    part = {"file": {"uri": "http://localhost/x"}}
    reply = loads_object((await client.post("/", json=_send(message={"parts": [part]}))).text)
    assert at(reply, "error.code") == -32005


async def test_a_last_event_id_that_no_stream_gave_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/tasks/t1/events", headers={"Last-Event-ID": "yesterday"})
    assert response.status_code == 400
    assert "Last-Event-ID" in response.json()["error"]
