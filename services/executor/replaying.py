"""Joins what a replay needs: the archive and the worker's code, and neither Redis nor a model nor a tool server."""

import asyncio
import logging
import sys
from collections.abc import Sequence

from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import load as load_prompts
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.replay import CannotReplay, replay
from services.executor.core.turn.replay_cursor import ReplayResult
from services.executor.entrypoints.replay import CANNOT, DIFFERS, SAME, WantedTask, format_report, parse_arguments
from shared.contracts.archive import read_archived
from shared.infra.archive_open import ArchiveSettings
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, read_settings, refuse_start
from shared.ports.archive import ArchiveUnavailable


def show_replay(arguments: Sequence[str]) -> int:
    """Prints the steps and the first difference; returns 0 if the task ends the same, 1 if not, 2 if it cannot be
    replayed.

    Needs only ``ARCHIVE_URL`` and ``ARCHIVE_KEY``.
    """
    wanted = parse_arguments(arguments)
    configure_logging("executor-replay", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        done = asyncio.run(_replay_task(wanted))
    except CannotStart as problem:
        return refuse_start(problem)
    except (CannotReplay, ArchiveUnavailable, ValueError) as error:
        sys.stderr.write(f"{wanted.task_id} cannot be replayed: {error}\n")
        return CANNOT
    sys.stdout.write(format_report(wanted, done) + "\n")
    return SAME if done.is_same else DIFFERS


async def _replay_task(wanted: WantedTask) -> ReplayResult:
    archive = read_settings(ArchiveSettings).archive()
    if archive is None:
        raise CannotStart("ARCHIVE_URL is not set: it names the archive to read.")
    content = await archive.get(wanted.tenant, wanted.task_id)
    if content is None:
        raise CannotReplay(f"the archive of tenant {wanted.tenant} has no such task; an open task is not in it yet")
    task = read_archived(content)
    if (task.record.tenant, task.record.task_id) != (wanted.tenant, wanted.task_id):
        raise CannotReplay("what lies in its place in the archive is another task")
    return await replay(task, Limits(), load_prompts(), execute_task)
