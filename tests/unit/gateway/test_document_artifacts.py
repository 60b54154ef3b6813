"""A document in each dialect: an artifact of its own after the answer, its parts of their own kinds."""

from datetime import UTC, datetime

import pytest
from a2a.types.a2a_pb2 import Task
from google.protobuf.json_format import ParseDict

from services.gateway.a2a.views import task_view
from services.gateway.features.tasks.views import legacy_view
from shared.contracts.task import Artifact, Principal, TaskRecord, TaskRequest
from shared.domain.words import Dialect, TaskState

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
DATA: dict[str, object] = {
    "type": "prd",
    "sections": {"problem_statement": "x", "rows": [{"a": "1"}]},
    "complete": False,
}


def record() -> TaskRecord:
    document = Artifact.model_validate({"name": "prd", "text": "# PRD", "data": DATA, "media_type": "text/markdown"})
    plan = Artifact(name="plan", data={"calls": []})
    return TaskRecord(
        tenant="acme",
        task_id="task-1",
        session_id="s",
        dialect=Dialect.A2A_1_0,
        requester=Principal(id="clerk"),
        request=TaskRequest(text="go"),
        state=TaskState.COMPLETED,
        answer='["A"]',
        artifacts=(document, plan),
        accepted_at=NOON,
        updated_at=NOON,
    )


def _task() -> Task:
    task = Task()
    ParseDict(task_view(record(), ""), task)
    return task


@pytest.mark.promise("documents.artifacts")
def test_in_today_s_protocol() -> None:
    answer, document, plan = _task().artifacts
    assert [part.text for part in answer.parts] == ['["A"]']
    assert [part.media_type for part in document.parts] == ["text/markdown", "application/json"]
    assert document.parts[0].text == "# PRD"
    assert document.parts[1].data.struct_value["type"] == "prd"
    assert [part.media_type for part in plan.parts] == ["application/json"]


@pytest.mark.promise("documents.artifacts")
def test_in_the_early_protocol() -> None:
    """The answer is first and alone; a document's parts say their kind."""
    artifacts = legacy_view(record(), "t", None, "")["artifacts"]
    assert artifacts == [
        {"name": "answer", "index": 0, "parts": [{"type": "text", "text": '["A"]'}]},
        {
            "name": "prd",
            "index": 1,
            "parts": [
                {"type": "text", "text": "# PRD", "metadata": {"mimeType": "text/markdown"}},
                {"type": "data", "data": DATA, "metadata": {"mimeType": "application/json"}},
            ],
        },
        {
            "name": "plan",
            "index": 2,
            "parts": [{"type": "data", "data": {"calls": []}, "metadata": {"mimeType": "application/json"}}],
        },
    ]
