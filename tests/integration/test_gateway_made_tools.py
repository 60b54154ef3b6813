"""Made tools through the gateway: who sees them, what is shown, what a removal leaves, and the tenant's switch."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.executor.adapters.made_tools import RedisMade, SwitchedTenants
from services.executor.adapters.stored_tenants import FileTenants
from shared.contracts.made_tool import MadeCase, MadeTool
from shared.contracts.tenant import TenantRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.redis import connect
from tests.e2e.commands import call_purple
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, at, gateway

OPERATOR = {"principal": {"id": "olga", "roles": ["operator"]}}
TOOL = MadeTool(
    name="net_margin",
    purpose="net margin in percent",
    arguments=("revenue", "cost"),
    result="ratio",
    code="def net_margin(revenue, cost):\n    return _divided(revenue - cost, revenue) * 100",
    code_sha256="ab" * 32,
    cases=(MadeCase(inputs=("100", "60"), expected="40"),),
    made_at=datetime(2026, 1, 2, tzinfo=UTC),
    task_id="t1",
)


async def _post(url: str, path: str, body: object) -> tuple[int, JsonObject]:
    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        response = await client.post(path, json=body)
    return response.status_code, loads_object(response.text)


async def _asked(url: str, path: str, **body: object) -> tuple[int, JsonObject]:
    return await _post(url, path, {"metadata": OPERATOR, **body})


@pytest.mark.promise("made.removed")
async def test_an_operator_lists_reads_and_removes_a_made_tool(redis: Redis, redis_url: str) -> None:
    """What a removal leaves names version, hash, time and person, and holds no code."""
    kept = await RedisMade(redis).keep("default", TOOL)
    async with gateway(redis_url) as url:
        listed = await _asked(url, "/tools/made/list")
        shown = await _asked(url, "/tools/made/net_margin/show")
        removed = await _asked(url, "/tools/made/net_margin/remove")
        again = await _asked(url, "/tools/made/net_margin/remove")
        unknown = await _asked(url, "/tools/made/gross_margin/show")
    assert kept.version == 1
    assert at(listed[1], "tools.0.name") == "net_margin"
    assert "code" not in str(listed[1]).replace("code_sha256", "")
    assert at(shown[1], "versions.0.code") == TOOL.code
    assert at(shown[1], "versions.0.cases.0.expected") == "40"
    assert at(removed[1], "versions.0.removed_by") == "olga"
    assert at(removed[1], "versions.0.code") == ""
    assert at(removed[1], "versions.0.code_sha256") == TOOL.code_sha256
    assert again == removed
    assert unknown[0] == 404


@pytest.mark.promise("made.off")
async def test_an_operators_switch_goes_before_the_tenants_record(redis: Redis, redis_url: str) -> None:
    record = TenantRecord(id="default")
    tenants = SwitchedTenants(FileTenants(record), redis)
    before = (await tenants.get("default")).made_tools
    async with gateway(redis_url) as url:
        on = await _asked(url, "/tenants/default/made-tools", on=True)
        switched = (await tenants.get("default")).made_tools
        off = await _asked(url, "/tenants/default/made-tools", on=False)
        wrong, _ = await _asked(url, "/tenants/default/made-tools", on="yes")
        foreign, _ = await _asked(url, "/tenants/globex/made-tools", on=True)
    assert (before, switched, (await tenants.get("default")).made_tools) == (False, True, False)
    assert (on[1]["made_tools"], off[1]["made_tools"]) == (True, False)
    assert (wrong, foreign) == (400, 404)


@pytest.mark.promise("made.off")
async def test_without_redis_nothing_is_switched_on(tmp_path: Path) -> None:
    """A switch that cannot be read may have been turned off."""
    gone = connect(f"unix://{tmp_path}/gone.sock")
    tenants = SwitchedTenants(FileTenants(TenantRecord(id="default", made_tools=True)), gone)

    record = await tenants.get("default")

    await gone.aclose()
    assert not record.made_tools


@pytest.mark.promise("made.removed", "made.off")
async def test_the_command_line_switches_shows_and_removes(redis: Redis, redis_url: str) -> None:
    await RedisMade(redis).keep("default", TOOL)
    async with gateway(redis_url) as url:
        switched = await call_purple("tenant", "made-tools", "default", "on", "--url", url, "--json")
        shown = await call_purple("tools", "made", "show", "net_margin", "--url", url)
        removed = await call_purple("tools", "made", "remove", "net_margin", "--url", url, "--json", "--as", "olga")
    assert loads_object(switched.out)["made_tools"] is True
    assert "def net_margin(revenue, cost)" in shown.out
    assert at(loads_object(removed.out), "versions.0.removed_by") == "olga"
