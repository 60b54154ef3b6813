"""A tenant's stop through the gateway: who may, what its clients are told, and what its spending looks like."""

from datetime import UTC, datetime

import pytest

from services.executor.adapters.redis_spend import RedisSpend
from services.executor.ports.turns import Charge, DayCaps
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.redis import connect
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, at, gateway

OPERATOR = {"principal": {"id": "olga", "roles": ["operator"]}}
V1 = {"A2A-Version": "1.0"}


async def _post(url: str, path: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, JsonObject]:
    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        response = await client.post(path, json=body, headers=headers)
    return response.status_code, loads_object(response.text)


async def _tenant(url: str, action: str, tenant: str = "default", **body: object) -> tuple[int, JsonObject]:
    return await _post(url, f"/tenants/{tenant}/{action}", {"metadata": OPERATOR, **body})


@pytest.mark.promise("tenant.stop")
async def test_a_stopped_tenants_clients_are_told_why_in_every_dialect(redis_url: str) -> None:
    """Refused at once, not kept waiting; after the stop the same message is accepted."""
    legacy = {"id": "t1", "message": {"parts": [{"text": "go"}]}}
    modern: dict[str, object] = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "go"}]}}
    modern |= {"configuration": {"returnImmediately": True}}
    async with gateway(redis_url) as url:
        stopped = await _tenant(url, "stop", reason="the ledger is repaired")
        old = await _post(url, "/", {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": legacy})
        new = await _post(url, "/", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": modern}, V1)
        solver = await _post(url, "/api/a2a/purple-agent", {"task_id": "s1", "task": "go"})
        resumed = await _tenant(url, "resume")
        after = await _post(url, "/", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": modern}, V1)
    assert (stopped[1]["stopped"], resumed[1]["stopped"], old[0]) == (True, False, 503)
    said = [str(at(reply, "error.message")) for _, reply in (old, new)]
    assert all("the ledger is repaired" in sentence for sentence in said)
    assert solver[0] == 503
    assert "result" in after[1]


async def test_an_operator_sees_what_the_tenant_spent_and_what_is_set_aside(redis_url: str) -> None:
    """By day, tokens and exact dollars."""
    state = connect(redis_url)
    async with gateway(redis_url) as url:
        _, before = await _tenant(url, "show")
        day = datetime.now(UTC).date().isoformat()
        spend = RedisSpend(state)
        await spend.settle("default", day, [Charge("a", 120, 1_500_000)])
        await spend.reserve("default", day, Charge("b", 30, 250_000), DayCaps())
        _, after = await _tenant(url, "show")
    await state.aclose()
    row = {"date": day, "tokens": 120, "model_calls": 1, "set_aside_tokens": 30}
    assert (before["spend"], after["sessions"]) == ([], {"waiting": 0, "running": 0})
    assert after["spend"] == [{**row, "dollars": "0.0015", "set_aside_dollars": "0.00025"}]
