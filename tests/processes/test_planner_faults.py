"""A model that errs, in every kind of process: whatever it gets wrong, no wrong write is made."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.demo.books import BookChange
from services.planner.core.faults import NAMES
from shared.domain.words import TaskState
from tests.processes.errands import ERRANDS, carried_out
from tests.processes.stage import open_stage

_LONG = 900


class Left(NamedTuple):
    """How a task ended, and what it left in the company's database; ``passed``: what stood there on the way, too."""

    state: TaskState
    process: object
    writes: tuple[str, ...]
    changes: frozenset[BookChange]
    passed: frozenset[BookChange]


_KNOWN: dict[str, Left] = {}  # what a kind of process comes to without a fault is the same each time


def _folder(place: Path, name: str) -> Path:
    made = place / name
    made.mkdir()
    return made


async def _left(place: Path, redis_url: str, kind: str, faults: str = "") -> Left:
    async with open_stage(place, redis_url, planner_faults=faults) as stage:
        seen: set[BookChange] = set()
        stage.faults.before_call = lambda: seen.update(stage.changes)
        task = await carried_out(stage, ERRANDS[kind])
        left = frozenset(stage.changes)
        return Left(task.state, task.metadata["process_type"], stage.writes, left, left | seen)


def _wrong(erring: Left, healthy: Left) -> list[str]:
    """What an erring model's task changed that it should not have; one that is called done has to have left it all.

    A repetition that changes nothing is none, nor is a state through which the same row goes when nobody errs.
    """
    wrong = [str(change) for change in sorted(erring.changes - healthy.passed, key=str)]
    if erring.state is TaskState.COMPLETED:
        wrong += [f"called done without {change}" for change in sorted(healthy.changes - erring.changes, key=str)]
    return wrong


async def _healthy(place: Path, redis_url: str, kind: str) -> Left:
    if kind not in _KNOWN:
        _KNOWN[kind] = await _left(_folder(place, "healthy"), redis_url, kind)
    assert (_KNOWN[kind].state, _KNOWN[kind].process) == (TaskState.COMPLETED, kind), _KNOWN[kind]
    return _KNOWN[kind]


async def _compared(place: Path, redis_url: str, kind: str, fault: str) -> tuple[Left, list[str]]:
    healthy = await _healthy(place, redis_url, kind)
    detail = f"{fault}={healthy.writes[0]}" if fault == "write_before_read" else fault
    erring = await _left(_folder(place, "erring"), redis_url, kind, detail)
    return erring, _wrong(erring, healthy)


@pytest.mark.promise("process.erring_models")
@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("hr_offboarding", "write_before_read"),
        ("order_management", "ignored_policy"),
        ("ar_collections", "wrong_record"),
    ],
)
async def test_an_erring_model_makes_no_wrong_write(tmp_path: Path, redis_url: str, kind: str, fault: str) -> None:
    _, wrong = await _compared(tmp_path, redis_url, kind, fault)
    assert wrong == []


@pytest.mark.long
@pytest.mark.timeout(_LONG)
@pytest.mark.promise("process.erring_models")
@pytest.mark.parametrize("fault", sorted(NAMES))
async def test_an_erring_model_makes_no_wrong_write_in_any_process(
    tmp_path: Path, redis_url: str, fault: str, record_property: Callable[[str, object], None]
) -> None:
    """Every kind of process under one fault; the fraction of tasks that still complete is printed."""
    ended = {}
    for kind in ERRANDS:
        ended[kind] = await _compared(_folder(tmp_path, kind), redis_url, kind, fault)
    completed = [kind for kind, (left, _) in ended.items() if left.state is TaskState.COMPLETED]
    record_property("shown", f"{fault}: {len(completed)} of {len(ended)} tasks completed")
    assert {kind: wrong for kind, (_, wrong) in ended.items() if wrong} == {}
