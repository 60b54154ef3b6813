"""The status that the solver endpoint gives an ended task."""

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from services.gateway.features.solver.service import Ask, read_solver, solver_view, status_of
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
    assert status_of(_record(state, metadata)) == status


@pytest.mark.promise("prose.said")
@pytest.mark.parametrize(
    ("metadata", "said"), [({"policy_unenforced": "It only advised."}, "It only advised."), ({}, None)]
)
def test_the_metadata_says_what_of_a_policy_was_not_enforced(metadata: dict[str, JsonValue], said: str | None) -> None:
    """Beside the answers, which stay as they are."""
    ask: Ask = read_solver({"task_id": "t", "task": "Which cities?"})
    view = solver_view(ask, _record(TaskState.COMPLETED, metadata).model_copy(update={"answer": "Paris, Berlin"}))
    told = view["metadata"]
    assert isinstance(told, dict)
    assert (view["answers"], told.get("policy_unenforced")) == (["Berlin", "Paris"], said)


def _record(state: TaskState, metadata: dict[str, JsonValue]) -> TaskRecord:
    return TaskRecord(
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
