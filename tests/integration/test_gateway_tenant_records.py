"""A tenant's record through the gateway: compare and set, bad documents, walls, history."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import httpx
import pytest
from redis.asyncio import Redis

from services.executor.adapters.stored_tenants import FileTenants, StoredTenants
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import TenantVersion
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.infra.tenant_records import RedisTenantRecords
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, at, gateway, stage

OPERATOR: JsonObject = {"principal": {"id": "olga", "roles": ["operator"]}}
ERP: JsonObject = {
    "id": "erp",
    "url": "http://erp.internal/mcp",
    "credential": {"type": "bearer", "from": "env:TOOL_CREDENTIAL__DEFAULT__ERP"},
}
RECORD: JsonObject = {"id": "default", "time_zone": "Europe/Paris", "connections": [ERP]}


class Operator(NamedTuple):
    """Speaks with a gateway about one tenant's record."""

    client: httpx.AsyncClient
    tenant: str = "default"
    metadata: Json = OPERATOR

    async def put(self, record: Json, base: int | None = None, **more: Json) -> httpx.Response:
        body = dumps({"record": record, "metadata": self.metadata, **more})
        headers = {} if base is None else {"If-Match": f'"{base}"'}
        return await self.client.put(f"/tenants/{self.tenant}/record", content=body, headers=headers)

    async def ask(self, what: str, **body: Json) -> httpx.Response:
        return await self.client.post(f"/tenants/{self.tenant}/record/{what}", json={"metadata": self.metadata, **body})


@asynccontextmanager
async def operator(redis_url: str, **settings: object) -> AsyncIterator[Operator]:
    async with (
        gateway(redis_url, **settings) as url,
        open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client,
    ):
        yield Operator(client)


@pytest.mark.promise("tenant.record_compare_and_set")
async def test_the_second_of_two_changes_to_one_version_is_told_of_the_first(redis_url: str) -> None:
    """The first to create it, then the first to change version 1; the loser learns which version holds."""
    async with operator(redis_url) as olga:
        blind = await olga.put({"id": "default"})
        first, late = await olga.put(RECORD, 0), await olga.put(RECORD, 0)
        shown = loads_object((await olga.ask("show")).text)
        changed = await olga.put({**RECORD, "time_zone": "UTC"}, 1)
        stale = await olga.put(shown["record"])
    assert [one.status_code for one in (blind, first, late, changed, stale)] == [428, 200, 412, 200, 412]
    assert (first.headers["etag"], stale.headers["etag"]) == ('"1"', '"2"')
    assert "version 2" in str(at(loads_object(stale.text), "error"))


@pytest.mark.promise("tenant.record_bad_fields")
async def test_each_bad_field_is_named_and_nothing_is_stored(redis_url: str) -> None:
    bad: JsonObject = {
        "time_zone": "Europe/Pari",
        "connections": [{**ERP, "credential": {"type": "bearer", "from": "sk-live-1"}}],
    }
    async with operator(redis_url) as olga:
        refused = await olga.put({**RECORD, **bad}, 0)
        nothing, none = await olga.ask("show"), await olga.put("no object", 0)
    fields = list_of(loads_object(refused.text)["fields"])
    assert [one.status_code for one in (refused, nothing, none)] == [400, 404, 400]
    assert [at(one, "field") for one in fields] == ["time_zone", "connections.0.credential.from"]
    assert "sk-live-1" not in refused.text


@pytest.mark.promise("tenant.record_addresses")
async def test_an_address_that_nobody_would_call_is_refused_as_the_record_is_written(redis_url: str) -> None:
    """A server, a token endpoint and who is told; inside is where tool servers are, and stays open to them."""
    token = {"type": "oauth_client_credentials", "client_id": "c", "from": "env:TOOL_CREDENTIAL__DEFAULT__ERP"}
    record: JsonObject = {
        "id": "default",
        "connections": [
            {"id": "a", "url": "http://169.254.169.254/latest"},
            {"id": "b", "url": "http://10.0.0.7:9000/mcp"},
            {"id": "c", "url": "http://erp/", "credential": {**token, "token_url": "http://[fe80::1]/token"}},
            {"id": "d", "url": "http://2130706433/"},
        ],
        "notices": [{"url": "http://10.0.0.7/hook"}, {"url": "env:TOOL_CREDENTIAL__DEFAULT__HOOK"}],
    }
    async with operator(redis_url) as olga:
        refused, nothing = await olga.put(record, 0), await olga.ask("show")
    async with operator(redis_url, tools_allowed_hosts="169.254.169.254") as omar:
        opened = await omar.put({"id": "default", "connections": [{"id": "a", "url": "http://169.254.169.254/"}]}, 0)
    fields = [at(one, "field") for one in list_of(loads_object(refused.text)["fields"])]
    assert [one.status_code for one in (refused, nothing, opened)] == [400, 404, 200]
    assert fields == ["connections.0.url", "connections.2.credential.token_url", "connections.3.url", "notices.0.url"]


