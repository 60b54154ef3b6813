"""A list whose rows each go their own way: no row that the task is about is passed over in silence."""

from decimal import Decimal

import pytest

from services.executor.core.process.figures import DueRow, calls_off_route, rows_without_call, with_rows_left
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.states.machine import TEMPLATES
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, plan

_ROWS: list[Json] = [
    {"id": "R-1", "customer_id": "C-1", "agent_id": "A-1", "amount": "10", "days_overdue": 12},
    {"id": "R-2", "customer_id": "C-2", "agent_id": "A-1", "amount": "20", "days_overdue": 30},
    {"id": "R-3", "customer_id": "C-3", "agent_id": "A-1", "amount": "30", "days_overdue": 31},
    {"id": "R-4", "customer_id": "C-3", "agent_id": "A-1", "amount": "40", "days_overdue": 91},
    {"id": "R-5", "customer_id": "C-5", "agent_id": "A-1", "amount": "50", "days_overdue": 0},
]
_TASK = "Work through the overdue receivables"


def _run(rows: list[Json] | None = None, answer: str | None = None) -> Progress:
    template = TEMPLATES["ar_collections"]
    listed = fact({"receivables": _ROWS if rows is None else rows}, "f1", "list_overdue_receivables")
    dossier = Dossier(facts=(listed,), answer=answer)
    return Progress(template=template, path=template.states, visited=template.states[:1], dossier=dossier)


def _left(*calls: JsonObject, task: str = _TASK) -> list[DueRow]:
    planned = plan(*(call(arguments, f"c{number}") for number, arguments in enumerate(calls)))
    return rows_without_call(_run(), task, planned)


@pytest.mark.promise("process.routes")
def test_each_row_without_a_call_is_found_with_its_age_and_way() -> None:
    """Thirty days is still the first way; what is not overdue has none."""
    assert _left({"receivable_id": "R-1"}) == [
        DueRow("R-2", Decimal(30), "reminder"),
        DueRow("R-3", Decimal(31), "second notice"),
        DueRow("R-4", Decimal(91), "collections"),
    ]


@pytest.mark.promise("process.routes")
def test_a_call_about_the_customer_is_about_all_that_they_owe() -> None:
    assert [row.id for row in _left({"receivable_id": "R-1"}, {"customer_id": "c-3"})] == ["R-2"]


@pytest.mark.promise("process.routes")
def test_what_stands_in_every_row_names_none_of_them() -> None:
    assert len(_left({"agent_id": "A-1"})) == 4


@pytest.mark.promise("process.routes")
def test_a_task_about_one_row_is_not_about_the_others() -> None:
    assert [row.id for row in _left(task="Send a reminder for R-2")] == ["R-2"]


@pytest.mark.promise("process.routes")
def test_a_list_that_is_the_answer_stays_as_it_is_to_the_byte() -> None:
    told = with_rows_left(_run(answer='["R-1"]').update_dossier(plan=WritePlan(task_id="t")), _TASK)
    assert told.dossier.answer == '["R-1"]'
    assert "R-2" in str(told.notes["rows_left_out"])


@pytest.mark.promise("process.routes")
def test_of_two_lists_the_one_with_the_ages_is_meant() -> None:
    ageless: list[Json] = [{"id": "R-9", "customer_id": "C-9", "amount": "1"}, {"id": "R-1", "customer_id": "C-1"}]
    run = _run()
    facts = (fact(ageless, "f2", "list_receivables"), *run.dossier.facts)
    assert [row.id for row in rows_without_call(run.update_dossier(facts=facts), _TASK, plan())] == [
        "R-1",
        "R-2",
        "R-3",
        "R-4",
    ]


@pytest.mark.promise("process.own_way")
@each_row(
    ("tool", "row", "said", "is_astray"),
    [
        ("create_payment_plan", "R-4", _TASK, True),
        ("hand_over_to_collections", "R-4", _TASK, False),
        ("create_payment_plan", "R-3", _TASK, False),
        ("send_final_notice", "R-3", _TASK, True),
        ("write_down_receivable", "R-3", _TASK, False),
        ("send_reminder", "R-9", _TASK, False),
        ("send_final_notice", "R-3", "Send every overdue receivable a final notice", False),
        ("send_final_notice", "R-3", "Work through the overdue receivables; R-3 is urgent", False),
    ],
)
def test_a_row_goes_no_way_of_another_age_unless_the_user_says_so(
    tool: str, row: str, said: str, is_astray: bool
) -> None:
    """A tool that has no words of any way, and a row that is none of the list, are no matter of the ways."""
    planned = plan(call({"receivable_id": row}).model_copy(update={"tool": tool}))
    assert bool(calls_off_route(_run(), (said,), planned)) is is_astray
