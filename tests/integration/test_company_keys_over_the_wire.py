"""The company's idempotency key over the wire: an argument in MCP, and no place for it in the REST bridge."""

from pathlib import Path

import pytest

from examples.company import ledger
from examples.company.over_mcp import KEY
from examples.company.protocols import ToolProtocol
from services.executor.adapters.mcp_tools import McpTools
from services.executor.adapters.rest_bridge import RestBridge
from shared.domain.exact_json import JsonObject
from tests.company_stage import company

REFUND: JsonObject = {"order_id": "ORD-2001", "amount": "10.00", "reason": "late"}


@pytest.mark.promise("I3.our_key")
async def test_over_mcp_a_second_call_with_the_same_key_writes_nothing(tmp_path: Path) -> None:
    async with company(tmp_path) as running, McpTools() as servers:
        first, second = [
            await servers.call(running.connection, "create_refund", {**REFUND, KEY: "k1"}, 5) for _ in range(2)
        ]
    assert (first.is_error, first.content) == (False, second.content)
    assert ledger.count(running.database, "create_refund") == 1


@pytest.mark.promise("I3.our_key")
async def test_over_the_bridge_there_is_no_place_for_a_key(tmp_path: Path) -> None:
    async with company(tmp_path, protocol=ToolProtocol.REST) as running, RestBridge() as servers:
        tools = await servers.discover(running.connection)
        refund = next(tool for tool in tools if tool.name == "create_refund")
        assert KEY not in str(refund.input_schema)
        assert (await servers.call(running.connection, "create_refund", {**REFUND, KEY: "k1"}, 5)).is_error
    assert ledger.count(running.database, "create_refund") == 0
