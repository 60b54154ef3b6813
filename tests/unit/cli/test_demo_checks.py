"""The demo's judgement: each way a task can go wrong has its sentence, and a task that went right has none."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cli.demo.books import Books, Change
from cli.demo.checks import Observed, problems
from cli.demo.tasks import MANAGER, DemoTask, ListOf, Said
from cli.gateway.messages import TaskView
from shared.domain.exact_json import Json

CELL = ("expenses", "EXP-1", "status")
PENDING = Books({CELL: "pending"}, ())
APPROVED = Books({CELL: "approved"}, ("approve_expense",))
TASK = DemoTask(
    "a write",
    "a claim is written",
    (Said("Approve it.", "input-required"), Said("approve", "completed", MANAGER)),
    (Change(*CELL, "approved"),),
    ("approve_expense",),
    passes=("ASSESS", "MUTATE"),
    avoids=("ESCALATE",),
)
METADATA: Mapping[str, Json] = {
    "states": ["DECOMPOSE", "ASSESS", "MUTATE", "COMPLETE"],
    "writes": [{"tool": "approve_expense", "status": "verified"}],
}


def _view(state: str, answer: str = "Done.", metadata: Mapping[str, Json] = METADATA) -> TaskView:
    return TaskView("t", state, answer, metadata)


GOOD = Observed(TASK, (_view("input-required"), _view("completed")), PENDING, (PENDING,), APPROVED, 1.0)


def test_a_task_that_did_exactly_what_it_should_has_no_problems() -> None:
    assert problems(GOOD) == ()


@pytest.mark.promise("demo.checks")
@pytest.mark.parametrize(
    ("observed", "sentence"),
    [
        pytest.param(replace(GOOD, views=(_view("completed"),)), "not input-required", id="it did not wait"),
        pytest.param(replace(GOOD, waiting=(APPROVED,)), "while the task waited", id="it wrote before the approval"),
        pytest.param(replace(GOOD, after=PENDING), "counted 0 writes", id="it wrote nothing"),
        pytest.param(
            replace(GOOD, after=Books(APPROVED.cells, ("approve_expense",) * 2)),
            "counted 2 writes",
            id="it wrote twice",
        ),
        pytest.param(
            replace(GOOD, after=Books({CELL: "approved", ("orders", "O", "total"): 1}, APPROVED.writes)),
            "the database changed in",
            id="it changed something else as well",
        ),
        pytest.param(
            replace(GOOD, views=(GOOD.views[0], _view("completed", metadata={**METADATA, "states": ["ASSESS"]}))),
            "not through",
            id="it skipped a state",
        ),
        pytest.param(
            replace(
                GOOD,
                views=(
                    GOOD.views[0],
                    _view("completed", metadata={**METADATA, "states": ["ASSESS", "MUTATE", "ESCALATE"]}),
                ),
            ),
            "reached ESCALATE",
            id="it went where it must not",
        ),
        pytest.param(
            replace(GOOD, views=(GOOD.views[0], _view("completed", metadata={**METADATA, "writes": []}))),
            "reported no write, expected approve_expense as verified",
            id="it did not prove its write",
        ),
        pytest.param(
            replace(GOOD, views=(GOOD.views[0], _view("completed", answer=" "))), "no answer", id="it said nothing"
        ),
    ],
)
def test_each_thing_that_does_not_hold_is_named(observed: Observed, sentence: str) -> None:
    assert any(sentence in problem for problem in problems(observed))


@pytest.mark.parametrize(("answer", "holds"), [('["EXP-1"]', True), ('["EXP-2"]', False), ("EXP-1", False)])
def test_a_question_must_be_answered_with_the_exact_list(answer: str, holds: bool) -> None:
    task = DemoTask("q", "a question", (Said("?", "completed"),), answer=ListOf("expenses", "status", "pending"))
    view = _view("completed", answer, {"states": [], "writes": []})
    assert (problems(Observed(task, (view,), PENDING, (), PENDING, 1.0)) == ()) is holds


def test_a_row_that_vanishes_is_a_change() -> None:
    assert Books({}, ()).changes_since(PENDING) == (Change(*CELL, None),)
