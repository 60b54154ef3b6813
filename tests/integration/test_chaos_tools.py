"""What a chaos run breaks things with, and one round of restarts with clients who try nothing twice."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from redis import Redis

from cli.stack.child import wait_until_ready
from cli.stack.plan import HOST, ProcessSpec, build_local_url, find_free_ports
from tests.http_client import open_http
from tools.chaos.crew import ProcessCrew
from tools.chaos.full_disk import NoDisk, SmallDisk
from tools.chaos.roller import RollingRestarter
from tools.chaos.shifted_clock import ClockFile
from tools.chaos.state_server import StateServer
from tools.tcp_proxy import TcpProxy


@pytest.fixture
def state() -> Iterator[StateServer]:
    with TemporaryDirectory(prefix="pa-") as folder:
        server = StateServer(Path(folder) / "redis")
        server.server.start()
        yield server
        server.stop()


def _client(state: StateServer) -> "Redis":
    return Redis(unix_socket_path=state.server.url.removeprefix("unix://"), decode_responses=True)


@pytest.mark.promise("chaos.tail_counted")
def test_a_cut_log_lacks_what_was_written_after_the_mark(state: StateServer) -> None:
    with _client(state) as client:
        client.set("before", "1")
        end = state.log_end()
        assert end is not None
        client.set("after", "1")
    state.server.kill()
    assert state.cut_log(end) > 0
    state.server.start()
    with _client(state) as client:
        assert (client.get("before"), client.get("after")) == ("1", None)


@pytest.mark.promise("chaos.tail_counted")
async def test_a_promoted_replica_lacks_what_its_primary_wrote_while_their_line_stood_still(state: StateServer) -> None:
    with _client(state) as client:
        client.set("before", "1")
        replica = await state.replicate()
        assert replica is not None
        assert await state.catch_up(replica)
        replica.line.answers.pause()
        await asyncio.to_thread(client.set, "after", "1")
    state.server.kill()
    assert await state.promote(replica)
    with _client(state) as client:
        assert (client.get("before"), client.get("after")) == ("1", None)


_SAYS = """
import datetime, time
from datetime import UTC, datetime as named
print(time.time() - time.clock_gettime(time.CLOCK_REALTIME), isinstance(named.now(UTC), named), type(named.now(UTC)))
print((named.now(UTC) - datetime.datetime.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME), UTC)).total_seconds())
"""


def _run(folder: Path, file: Path) -> list[str]:
    (folder / "says_time.py").write_text(_SAYS)
    root = Path(__file__).resolve().parents[2]
    told = {**os.environ, "PYTHONPATH": f"{root}:{folder}"}
    words = [sys.executable, "-m", "tools.chaos.shifted_clock", str(file), "says_time"]
    return subprocess.run(words, env=told, capture_output=True, text=True, check=True).stdout.splitlines()


def test_every_reading_of_the_wall_clock_is_wrong_by_what_the_file_says(tmp_path: Path) -> None:
    clock = ClockFile(tmp_path / "clock")
    clock.set_wrong(600.0)
    first, second = _run(tmp_path, tmp_path / "clock")
    wrong, is_plain, kind = first.split(maxsplit=2)
    assert abs(float(wrong) - 600) < 60
    assert (is_plain, kind) == ("True", "<class 'datetime.datetime'>")
    assert abs(float(second) - 600) < 60
    assert clock.reads > 0


def test_a_clock_that_is_not_set_wrong_is_right(tmp_path: Path) -> None:
    ClockFile(tmp_path / "clock")
    assert abs(float(_run(tmp_path, tmp_path / "clock")[1])) < 60


def test_nothing_fits_on_a_full_disk_and_everything_once_it_is_empty_again(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path / "small")
    try:
        disk.mount()
    except NoDisk as problem:
        pytest.skip(f"no file system may be mounted here: {problem}")
    try:
        with disk.fill(), pytest.raises(OSError, match="No space left"):
            (tmp_path / "small" / "more").write_bytes(bytes(100_000))
        (tmp_path / "small" / "after").write_bytes(bytes(100_000))
    finally:
        disk.unmount()

    assert not (tmp_path / "small" / "after").exists()


def test_where_nobody_can_mount_there_is_no_such_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NoDisk):
        SmallDisk(tmp_path / "small").mount()


_PATIENCE = 60.0


def _spec(name: str, port: int) -> ProcessSpec:
    environ = {"HOST": HOST, "PORT": str(port), "PATH": str(Path(sys.executable).parent)}
    return ProcessSpec(name, ("services.policy",), build_local_url(port), stop_rank=1, environ=environ)


@asynccontextmanager
async def _crew(folder: Path) -> AsyncIterator[ProcessCrew]:
    first, second = find_free_ports(2)
    crew = ProcessCrew([_spec("called", first), _spec("replica", second)], folder, {})
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
        roller = RollingRestarter(crew, {"called": line}, serves_on=0.05)
        async with crew.supervise(), asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
            asking = group.create_task(_ask(f"http://{line.address}", failed))
            await roller.run(0)
            asking.cancel()

        assert failed == []
        assert [(restart.name, restart.code) for restart in roller.restarts] == [("called", 0), ("replica", 0)]
        assert not {crew.pid(name) for name in crew.names} & set(pids)
        assert crew.ended_by_themselves == []
