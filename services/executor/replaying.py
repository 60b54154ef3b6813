"""``python -m services.executor replay``: replays an archived task, calling nothing outside."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence

from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.replay import CannotReplay, MakeReplayWorker, ReplayResult, replay
from shared.contracts.archive import parse_archived_task
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.archive_open import ArchiveSettings
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, print_problem, read_settings
from shared.ports.archive import ArchiveUnavailable

EXIT_SAME, EXIT_DIFFERS, EXIT_CANNOT_REPLAY = 0, 1, 2


class ReplayOptions(argparse.Namespace):
    """The command's arguments: the id of the task to replay, its tenant, and whether the report is in JSON."""

    task: str
    tenant: str
    json: bool


def parse_arguments(arguments: Sequence[str]) -> ReplayOptions:
    """The command line's arguments; ends the process with exit code 2 and a sentence if they are wrong."""
    parser = argparse.ArgumentParser("python -m services.executor replay", description=__doc__, allow_abbrev=False)
    parser.add_argument("task", help="the task's id")
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args(arguments, ReplayOptions())


def format_report(options: ReplayOptions, result: ReplayResult) -> str:
    return dumps(_report_as_json(options, result)) if options.json else _report_as_text(options, result)


def _report_as_json(options: ReplayOptions, result: ReplayResult) -> JsonObject:
    steps: list[Json] = [
        {"turn": step.turn_id, "step": step.key, "kind": step.kind, "characters": step.size} for step in result.steps
    ]
    difference: Json = None if result.is_same else {"at": result.at, "how": result.difference}
    return {
        "task": options.task,
        "tenant": options.tenant,
        "same": result.is_same,
        "state": result.state.value if result.state else None,
        "difference": difference,
        "answer": result.answer,
        "steps": steps,
    }


def _report_as_text(options: ReplayOptions, result: ReplayResult) -> str:
    lines = [f"{step.kind:<10} {step.key}" for step in result.steps]
    end = f"ends the same: {result.state}" if result.is_same else f"differs at {result.at}: {result.difference}"
    return "\n".join([*lines, f"{options.task}: {len(result.steps)} steps, {end}"])


def show_replay(arguments: Sequence[str], worker: MakeReplayWorker) -> int:
    """Prints the steps and the first difference; returns 0 if the task ends the same, 1 if not, 2 if it cannot be
    replayed.

    Needs only ``ARCHIVE_URL`` and ``ARCHIVE_KEY``.
    """
    options = parse_arguments(arguments)
    configure_logging("executor-replay", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        result = asyncio.run(_replay_task(options, worker))
    except CannotStart as problem:
        return print_problem(problem)
    except (CannotReplay, ArchiveUnavailable, ValueError) as error:
        sys.stderr.write(f"{options.task} cannot be replayed: {error}\n")
        return EXIT_CANNOT_REPLAY
    sys.stdout.write(format_report(options, result) + "\n")
    return EXIT_SAME if result.is_same else EXIT_DIFFERS


async def _replay_task(options: ReplayOptions, worker: MakeReplayWorker) -> ReplayResult:
    archive = read_settings(ArchiveSettings).open_task_archive()
    if archive is None:
        raise CannotStart("ARCHIVE_URL is not set: it names the archive to read.")
    content = await archive.get(options.tenant, options.task)
    if content is None:
        raise CannotReplay(f"the archive of tenant {options.tenant} has no such task; an open task is not in it yet")
    task = parse_archived_task(content)
    if (task.record.tenant, task.record.task_id) != (options.tenant, options.task):
        raise CannotReplay("what lies in its place in the archive is another task")
    return await replay(task, Limits(), load_prompts(), worker)
