"""``python -m services.executor replay``: replays an archived task, calling nothing outside."""

import argparse
import asyncio
import logging
import re
import sys
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from services.executor.core.reflect.outcome import without_footer
from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.replay import CannotReplay, MakeReplayWorker, ReplayResult, replay
from shared.contracts.archive import parse_archived_task
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.infra.archive_open import ArchiveSettings
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, print_start_problem, read_settings
from shared.ports.archive import ArchiveUnavailable

EXIT_SAME = 0
EXIT_DIFFERS = 1
EXIT_CANNOT_REPLAY = 2


_SENTENCE_END_PATTERN = re.compile(r"(?<=[.!?])\s+|\n+")


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


class ReplayReport(NamedTuple):
    """A replay's result, and the task's archived record."""

    result: ReplayResult
    then: TaskRecord

    def find_differing_sentences(self) -> tuple[str, str] | None:
        """The first sentences in which the answers of then and now differ; None if there are none to compare."""
        now = self.result.end
        if now is None or self.result.is_same:
            return None
        return find_first_difference(without_footer(self.then.answer or ""), now.answer or "")


def find_first_difference(then: str, now: str) -> tuple[str, str] | None:
    """The first sentences in which two texts differ, of which one may be empty; None for texts with the same ones."""
    pairs = zip_longest(_SENTENCE_END_PATTERN.split(then), _SENTENCE_END_PATTERN.split(now), fillvalue="")
    return next(((one, other) for one, other in pairs if one != other), None)


def format_report(options: ReplayOptions, report: ReplayReport) -> str:
    return dumps(_report_as_json(options, report)) if options.json else _report_as_text(options, report)


def _report_as_json(options: ReplayOptions, report: ReplayReport) -> JsonObject:
    result, end = report.result, report.result.end
    steps: list[Json] = [
        {"turn": step.turn_id, "step": step.key, "kind": step.kind, "characters": step.size} for step in result.steps
    ]
    sentences = report.find_differing_sentences()
    then_and_now: JsonObject = {"then": sentences[0], "now": sentences[1]} if sentences else {}
    difference: Json = None if result.is_same else {"at": result.at, "how": result.difference, **then_and_now}
    return {
        "task": options.task,
        "tenant": options.tenant,
        "same": result.is_same,
        "state": end.state.value if end else None,
        "difference": difference,
        "answer": (end.answer or "") if end else "",
        "steps": steps,
    }


def _report_as_text(options: ReplayOptions, report: ReplayReport) -> str:
    result = report.result
    sentences = None if report.result.is_same else report.find_differing_sentences()
    lines = [f"{step.kind:<10} {step.key}" for step in result.steps]
    end = f"ends the same: {report.then.state}" if result.is_same else f"differs at {result.at}: {result.difference}"
    answers = [f"then: {sentences[0]}", f"now:  {sentences[1]}"] if sentences else []
    return "\n".join([*lines, f"{options.task}: {len(result.steps)} steps, {end}", *answers])


def show_replay(arguments: Sequence[str], worker: MakeReplayWorker) -> int:
    """Prints the steps and the first difference; returns 0 if the task ends the same, 1 if not, 2 if it cannot be
    replayed.

    Needs only ``ARCHIVE_URL`` and ``ARCHIVE_KEY``.
    """
    options = parse_arguments(arguments)
    configure_logging("executor-replay", logging.CRITICAL)  # what went wrong is said in one sentence
    try:
        report = asyncio.run(_replay_task(options, worker))
    except CannotStart as problem:
        return print_start_problem(problem)
    except (CannotReplay, ArchiveUnavailable, ValueError) as error:
        sys.stderr.write(f"{options.task} cannot be replayed: {error}\n")
        return EXIT_CANNOT_REPLAY
    sys.stdout.write(format_report(options, report) + "\n")
    return EXIT_SAME if report.result.is_same else EXIT_DIFFERS


async def _replay_task(options: ReplayOptions, worker: MakeReplayWorker) -> ReplayReport:
    archive = read_settings(ArchiveSettings).open_task_archive()
    if archive is None:
        raise CannotStart("ARCHIVE_URL is not set: it names the archive to read.")
    content = await archive.get(options.tenant, options.task)
    if content is None:
        raise CannotReplay(f"the archive of tenant {options.tenant} has no such task; an open task is not in it yet")
    task = parse_archived_task(content)
    if (task.record.tenant, task.record.task_id) != (options.tenant, options.task):
        raise CannotReplay("what lies in its place in the archive is another task")
    return ReplayReport(await replay(task, Limits(), load_prompts(), worker), task.record)
