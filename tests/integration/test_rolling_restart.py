"""One round of restarts over two small processes, with clients who try nothing twice."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from cli.stack.child import wait_until_ready
from cli.stack.plan import HOST, ProcessSpec, free_ports, url_of
from tests.http_client import open_http
from tools.chaos.crew import Crew
from tools.chaos.roller import Roller
from tools.tcp_proxy import TcpProxy

_PATIENCE = 60.0


def _spec(name: str, port: int) -> ProcessSpec:
    environ = {"HOST": HOST, "PORT": str(port), "PATH": str(Path(sys.executable).parent)}
    return ProcessSpec(name, ("services.policy",), url_of(port), stops=1, environ=environ)


@asynccontextmanager
async def _crew(folder: Path) -> AsyncIterator[Crew]:
    first, second = free_ports(2)
    crew = Crew([_spec("called", first), _spec("replica", second)], folder, {})
    try:
        await wait_until_ready(crew.children, _PATIENCE)
        yield crew
    finally:
        await crew.stop()


async def _ask(url: str, failed: list[str]) -> None:
    """Each time anew, until cancelled."""
    async with open_http(trust_env=False, headers={"Connection": "close"}) as http:
        while True:
            try:
                (await http.get(f"{url}/ready")).raise_for_status()
            except httpx.HTTPError as error:
                failed.append(repr(error))
            await asyncio.sleep(0.02)


@pytest.mark.promise("upgrade.nothing_fails")
async def test_a_service_that_is_called_by_name_is_replaced_without_a_failed_request(tmp_path: Path) -> None:
    """Its successor is ready before it leaves; a replica leaves first. Both end by themselves."""
    async with _crew(tmp_path) as crew, TcpProxy(crew.url("called").removeprefix("http://")) as line:
        pids, failed = [crew.pid(name) for name in crew.names], list[str]()
        roller = Roller(crew, {"called": line}, serves_on=0.05)
        async with crew.supervise(), asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
            asking = group.create_task(_ask(f"http://{line.address}", failed))
            await roller.run(0)
            asking.cancel()

        assert failed == []
        assert [(restart.name, restart.code) for restart in roller.restarts] == [("called", 0), ("replica", 0)]
        assert not {crew.pid(name) for name in crew.names} & set(pids)
        assert crew.ended_by_themselves == []
