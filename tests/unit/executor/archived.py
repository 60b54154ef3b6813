"""A task of the stage as the archive would keep it, and its replay."""

from services.executor.core.context import Limits
from services.executor.core.prompts.texts import Prompts, load
from services.executor.core.replay.replay import Replayed, replay
from shared.contracts.archive import ArchivedStep, ArchivedTask, read_archived
from tests.unit.executor.stage import Stage


def archived(stage: Stage) -> ArchivedTask:
    """Through its JSON, as it would be read back."""
    steps = tuple(
        ArchivedStep(key=step.key, kind=step.kind, data=step.data_json) for step in stage.turns.steps.values()
    )
    task = ArchivedTask(
        record=stage.turns.record,
        journal=steps,
        ledger=stage.turns.writes,
        approvals=tuple(stage.turns.approvals),
        events=tuple(stage.turns.events),
    )
    return read_archived(task.model_dump_json().encode())


async def replayed(stage: Stage, prompts: Prompts | None = None) -> Replayed:
    return await replay(archived(stage), Limits(), prompts or load())
