"""`purple up` as people use it: it is sent tasks, its processes are replaced, and nothing is left when it ends."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.stack.plan import free_ports, is_port_free
from cli.up import EXAMPLE
from shared.domain.exact_json import loads_object
from tests.e2e.commands import call_purple, purple, run_purple, start_purple
from tests.e2e.waiting import eventually, is_gone

READY = 60.0


class Up(NamedTuple):
    process: asyncio.subprocess.Process
    url: str
    pids: tuple[int, ...]
    named: dict[str, int]


@asynccontextmanager
async def _up(folder: Path) -> AsyncIterator[Up]:
    (port,) = free_ports(1)
    process = await start_purple("up", "--port", str(port), "--dir", str(folder))
    try:
        table = await asyncio.wait_for(_table(process), READY)
        rows = [(name, int(pid)) for name, pid in re.findall(r"│ (\S+)\s+│.*│\s+(\d+)\s+│", table)]
        yield Up(process, f"http://127.0.0.1:{port}", tuple(pid for _, pid in rows), dict(rows))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _table(process: asyncio.subprocess.Process) -> str:
    """What it says until it is up; the end of its output if it never is."""
    assert process.stdout is not None
    assert process.stderr is not None
    said = ""
    while "Ctrl-C" not in said:
        line = await process.stdout.readline()
        if not line:
            raise AssertionError(f"purple up ended early: {said} {(await process.stderr.read()).decode()}")
        said += line.decode()
    return said


async def _said_until(process: asyncio.subprocess.Process, words: str) -> str:
    """What it says on stderr, up to the line with those words."""
    assert process.stderr is not None
    said = ""
    while words not in said:
        line = await process.stderr.readline()
        assert line, f"purple up ended: {said}"
        said += line.decode()
    return said


@pytest.mark.long  # what it answers is in the suite: one_stack/test_commands.py
@pytest.mark.promise("cli.send")
async def test_a_stack_is_sent_a_task_and_stops_in_order(tmp_path: Path) -> None:
    async with _up(tmp_path) as up:
        sent = await call_purple("send", EXAMPLE, "--url", up.url)
        assert sent.code == 0, sent.err
        up.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(up.process.wait(), 30) == 0
        assert all(is_gone(pid) for pid in up.pids)
        assert is_port_free(int(up.url.rpartition(":")[2]))


@pytest.mark.long  # with one service and a Redis it is in the suite: test_launcher_children.py
@pytest.mark.promise("launcher.no_orphans")
async def test_a_whole_stack_dies_with_a_killed_launcher(tmp_path: Path) -> None:
    async with _up(tmp_path) as up:
        assert len(up.pids) >= 5
        up.process.kill()
        await up.process.wait()
        assert await eventually(lambda: all(is_gone(pid) for pid in up.pids), 20)


@pytest.mark.long  # two servers by themselves are in the suite: test_launcher_children.py
@pytest.mark.promise("launcher.no_orphans")
async def test_a_stack_whose_redis_dies_says_so_and_ends(tmp_path: Path) -> None:
    """Without it nothing can be accepted or carried out: better down, and said, than up and of no use.

    The queue's server may die: it is started again.
    """
    async with _up(tmp_path) as up:
        redis, queue = up.pids[-2:]  # the table's last rows
        os.kill(queue, signal.SIGKILL)
        sent = await call_purple("send", EXAMPLE, "--url", up.url)
        assert sent.code == 0, sent.err
        os.kill(redis, signal.SIGKILL)
        assert await asyncio.wait_for(up.process.wait(), 30) == 1
        assert up.process.stderr is not None
        assert "redis ended with exit code -9" in (await up.process.stderr.read()).decode()
        assert all(is_gone(pid) for pid in up.pids)


@pytest.mark.timeout(300)
@pytest.mark.long
@pytest.mark.promise("launcher.restarts")
async def test_a_stack_survives_each_killed_process_and_a_waiting_approval_with_it(tmp_path: Path) -> None:
    """Each is started again, and said so; the approval that waited is then answered and its task carried out."""
    async with _up(tmp_path) as up:
        asked = await purple("send", "Approve expense claim EXP-1001.", "--url", up.url, "--json")
        approval = str(loads_object(asked.out)["metadata"]["approval_id"])  # type: ignore[call-overload,index]  # JSON
        for name in ("executor-1", "gateway", "learner", "policy", "planner"):
            os.kill(up.named[name], signal.SIGKILL)
            said = await asyncio.wait_for(_said_until(up.process, f"{name} is up again"), READY)
            assert f"{name} ended with exit code -9" in said
            assert "started again in" in said
        answered = await call_purple(
            "approvals", "approve", approval, "--as", "dana", "--level", "manager", "--url", up.url
        )
        assert (answered.code, up.process.returncode) == (0, None), answered.err
        record = await call_purple("task", "show", str(loads_object(asked.out)["id"]), "--url", up.url, "--json")
        assert loads_object(record.out)["state"] == "completed", record.out


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    """Nothing is started, and the sentence says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run_purple("up", "--port", str(port), "--dir", str(tmp_path))
    assert done.code == 1
    assert f"Port {port} is taken" in done.err


async def test_without_a_gateway_send_says_how_to_start_one() -> None:
    (port,) = free_ports(1)
    done = await call_purple("send", "hello", "--url", f"http://127.0.0.1:{port}")
    assert done.code == 1
    assert "start one with `purple up`" in done.err
