"""The example company as a process of its own: its settings, its end, its faults at run time."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from examples.company import ledger
from examples.company.__main__ import main
from services.executor.adapters.mcp_tools import McpTools
from shared.contracts.tenant import Connection
from tests.each_row import each_row
from tests.forked_service import ForkedService, forked_service
from tests.http_client import open_http
from tests.refusals import refusal_of, refusal_of_process

START_SECONDS = 90


@asynccontextmanager
async def started(*options: str, **environ: str) -> AsyncIterator[tuple[ForkedService, str]]:
    """A running company and its URL; it is killed at the end if it has not ended before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with forked_service("examples.company", *options, PORT=str(port), **environ) as process:
        async with asyncio.timeout(START_SECONDS):
            await answers(url)
        yield process, url


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


@each_row(
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
    async with started(DATABASE=str(database), SEED_DATA="true") as (process, _):
        process.signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 10) == 0

    assert ledger.count(database, "approve_expense") == 1
    assert (ledger.row(database, "expenses", "EXP-1001") or {})["status"] == "approved"


async def test_faults_are_not_to_be_changed_unless_allowed(tmp_path: Path) -> None:
    async with started(DATABASE=str(tmp_path / "company.db"), RESET="true") as (_, url), open_http() as http:
        assert (await http.post(f"{url}/faults", json={})).status_code == 404
