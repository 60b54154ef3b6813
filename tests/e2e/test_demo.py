"""The main job, end to end: `purple demo` does real work on the embedded default, and knows when it went wrong."""

import time

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.commands import Done, purple

PER_TASK = {"name", "ok", "states", "strategy", "tool_calls", "writes", "answer", "database"}


def _tasks(report: JsonObject) -> list[JsonObject]:
    tasks = report["tasks"]
    assert isinstance(tasks, list)
    return [task for task in tasks if isinstance(task, dict)]


def _held(report: JsonObject) -> dict[str, Json]:
    return {str(task["name"]): task["ok"] for task in _tasks(report)}


def _said(done: Done) -> str:
    return f"exit code {done.code}\n{done.out}\n{done.err}"


@pytest.mark.promise("demo.end_to_end")
async def test_the_demo_carries_out_its_tasks_and_prints_one_object() -> None:
    """At least four tasks over the public endpoint within a minute, and a database that is as it should be."""
    began = time.monotonic()
    done = await purple("demo", "--json")
    assert done.code == 0, _said(done)
    assert time.monotonic() - began < 60
    report = loads_object(done.out)
    assert report["ok"] is True
    assert len(_tasks(report)) >= 4
    assert all(task.keys() >= PER_TASK for task in _tasks(report))
    assert report["model_notice"] == "rule-based planner, not an LLM"


@pytest.mark.promise("demo.fails_loudly")
async def test_a_check_that_does_not_hold_makes_the_demo_fail() -> None:
    """One task is expected to write once too often: the exit code says so, and only that task is named."""
    done = await purple("demo", "--json", "--break", "blocked by policy")
    assert done.code == 1, _said(done)
    report = loads_object(done.out)
    assert report["ok"] is False
    assert [name for name, ok in _held(report).items() if not ok] == ["blocked by policy"]
