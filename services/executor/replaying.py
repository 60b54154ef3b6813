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
from services.executor.core.session.context import Limits, Ports
from services.executor.core.session.journal import MakeJournal
from services.executor.core.states.prompts import Prompts, load_prompts
from services.executor.core.turn.replay import CannotReplay, MakeReplayWorker, ReplayResult, ReplayStore, replay
from services.executor.ports import turns
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


_AT_END = "the end"  # where a replay finds that the ended tasks differ
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
    """A replay's result, and the task's records. ``now``: as today's run ended it; None if it differed before."""

    result: ReplayResult
    then: TaskRecord
    now: TaskRecord | None

    def find_differing_sentences(self) -> tuple[str, str] | None:
        """The first sentences in which the answers of then and now differ; None if there are none to compare."""
        if self.now is None or self.result.at != _AT_END:
            return None
        return find_first_difference(without_footer(self.then.answer or ""), self.now.answer or "")


def find_first_difference(then: str, now: str) -> tuple[str, str] | None:
    """The first sentences in which two texts differ, of which one may be empty; None for texts with the same ones."""
    pairs = zip_longest(_SENTENCE_END_PATTERN.split(then), _SENTENCE_END_PATTERN.split(now), fillvalue="")
    return next(((one, other) for one, other in pairs if one != other), None)


def format_report(options: ReplayOptions, report: ReplayReport) -> str:
    return dumps(_report_as_json(options, report)) if options.json else _report_as_text(options, report)


def _report_as_json(options: ReplayOptions, report: ReplayReport) -> JsonObject:
    result, now = report.result, report.then if report.result.is_same else report.now
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
        "state": now.state.value if now else None,
        "difference": difference,
        "answer": (now.answer or "") if now else "",
        "steps": steps,
    }


def _report_as_text(options: ReplayOptions, report: ReplayReport) -> str:
    result = report.result
    sentences = None if report.result.is_same else report.find_differing_sentences()
    lines = [f"{step.kind:<10} {step.key}" for step in result.steps]
    end = f"ends the same: {result.state}" if result.is_same else f"differs at {result.at}: {result.difference}"
    answers = [f"then: {sentences[0]}", f"now:  {sentences[1]}"] if sentences else []
    return "\n".join([*lines, f"{options.task}: {len(result.steps)} steps, {end}", *answers])


class _EndKeepingWorkers:
    """Makes workers for a replay, and keeps the record with which the last turn ended; None before any did."""

    def __init__(self, make_worker: MakeReplayWorker) -> None:
        self._make_worker = make_worker
        self.record: TaskRecord | None = None

    def make(self, ports: Ports, limits: Limits, prompts: Prompts, make_journal: MakeJournal) -> turns.TurnRunner:
        return _EndKeepingRunner(self._make_worker(ports, limits, prompts, make_journal), self)


class _EndKeepingRunner(turns.TurnRunner):
    def __init__(self, runner: turns.TurnRunner, keeper: _EndKeepingWorkers) -> None:
        self._runner, self._keeper = runner, keeper

    async def run(self, work: turns.TurnWork, store: turns.TurnStore) -> None:
        self._keeper.record = None
        await self._runner.run(work, store)
        end = store.end if isinstance(store, ReplayStore) else None
        self._keeper.record = end.record if end else None


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
    workers = _EndKeepingWorkers(worker)
    result = await replay(task, Limits(), load_prompts(), workers.make)
    return ReplayReport(result, task.record, workers.record)
