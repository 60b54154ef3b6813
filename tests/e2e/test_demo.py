"""The main job, end to end: `purple demo` does real work on the embedded default, and knows when it went wrong."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from cli.stack.plan import find_free_ports
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.commands import Done, purple, run_purple
from tests.http_client import open_http

PER_TASK = {"name", "ok", "states", "strategy", "tool_calls", "writes", "answer", "database"}


def _tasks(report: JsonObject) -> list[JsonObject]:
    tasks = report["tasks"]
    assert isinstance(tasks, list)
    return [task for task in tasks if isinstance(task, dict)]


def _held(report: JsonObject) -> dict[str, Json]:
    return {str(task["name"]): task["ok"] for task in _tasks(report)}


def _held_demo(*options: str) -> JsonObject:
    return _checked(run_purple("demo", "--json", *options))


def _checked(done: Done) -> JsonObject:
    assert done.code == 0, _said(done)
    report = loads_object(done.out)
    assert report["ok"] is True
    assert len(_tasks(report)) >= 10
    assert int(str(report["milliseconds"])) < 60_000
    return report


@asynccontextmanager
async def _endpoint() -> AsyncIterator[str]:
    """A server that speaks the Messages API, started by nobody's launcher."""
    (port,) = find_free_ports(1)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.planner",
        env={**os.environ, "PORT": str(port)},
        stderr=asyncio.subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        await _ready(url)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def _ready(url: str) -> None:
    async with asyncio.timeout(30), open_http() as http:
        while True:
            try:
                if (await http.get(f"{url}/ready")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


def _said(done: Done) -> str:
    return f"exit code {done.code}\n{done.out}\n{done.err}"


@pytest.mark.promise("demo.end_to_end")
def test_the_demo_carries_out_its_tasks_and_prints_one_object() -> None:
    """At least ten tasks over the public endpoint within a minute, and a database that is as it should be."""
    report = _held_demo()
    assert all(task.keys() >= PER_TASK for task in _tasks(report))
    assert report["model_notice"] == "rule-based planner, not an LLM"


@pytest.mark.long  # the demo itself is in the suite
@pytest.mark.promise("demo.rest_bridge")
def test_the_same_demo_holds_over_the_rest_bridge() -> None:
    """The company is served over the other protocol; nobody tells the worker which."""
    _held_demo("--protocol", "rest")


@pytest.mark.long  # the demo itself is in the suite
@pytest.mark.promise("demo.any_model")
async def test_the_same_demo_holds_with_a_model_at_an_outside_address() -> None:
    """The planner runs somewhere else and is taken for any endpoint: it is not announced as the project's own."""
    async with _endpoint() as url:
        report = _checked(await purple("demo", "--json", "--model-url", url, "--model", "offline-planner-1"))
    assert report["model_notice"] is None


@pytest.mark.long
@pytest.mark.promise("demo.fails_loudly")
def test_a_check_that_does_not_hold_makes_the_demo_fail() -> None:
    """One task is expected to write once too often: the exit code says so, and only that task is named."""
    done = run_purple("demo", "--json", "--break", "blocked by policy")
    assert done.code == 1, _said(done)
    report = loads_object(done.out)
    assert report["ok"] is False
    assert [name for name, ok in _held(report).items() if not ok] == ["blocked by policy"]
