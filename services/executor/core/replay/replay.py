"""Runs an archived task again, in memory, with today's code, prompts and templates, and compares."""

import re
from functools import partial
from typing import NamedTuple

from services.executor.core.prompts.texts import Prompts
from services.executor.core.reflect.answer import without_footer
from services.executor.core.replay.attempts import CannotReplay, attempts_of
from services.executor.core.replay.course import Course, Differs, Replayed, StepTaken, StoppedHere
from services.executor.core.replay.stand_ins import (
    NoModel,
    ReplayJournal,
    ReplayLearned,
    ReplayPolicy,
    ReplayStore,
    ReplayTenants,
    ReplayTools,
)
from services.executor.core.session.context import Limits, Ports
from services.executor.core.turn.worker import Execute, Worker
from services.executor.ports.sessions import Work
from shared.contracts.approval import Approval
from shared.contracts.archive import ArchivedTask
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState

__all__ = ["CannotReplay", "Replayed", "replay"]
_DEADLINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # as a question to a person says it
_COMPARED = ("process_type", "strategy", "states", "plan_hash", "escalated", "values")


class _Standing(NamedTuple):
    """The task as the replay has brought it so far."""

    record: TaskRecord
    approval: Approval | None = None


async def replay(task: ArchivedTask, limits: Limits, prompts: Prompts, execute: Execute) -> Replayed:
    """``execute`` is the worker's. Calls nothing and nobody. Raises ``CannotReplay``."""
    taken: list[StepTaken] = []
    standing = _Standing(_as_accepted(task.record))
    attempts = attempts_of(task)
    try:
        for number, attempt in enumerate(attempts, 1):
            course = Course(attempt, given_up=number == len(attempts) and _is_given_up(task.record))
            try:
                standing = await _run(course, standing, limits, prompts, execute)
            finally:
                taken += course.taken
        if not _is_given_up(task.record):
            _compare(task.record, standing.record)
    except Differs as found:
        return Replayed(tuple(taken), found.at, found.how, None, "")
    return Replayed(tuple(taken), "", "", task.record.state, task.record.answer or "")


async def _run(course: Course, standing: _Standing, limits: Limits, prompts: Prompts, execute: Execute) -> _Standing:
    """One attempt to its end, or to where it stopped."""
    attempt = course.attempt
    store = ReplayStore(course, standing.record, standing.approval)
    ports = Ports(
        NoModel(course), ReplayTools(course), ReplayPolicy(course), ReplayTenants(course), ReplayLearned(course)
    )
    worker = Worker(ports, attempt.begun.limits(limits), prompts, execute, partial(ReplayJournal, course))
    try:
        await worker.run(Work(attempt.begun.turn, standing.record, attempts=1), store)
    except StoppedHere:
        return _Standing(store.record, standing.approval)
    left = course.untaken()
    if left is not None:
        raise Differs(left, "this step would not be taken")
    return _standing_after(course, store, standing)


def _standing_after(course: Course, store: ReplayStore, standing: _Standing) -> _Standing:
    """The task as the attempt left it: an end that died before it was stored is none, the next attempt has the turn."""
    if store.end is None:
        raise Differs(f"turn {course.attempt.begun.turn.turn_id}", "the turn would not end")
    if course.stops:
        return _Standing(store.record, standing.approval)
    return _Standing(store.end.record, store.end.approval or standing.approval)


def _as_accepted(record: TaskRecord) -> TaskRecord:
    """The record before its first turn."""
    blank: dict[str, object] = {
        "reason": None,
        "answer": None,
        "artifacts": (),
        "metadata": {},
        "history": (),
        "later_files": (),
        "turns_done": (),
    }
    update = {**blank, "state": TaskState.SUBMITTED, "started_at": None, "updated_at": record.accepted_at}
    return record.model_copy(update=update)


def _is_given_up(record: TaskRecord) -> bool:
    """Whether no run brought the task to its end: what ended it was that too many runs had stopped."""
    return record.state is TaskState.FAILED and "states" not in record.metadata


def _compare(then: TaskRecord, now: TaskRecord) -> None:
    if then.state is not now.state:
        raise Differs("the end", f"the task would be {now.state}, not {then.state}")
    for name in _COMPARED:
        if then.metadata.get(name) != now.metadata.get(name):
            raise Differs("the end", f"its {name} would be {now.metadata.get(name)}, not {then.metadata.get(name)}")
    if _comparable_answer(then, without_footer(then.answer or "")) != _comparable_answer(now, now.answer or ""):
        raise Differs("the end", "its answer would be another")


def _comparable_answer(record: TaskRecord, answer: str) -> str:
    """The answer; of a question without its deadline, which is reckoned from the moment in which it is asked."""
    return _DEADLINE.sub("", answer) if record.state is TaskState.INPUT_REQUIRED else answer
