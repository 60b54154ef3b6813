"""Tasks whose process the model names in its first reply, and what is told of it."""

from shared.contracts.task import TaskRecord
from shared.ports.models import ModelReply, ModelRequest, ModelUnavailable
from tests.unit.executor.stage import TASK, Stage


def stage_of(process_type: str, text: str = TASK) -> Stage:
    stage = Stage(text)
    stage.talk.process = process_type
    return stage


def classification(record: TaskRecord) -> dict[str, object]:
    found = record.metadata["classification"]
    assert isinstance(found, dict)
    return {**found, "process_type": record.metadata["process_type"]}


def nobody_answers(_request: ModelRequest) -> ModelReply:
    raise ModelUnavailable("overloaded")
