"""What `purple up` says of servers that its environment names and that are not there."""

import asyncio

import pytest

from cli.stack.plan import find_free_ports
from cli.stack.reachable import find_unreachable_servers


async def test_a_server_that_is_not_there_is_named_and_one_that_answers_anything_is_not() -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    (free_port,) = find_free_ports(1)
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        told = await find_unreachable_servers(
            {
                "GREEN_AGENT_MCP_URL": f"http://127.0.0.1:{free_port}/mcp",
                "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            }
        )
    (sentence,) = told
    assert sentence.startswith("GREEN_AGENT_MCP_URL cannot be reached (ConnectError)")


async def test_nothing_is_asked_where_the_launcher_supplies_both() -> None:
    assert await find_unreachable_servers({"GREEN_AGENT_MCP_URL": ""}) == []


async def test_a_proxy_that_cannot_be_used_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")
    assert await find_unreachable_servers({"GREEN_AGENT_MCP_URL": "http://tools.invalid"}) == []
