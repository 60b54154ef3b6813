"""Tasks whose words leave room for another process, and what a model says of them."""

from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable
from shared.contracts.task import TaskRecord
from tests.doubles.scripted_model import json_reply, state_of
from tests.unit.executor.stage import Stage

UNCLEAR = "Approve C-1 of 120.50"


def says(process_type: str, confidence: int = 1) -> ModelReply:
    return json_reply({"process_type": process_type, "confidence": confidence, "why": "it is that kind of work"})


def stage_of(reply: ModelReply, text: str = UNCLEAR) -> Stage:
    stage = Stage(text)
    stage.scripts["classify"] = reply
    return stage


def asked(stage: Stage, state: str = "CLASSIFY") -> list[ModelRequest]:
    return [request for request in stage.model.requests if state_of(request) == state]


def classification(record: TaskRecord) -> dict[str, object]:
    found = record.metadata["classification"]
    assert isinstance(found, dict)
    return {**found, "process_type": record.metadata["process_type"]}


def nobody_answers(_request: ModelRequest) -> ModelReply:
    raise ModelUnavailable("overloaded")
