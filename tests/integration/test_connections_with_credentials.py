"""Tool servers that demand a credential: each kind of it, over MCP and over the REST bridge, on real sockets."""

import asyncio
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from examples.company.protocols import Protocol
from services.executor.ports.tools import ToolServers, ToolUnreachable
from shared.contracts.tenant import Connection
from tests.demanding import TokenServer, guarded_company, showing
from tests.serving import serving

SECRET = "s3cr3t-of-the-erp"
BOTH = pytest.mark.parametrize("protocol", [Protocol.MCP, Protocol.REST])
REFERENCE = "file:erp-token"


def kept(folder: Path, secret: str, name: str = "erp-token") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(secret)
    return folder


async def read(servers: ToolServers, connection: Connection) -> object:
    answer = await servers.call(connection, "get_expense_claim", {"claim_id": "EXP-1001"}, 5)
    return answer.content


@BOTH
@pytest.mark.promise("connections.credential_kinds")
@pytest.mark.parametrize(
    ("kind", "header", "value"), [("bearer", "authorization", f"Bearer {SECRET}"), ("header", "x-api-key", SECRET)]
)
async def test_a_server_is_shown_its_header(
    tmp_path: Path, protocol: Protocol, kind: str, header: str, value: str
) -> None:
    """Discovery, calls and the end of the session alike; the file's last line break is not part of the secret."""
    given = {"type": kind, "from": REFERENCE} | ({"header": "X-Api-Key"} if kind == "header" else {})
    secrets = kept(tmp_path / "secrets", f"{SECRET}\n")
    async with guarded_company(tmp_path, protocol, value, header) as erp, showing(secrets) as servers:
        tools = await servers.discover(erp.connection(**given))
        assert await read(servers, erp.connection(**given))
    assert len(tools) > 5
    assert set(erp.door.shown) == {value}
