"""`purple up` as people use it: its processes are replaced, and what it cannot do is said."""

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

from cli.stack.plan import find_free_ports
from shared.domain.exact_json import loads_object
from tests.e2e.commands import call_purple, purple, run_purple, start_purple

READY = 60.0


class Up(NamedTuple):
    process: asyncio.subprocess.Process
    url: str
    named: dict[str, int]


@asynccontextmanager
async def _up(folder: Path) -> AsyncIterator[Up]:
    (port,) = find_free_ports(1)
    process = await start_purple("up", "--port", str(port), "--dir", str(folder))
    try:
        table = await asyncio.wait_for(_table(process), READY)
        rows = [(name, int(pid)) for name, pid in re.findall(r"│ (\S+)\s+│.*│\s+(\d+)\s+│", table)]
        yield Up(process, f"http://127.0.0.1:{port}", dict(rows))
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
    (port,) = find_free_ports(1)
    done = await call_purple("send", "hello", "--url", f"http://127.0.0.1:{port}")
    assert done.code == 1
    assert "start one with `purple up`" in done.err
