"""``python -m services.executor replay``: an archived task run again, calling nothing."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.turn.replay_cursor import ReplayResult
from shared.domain.exact_json import Json, JsonObject, dumps

SAME, DIFFERS, CANNOT = 0, 1, 2


class WantedTask(NamedTuple):
    task_id: str
    tenant: str
    as_json: bool


def parse_arguments(arguments: Sequence[str]) -> WantedTask:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor replay", description=__doc__, allow_abbrev=False)
    parser.add_argument("task", help="the task's id")
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args(arguments)
    return WantedTask(given.task, given.tenant, given.json)


def format_report(wanted: WantedTask, done: ReplayResult) -> str:
    return dumps(_as_json(wanted, done)) if wanted.as_json else _as_text(wanted, done)


def _as_json(wanted: WantedTask, done: ReplayResult) -> JsonObject:
    steps: list[Json] = [
        {"turn": step.turn_id, "step": step.key, "kind": step.kind, "characters": step.size} for step in done.steps
    ]
    difference: Json = None if done.is_same else {"at": done.at, "how": done.difference}
    return {
        "task": wanted.task_id,
        "tenant": wanted.tenant,
        "same": done.is_same,
        "state": done.state.value if done.state else None,
        "difference": difference,
        "answer": done.answer,
        "steps": steps,
    }


def _as_text(wanted: WantedTask, done: ReplayResult) -> str:
    lines = [f"{step.kind:<10} {step.key}" for step in done.steps]
    end = f"ends the same: {done.state}" if done.is_same else f"differs at {done.at}: {done.difference}"
    return "\n".join([*lines, f"{wanted.task_id}: {len(done.steps)} steps, {end}"])
