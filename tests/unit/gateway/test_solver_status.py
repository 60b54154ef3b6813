"""The status that the solver endpoint gives an ended task."""

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from services.gateway.core.tasks.solver import status_of
from shared.contracts.task import Principal, TaskRecord, TaskRequest
from shared.domain.words import Dialect, TaskState

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.promise("solver.endpoint")
@pytest.mark.parametrize(
    ("state", "metadata", "status"),
    [
        (TaskState.COMPLETED, {}, 200),
        (TaskState.COMPLETED, {"partial": False}, 200),
        (TaskState.COMPLETED, {"partial": True}, 500),
        (TaskState.REJECTED, {}, 200),
        (TaskState.FAILED, {"failed_part": "model"}, 502),
        (TaskState.FAILED, {"failed_part": None}, 500),
        (TaskState.INPUT_REQUIRED, {}, 202),
        (TaskState.WORKING, {}, 504),
    ],
)
def test_what_is_no_answer_has_no_200(state: TaskState, metadata: dict[str, JsonValue], status: int) -> None:
    """Not either what is left when a budget is spent: its sentences are no list of answers."""
    record = TaskRecord(
        tenant="acme",
        task_id="t",
        session_id="s",
        dialect=Dialect.LEGACY,
        requester=Principal(id="clerk"),
        request=TaskRequest(text="x"),
        state=state,
        metadata=metadata,
        accepted_at=NOW,
        updated_at=NOW,
    )
    assert status_of(record) == status
