"""The launcher's children: ready in time or explained, stopped in order, and never left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.console import CommandError
from cli.launcher import Stack, run_stack
from cli.stack.child import Child, wait_until_ready
from cli.stack.plan import ProcessSpec, StackOptions, build_local_url, find_free_ports, is_port_free
from shared.infra.embedded_redis import EmbeddedRedis
from tests.e2e.waiting import eventually, is_gone
from tests.http_client import open_http
from tests.redis_server import private_server, short_folder

READY = 20.0


def _company(folder: Path, port: int, **more: str) -> ProcessSpec:
    environ = {**os.environ, "PORT": str(port), "DATABASE": str(folder / "books.sqlite3"), **more}
    return ProcessSpec("company", ("examples.company",), build_local_url(port), 1, "/health", environ)


@asynccontextmanager
async def _started(spec: ProcessSpec, folder: Path) -> AsyncIterator[Child]:
    child = Child.start(spec, folder)
    try:
        yield child
    finally:
        await child.stop()


def _command_line(pid: int) -> str | None:
    """As others see it; None where the system has no such file."""
    shown = Path(f"/proc/{pid}/cmdline")
    return shown.read_text() if shown.is_file() else None


async def test_a_child_is_ready_when_it_says_so_and_ends_on_request(tmp_path: Path) -> None:
    """Whoever lists processes sees what it runs, though it was forked."""
    (port,) = find_free_ports(1)
    async with _started(_company(tmp_path, port), tmp_path) as child:
        await wait_until_ready((child,), READY)
        shown = _command_line(child.pid)
        async with open_http(timeout=5) as client:
            answer = await client.get(f"{child.spec.url}/health")
    assert answer.is_success
    assert shown is None or shown.startswith("python -m examples.company")
    assert child.exit_code is not None
    assert is_port_free(port)


@pytest.mark.promise("launcher.explains")
async def test_a_redis_that_may_forget_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (port,) = find_free_ports(1)
    with private_server(durable=False) as server:
        options = StackOptions(tmp_path, {**os.environ, "REDIS_URL": server.url}, port, "127.0.0.1", 1, "embedded")
        with pytest.raises(CommandError, match="forgets nothing: appendonly is 'no'"):
            async with run_stack(options):
                pass
    assert not [*(tmp_path / "logs").iterdir()]


@pytest.mark.promise("launcher.explains")
async def test_a_service_that_refuses_to_start_is_explained_with_its_last_words(tmp_path: Path) -> None:
    """The complaint names the process, its exit code, its log file and what it said."""
    spec = _company(tmp_path, find_free_ports(1)[0], COMPANY_FAULTS="no json")
    async with _started(spec, tmp_path) as child:
        with pytest.raises(CommandError) as caught:
            await wait_until_ready((child,), READY)
    assert "company ended with exit code 2" in caught.value.sentence
    assert "company.log" in caught.value.detail
    assert "COMPANY_FAULTS" in caught.value.detail


@pytest.mark.promise("launcher.explains")
async def test_what_an_earlier_process_wrote_into_the_same_log_is_not_told_again(tmp_path: Path) -> None:
    """A fault that was mended would be read as one that is still there."""
    words: list[str] = []
    for fault in ("no json", "[1]"):
        async with _started(_company(tmp_path, find_free_ports(1)[0], COMPANY_FAULTS=fault), tmp_path) as child:
            with pytest.raises(CommandError) as caught:
                await wait_until_ready((child,), READY)
        words.append(caught.value.detail.partition("\n")[2])
    log = (tmp_path / "company.log").read_text()
    assert words[0] != words[1]
    assert log.count(words[0]) == 1
    assert words[0] not in words[1]
    assert words[1] in log


@pytest.mark.promise("launcher.explains")
async def test_a_service_that_never_gets_ready_is_given_up_after_the_bound(tmp_path: Path) -> None:
    """It runs, but nothing listens where it should answer."""
    sleeper = ProcessSpec(
        "deaf", ("tests.e2e.sleeper",), build_local_url(find_free_ports(1)[0]), 1, environ=dict(os.environ)
    )
    async with _started(sleeper, tmp_path) as child:
        with pytest.raises(CommandError, match="deaf was not ready within 1 seconds: no connection"):
            await wait_until_ready((child,), 1.0)


@pytest.mark.promise("launcher.explains")
async def test_a_service_that_ends_is_told_at_once_and_not_after_one_that_waits_for_it(tmp_path: Path) -> None:
    """A gateway without its Redis is never ready, and the executor that named the fault had ended long ago."""
    sleeper = ProcessSpec(
        "deaf", ("tests.e2e.sleeper",), build_local_url(find_free_ports(1)[0]), 1, environ=dict(os.environ)
    )
    faulty = _company(tmp_path, find_free_ports(1)[0], COMPANY_FAULTS="no json")
    async with _started(sleeper, tmp_path) as deaf, _started(faulty, tmp_path) as company:
        with pytest.raises(CommandError, match="company ended with exit code 2"):
            await wait_until_ready((deaf, company), READY)


async def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    environ = {**os.environ, "DEAF_TO_SIGTERM": "1"}
    sleeper = ProcessSpec("deaf", ("tests.e2e.sleeper",), build_local_url(1), 1, environ=environ)
    async with _started(sleeper, tmp_path) as child:
        assert await eventually(lambda: "asleep" in child.read_last_lines())
        await child.stop(patience=0.2)
    assert child.exit_code == -signal.SIGKILL


@pytest.mark.promise("launcher.no_orphans")
async def test_children_die_with_their_launcher_even_when_it_is_killed(tmp_path: Path) -> None:
    """SIGKILL leaves the launcher no time to stop anything: the kernel tells its children."""
    launcher = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.e2e.killed_launcher", str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert launcher.stdout is not None
    pids = [int(pid) for pid in (await launcher.stdout.readline()).split()]
    assert len(pids) == 3
    launcher.kill()
    await launcher.wait()
    assert await eventually(lambda: all(is_gone(pid) for pid in pids))


@pytest.mark.promise("launcher.no_orphans")
async def test_the_end_of_redis_ends_a_stack_and_the_end_of_the_queues_server_does_not() -> None:
    with (
        short_folder() as name,
        EmbeddedRedis(Path(name) / "state") as state,
        EmbeddedRedis(Path(name) / "queue") as queue,
    ):
        stack = Stack(StackOptions(Path(name), {}), (), state.url, state, queue)
        keeping, dead = asyncio.create_task(stack.keep_running(print)), queue.pid
        assert dead
        assert state.pid
        os.kill(dead, signal.SIGKILL)
        assert await eventually(lambda: queue.exit_code is None and queue.pid != dead)
        os.kill(state.pid, signal.SIGKILL)
        complaint = await asyncio.wait_for(keeping, READY)
    assert "redis ended with exit code -9" in complaint.sentence


async def test_a_queues_server_that_cannot_be_started_again_ends_a_stack_with_a_sentence() -> None:
    with short_folder() as name, EmbeddedRedis(Path(name)) as queue:
        assert queue.pid
        os.kill(queue.pid, signal.SIGKILL)
        assert await eventually(lambda: queue.exit_code is not None)
        with EmbeddedRedis(Path(name)):
            stack = Stack(StackOptions(Path(name), {}), (), "redis://x", None, queue)
            complaint = await asyncio.wait_for(stack.keep_running(print), READY)
    assert "Another server keeps its data" in complaint.sentence


def test_free_ports_are_different_and_free() -> None:
    ports = find_free_ports(5)
    assert len(set(ports)) == 5
    assert all(is_port_free(port, host) for port in ports for host in ("127.0.0.1", "::1", "::"))
