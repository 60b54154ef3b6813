"""One task's story: the rail of its states, and its steps in plain words."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from services.gateway.features.audit.rows import rows_of_record
from services.gateway.features.console.views.evidence import policy, quality_parts, unenforced_policy, writes
from services.gateway.features.console.views.tasks import DRY, doubts_of, remark_on, task_page
from services.gateway.features.console.views.timeline import rail, stages
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.words import TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def told(*events: tuple[str, dict[str, JsonValue]]) -> list[tuple[str, TaskEvent]]:
    return [
        (f"{place}-0", TaskEvent(kind=kind, at=NOON + timedelta(seconds=place), data=data))
        for place, (kind, data) in enumerate(events)
    ]


def record(state: TaskState = TaskState.WORKING, **metadata: JsonValue) -> TaskRecord:
    return a_record("s").model_copy(update={"state": state, "metadata": metadata})


STORY = told(
    ("submitted", {"turn_id": "t"}),
    ("phase", {"phase": "PRIME"}),
    ("phase", {"phase": "EXECUTE"}),
    ("note", {"strategy": "fsm", "chosen_because": "first visit"}),
    ("state", {"state": "DECOMPOSE"}),
    ("state", {"state": "ASSESS"}),
    ("tool", {"tool": "get_expense", "ok": True}),
    ("tool", {"tool": "delete_all", "refused": "a tool of class change"}),
    ("state", {"state": "POLICY_CHECK"}),
    ("verdict", {"passed": True, "rules": ["LIMIT"]}),
    ("state", {"state": "MUTATE"}),
    ("write", {"tool": "approve_expense", "status": "verified", "note": "read back: status=approved"}),
    ("something_new", {"of": "a later version", "depth": {"two": 2}}),
)


@pytest.mark.promise("console.timeline")
def test_the_rail_tells_where_the_task_is_and_what_it_did_not_need() -> None:
    progress = {stop.word: stop.progress for stop in rail(STORY, record())}
    assert progress == {
        "DECOMPOSE": "done", "ASSESS": "done", "COMPUTE": "passed", "POLICY_CHECK": "done", "APPROVAL_GATE": "passed",
        "MUTATE": "now", "SCHEDULE_NOTIFY": "ahead", "COMPLETE": "ahead",
    }  # fmt: skip


@each_row("state", [TaskState.FAILED, TaskState.CANCELED])
def test_where_a_task_stopped_is_marked(state: TaskState) -> None:
    stops = rail(STORY, record(state))
    assert [stop.word for stop in stops if stop.progress == "bad"] == ["MUTATE"]
    assert not [stop for stop in stops if stop.progress in ("now", "ahead")]


def test_an_ended_tasks_rail_stands_when_its_events_have_left() -> None:
    states: list[JsonValue] = ["DECOMPOSE", "ASSESS", "COMPLETE", "NOT_A_STATE"]
    stops = rail([], record(TaskState.COMPLETED, states=states))
    assert [stop.word for stop in stops if stop.progress == "done"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]


@pytest.mark.promise("console.timeline")
def test_each_step_stands_under_its_state_in_plain_words() -> None:
    found = {stage.word: [step.title for step in stage.steps] for stage in stages(STORY)}
    assert found == {
        "PRIME": ["Message received", "Strategy: State machine"],
        "DECOMPOSE": [],
        "ASSESS": ["Called get_expense", "Refused to call delete_all"],
        "POLICY_CHECK": ["The policy asks for more"],
        "MUTATE": ["Verified: approve_expense", "Something new"],
    }


def test_what_has_no_words_yet_is_shown_with_its_fields() -> None:
    last = stages(STORY)[-1].steps[-1]
    assert last.rows == (("of", "a later version"), ("depth", "two: 2"))


def test_figures_that_are_spoiled_are_left_out() -> None:
    """Whatever an older or newer executor has written, the page can be made."""
    spoiled: dict[str, JsonValue] = {
        "spend": {"dollars": "much", "tokens": "many"}, "writes": [1, {"arguments": 3}], "verdict": [], "doubts": "x",
    }  # fmt: skip
    found = record(TaskState.INPUT_REQUIRED, **spoiled)
    page = task_page(found, NOON)
    assert (page.asks, doubts_of(found), policy(found), quality_parts(found)) == ("", (), None, ())
    assert len(writes(rows_of_record(found), None)) == 1


@each_row(("asked", "dry"), [({"dry_run": True}, True), ({"dry_run": False}, False), ({}, False)])
def test_a_dry_run_is_not_taken_for_a_real_one(asked: dict[str, JsonValue], dry: bool) -> None:
    found = a_record("s")
    request = found.request.model_copy(update={"metadata": asked})
    ended = found.model_copy(update={"state": TaskState.COMPLETED, "request": request})
    assert (remark_on(ended) == DRY, task_page(ended, NOON).brief.startswith("dry run")) == (dry, dry)


def test_what_many_calls_have_in_common_is_said_once() -> None:
    events = told(
        ("plan", {"calls": ["pay", "pay", "tell"]}),
        ("verdict", {"passed": False, "rules": ["r1", "r1", "r2"], "why": ["Too much.", "Too much.", "Never."]}),
    )
    steps = [step for stage in stages(events) for step in stage.steps]
    assert [(step.title, step.text) for step in steps] == [
        ("Planned to write: pay (2 times), tell", ""),
        ("The policy does not let it pass", "r1, r2: Too much. Never."),
    ]


@pytest.mark.promise("prose.said")
@each_row(("metadata", "said"), [({"policy_unenforced": "It only advised."}, "It only advised."), ({}, "")])
def test_the_page_says_what_of_a_requests_policy_was_not_enforced(metadata: dict[str, JsonValue], said: str) -> None:
    assert unenforced_policy(record().model_copy(update={"metadata": metadata})) == said