def list_of(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


@pytest.mark.promise("tenant.record_history")
async def test_who_changed_what_and_when_is_kept_and_can_be_taken_back(redis_url: str) -> None:
    async with operator(redis_url) as olga:
        await olga.put(RECORD, 0, comment="the ERP moves in")
        await olga._replace(metadata={"principal": {"id": "omar", "roles": ["operator"]}}).put(
            {**RECORD, "connections": []}, 1, comment="out again"
        )
        restored = await olga.ask("restore", version=1, comment="that was wrong")
        history = loads_object((await olga.ask("history")).text)
        earlier = loads_object((await olga.ask("show", version=2)).text)
    rows = [
        {name: at(row, name) for name in ("version", "by", "comment", "changed", "restored")}
        for row in list_of(history["versions"])
    ]
    assert rows == [
        {"version": 3, "by": "olga", "comment": "that was wrong", "changed": ["connections"], "restored": 1},
        {"version": 2, "by": "omar", "comment": "out again", "changed": ["connections"], "restored": None},
        {"version": 1, "by": "olga", "comment": "the ERP moves in", "changed": None, "restored": None},
    ]
    assert at(loads_object(restored.text), "record.connections.0.id") == "erp"
    assert at(earlier, "record.connections") == []


@pytest.mark.promise("tenant.record_withdrawn")
async def test_a_record_that_is_withdrawn_leaves_that_of_the_file_and_can_be_restored(
    redis_url: str, redis: Redis
) -> None:
    tenants = StoredTenants(RedisTenantRecords(redis), FileTenants(TenantRecord(id="default", time_zone="Asia/Tokyo")))
    zones = []
    async with operator(redis_url) as olga:
        none = await olga.ask("withdraw")
        for act in ("put", "withdraw", "restore"):
            body: JsonObject = {"version": 1} if act == "restore" else {"comment": "one file for all"}
            done = await olga.put(RECORD, 0) if act == "put" else await olga.ask(act, **body)
            zones.append((done.status_code, (await tenants.get("default")).time_zone))
            if act == "withdraw":
                gone, anew = await olga.ask("show"), await olga.put(RECORD, 1)
                empty = await olga.ask("restore", version=2)
        history = loads_object((await olga.ask("history")).text)
    assert [one.status_code for one in (none, gone, anew, empty)] == [404, 404, 412, 404]
    assert zones == [(200, "Europe/Paris"), (200, "Asia/Tokyo"), (200, "Europe/Paris")]
    assert [at(row, "withdrawn") for row in list_of(history["versions"])] == [False, True, False]


@pytest.mark.promise("tenant.record_next_turn")
async def test_a_changed_record_holds_at_once_and_a_begun_task_keeps_its_policies(redis_url: str, redis: Redis) -> None:
    """A tenant without a stored record has the file's; so does a task that was begun before there was one."""
    rule: JsonObject = {"id": "r", "condition": "amount > 1", "action": "block"}
    file = FileTenants(TenantRecord(id="default", unruled_writes="allow"))
    tenants = StoredTenants(RedisTenantRecords(redis), file, "http://tools")
    async with operator(redis_url) as olga:
        before = await tenants.get("default")
        await olga.put({**RECORD, "policies": [{"id": "p", "rules": [rule]}]}, 0)
        first = await tenants.get("default")
        await olga.put({"id": "default", "connections": [{"id": "here", "url": ""}]}, 1)
        second = await tenants.get("default")
    begun = await tenants.get_at_version("default", first.version)
    older = await tenants.get_at_version("default", before.version)
    assert [len(one.policies) for one in (before, first, second, begun, older)] == [0, 1, 0, 1, 0]
    assert (older.unruled_writes, begun.unruled_writes) == ("allow", "approve")
    assert [one.connections[0].url for one in (first, second, begun)] == [
        "http://erp.internal/mcp",
        "http://tools",
        "http://tools",
    ]
    assert first.connections[0].owner == "default"


@pytest.mark.promise("connections.request_endpoint")
async def test_a_request_may_name_the_endpoint_of_a_connection_and_no_other(redis: Redis, redis_url: str) -> None:
    """Outside of the embedded profile, and without a list of hosts; another tenant's record opens nothing."""
    erp = "http://erp.internal/mcp"
    async with stage(redis, redis_url, profile="production", authentication="off") as play:
        olga = Operator(play.client)
        before = await play.send("t1", "go", tools_endpoint=erp)
        await RedisTenantRecords(redis).put("globex", _globex(erp))
        foreign = await play.send("t1", "go", tools_endpoint=erp)
        await olga.put(RECORD, 0)
        own = await play.send("t1", "go", tools_endpoint=f"{erp}/")
        beside = await play.send("t2", "go", tools_endpoint="http://erp.internal/other")
    assert at(own, "result.status.state") == "completed"
    assert all("tools_endpoint" in str(at(one, "error.message")) for one in (before, foreign, beside))


def _globex(url: str) -> TenantVersion:
    document = dumps({"id": "globex", "connections": [{"id": "erp", "url": url}]})
    return TenantVersion(version=1, at=datetime.now(UTC), by="gina", document_json=document)
