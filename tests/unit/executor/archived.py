"""A task of the stage as the archive would keep it, and its replay."""

from typing import Protocol

from services.executor.core.session.context import Limits
from services.executor.core.states.prompts import Prompts, load_prompts
from services.executor.core.turn.replay import ReplayResult, replay
from services.executor.core.turn.worker import Worker
from shared.contracts.archive import ArchivedStep, ArchivedTask, parse_archived_task
from tests.doubles.memory_turns import MemoryTurns


class _Kept(Protocol):
    @property
    def turns(self) -> MemoryTurns: ...


def archived(kept: _Kept) -> ArchivedTask:
    """Through its JSON, as it would be read back."""
    turns = kept.turns
    steps = tuple(ArchivedStep(key=step.key, kind=step.kind, data=step.data_json) for step in turns.steps.values())
    task = ArchivedTask(
        record=turns.record,
        journal=steps,
        ledger=turns.writes,
        approvals=tuple(turns.approvals),
        events=tuple(turns.events),
    )
    return parse_archived_task(task.model_dump_json().encode())


async def replayed(kept: _Kept, prompts: Prompts | None = None) -> ReplayResult:
    return await replay(archived(kept), Limits(), prompts or load_prompts(), Worker)


async def assert_replayed(kept: _Kept) -> ReplayResult:
    """A replay comes to the stored end by the same steps."""
    done = await replayed(kept)
    assert (done.at, done.difference) == ("", "")
    return done
