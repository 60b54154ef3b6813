"""The example company as a process of its own: its settings, its end, its faults at run time."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from examples.company import ledger
from examples.company.__main__ import main
from services.executor.adapters.mcp_tools import McpTools
from shared.contracts.tenant import Connection
from tests.http_client import open_http
from tests.refusals import refusal_of, refusal_of_process

START_SECONDS = 90


async def spawn(*options: str, **environ: str) -> asyncio.subprocess.Process:
    clean = {name: value for name, value in os.environ.items() if name not in ("DATABASE", "PORT", "HOST")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.company", *options, env=clean | environ, stderr=asyncio.subprocess.PIPE
    )


@asynccontextmanager
async def started(*options: str, **environ: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A running company and its URL; it is killed at the end if it has not ended before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = await spawn(*options, PORT=str(port), **environ)
    url = f"http://127.0.0.1:{port}"
    try:
        async with asyncio.timeout(START_SECONDS):
            await answers(url)
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def answers(url: str) -> None:
    transport = httpx.AsyncHTTPTransport()
    async with httpx.AsyncClient(transport=transport) as http:
        while True:
            try:
                (await http.get(f"{url}/health")).raise_for_status()
            except httpx.TransportError:
                await asyncio.sleep(0.02)  # there is no event to wait for: the process is another one
            else:
                return


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "DATABASE"),
        ({"DATABASE": ""}, "DATABASE"),
        ({"DATABASE": "/dev/null/company.db"}, "DATABASE"),
        ({"DATABASE": "x.db", "PORT": "many"}, "PORT"),
        ({"DATABASE": "x.db", "COMPANY_FAULTS": '{"a": {"explode": 1}}'}, "COMPANY_FAULTS"),
        ({"DATABASE": "x.db", "COMPANY_FAULTS": "nonsense"}, "COMPANY_FAULTS"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_one_sentence_that_names_it(environ: Mapping[str, str], name: str) -> None:
    ended = refusal_of(main, environ)

    assert ended.code == 2
    assert ended.said.startswith(name)
    assert ended.said.count("\n") == 1


def test_its_process_says_the_same() -> None:
    assert refusal_of_process("examples.company", {}) == refusal_of(main, {})


async def test_a_write_survives_a_kill_and_a_restart_keeps_the_books(tmp_path: Path) -> None:
    database = tmp_path / "books" / "company.db"
    async with started("--database", str(database), "--reset") as (process, url), McpTools() as servers:
        await servers.call(Connection(id="c", url=url), "approve_expense", {"expense_id": "EXP-1001"}, 10)
        process.kill()
        await process.wait()
    async with started(DATABASE=str(database), SEED_DATA="true") as (process, _):
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            assert await process.wait() == 0

    assert ledger.count(database, "approve_expense") == 1
    assert (ledger.row(database, "expenses", "EXP-1001") or {})["status"] == "approved"


async def test_faults_are_not_to_be_changed_unless_allowed(tmp_path: Path) -> None:
    async with started(DATABASE=str(tmp_path / "company.db"), RESET="true") as (_, url), open_http() as http:
        assert (await http.post(f"{url}/faults", json={})).status_code == 404
