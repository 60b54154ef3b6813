"""``python -m services.executor replay``: replays an archived task, calling nothing outside."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import NamedTuple

from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.replay import CannotReplay, ReplaysWith, replay
from services.executor.core.turn.replay_cursor import ReplayResult
from shared.contracts.archive import read_archived
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.archive_open import ArchiveSettings
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, print_problem, read_settings
from shared.ports.archive import ArchiveUnavailable

SAME, DIFFERS, CANNOT = 0, 1, 2


class WantedTask(NamedTuple):
    """The command's arguments: the task to replay, and the form of the report."""

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
    return dumps(_report_as_json(wanted, done)) if wanted.as_json else _report_as_text(wanted, done)


def _report_as_json(wanted: WantedTask, done: ReplayResult) -> JsonObject:
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


def _report_as_text(wanted: WantedTask, done: ReplayResult) -> str:
    lines = [f"{step.kind:<10} {step.key}" for step in done.steps]
    end = f"ends the same: {done.state}" if done.is_same else f"differs at {done.at}: {done.difference}"
    return "\n".join([*lines, f"{wanted.task_id}: {len(done.steps)} steps, {end}"])


def show_replay(arguments: Sequence[str], worker: ReplaysWith) -> int:
    """Prints the steps and the first difference; returns 0 if the task ends the same, 1 if not, 2 if it cannot be
    replayed.

    Needs only ``ARCHIVE_URL`` and ``ARCHIVE_KEY``.
    """
    wanted = parse_arguments(arguments)
    configure_logging("executor-replay", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        done = asyncio.run(_replay_task(wanted, worker))
    except CannotStart as problem:
        return print_problem(problem)
    except (CannotReplay, ArchiveUnavailable, ValueError) as error:
        sys.stderr.write(f"{wanted.task_id} cannot be replayed: {error}\n")
        return CANNOT
    sys.stdout.write(format_report(wanted, done) + "\n")
    return SAME if done.is_same else DIFFERS


async def _replay_task(wanted: WantedTask, worker: ReplaysWith) -> ReplayResult:
    archive = read_settings(ArchiveSettings).open_task_archive()
    if archive is None:
        raise CannotStart("ARCHIVE_URL is not set: it names the archive to read.")
    content = await archive.get(wanted.tenant, wanted.task_id)
    if content is None:
        raise CannotReplay(f"the archive of tenant {wanted.tenant} has no such task; an open task is not in it yet")
    task = read_archived(content)
    if (task.record.tenant, task.record.task_id) != (wanted.tenant, wanted.task_id):
        raise CannotReplay("what lies in its place in the archive is another task")
    return await replay(task, Limits(), load_prompts(), worker)
