"""The parser chain: every form in which a model hands over a list; and the status of what is no answer."""

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.gateway.features.solver import (
    SolverAnswerFormat,
    asks_for_certain_order,
    build_solver_view,
    choose_http_status,
    extract_answers,
    parse_solver_message,
)
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import dumps
from shared.domain.words import TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row


@pytest.mark.promise("solver.parser_chain")
@each_row(
    ("text", "answers"),
    ('["Paris", "Berlin"]', ("Berlin", "Paris")),
    ("1. Paris\n2) Berlin", ("Berlin", "Paris")),
    ("Here they are:\n- Paris\n* berlin", ("berlin", "Paris")),
    ("Paris; Berlin", ("Berlin", "Paris")),
    ('As said in [1], "Paris"', ('"Paris"', "As said in [1]")),
    ("[]", ()),
    ('["Paris", 0e-3000000]', ("0e-3000000]", '["Paris"')),
    ('Look: ["Paris", NaN]', ('Look: ["Paris"', "NaN]")),
    ('Look: ["Paris", ' + 400 * "[" + 400 * "]" + "]", (400 * "[" + 401 * "]", 'Look: ["Paris"')),
)
def test_a_list_is_found_in_each_of_its_forms(text: str, answers: tuple[str, ...]) -> None:
    """A JSON array first, then numbered and bulleted lines, then commas and semicolons, then the text itself."""
    assert extract_answers(text, "list", keeps_order=False) == answers


REFUSALS = (
    "I cannot answer this, because the policy, the law and the tenant forbid it",
    "Sorry, no data, try later",
    "Refused, blocked, denied by policy",
    "Access denied, wrong tenant, ask an admin",
    "I couldn’t read the invoice, the order or the contract",
    "No access, permission denied, call the desk",
    "I could not do it:\n- the server is down\n- the policy forbids it",
)
LISTS = (
    ("Rejected, Approved, Pending", ("Approved", "Pending", "Rejected")),
    ("The rejected invoices are INV-1, INV-2", ("INV-2", "The rejected invoices are INV-1")),
    ("Rejected invoices: INV-1, INV-2, INV-3", ("INV-2", "INV-3", "Rejected invoices: INV-1")),
    ("These were rejected:\n- INV-1\n- INV-2", ("INV-1", "INV-2")),
    ("Failed login, Paris, Berlin", ("Berlin", "Failed login", "Paris")),
)


@pytest.mark.promise("solver.refusals_whole")
@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("wanted", ["list", "json", "single"])
def test_a_refusal_is_one_text_however_many_commas_it_has(text: str, wanted: SolverAnswerFormat) -> None:
    assert extract_answers(text, wanted, keeps_order=False) == (text,)


@pytest.mark.promise("solver.refusals_whole")
@each_row(("text", "answers"), LISTS)
def test_a_list_in_which_such_words_stand_is_a_list(text: str, answers: tuple[str, ...]) -> None:
    assert extract_answers(text, "list", keeps_order=False) == answers


@each_row(
    ("wanted", "text", "answers"),
    ("single", "Paris, in France", ("Paris, in France",)),
    ("json", '{"capital": "Paris", "rate": 0.10}', ('{"capital":"Paris","rate":0.10}',)),
    ("json", '["b", "a"]', ("a", "b")),
    ("json", "- a", ("a",)),
)
def test_the_expected_format_decides_what_one_answer_is(
    wanted: SolverAnswerFormat, text: str, answers: tuple[str, ...]
) -> None:
    assert extract_answers(text, wanted, keeps_order=False) == answers


@each_row(
    ("task", "asked"),
    ("List the invoices in descending order of amount.", True),
    ("Sort them by date.", True),
    ("Check purchase order PO-12 in order to close it.", False),
    ("List the orders of customer C-9.", False),
)
def test_an_order_that_the_task_asks_for_is_kept(task: str, asked: bool) -> None:
    assert asks_for_certain_order(task) is asked
    answers = extract_answers('["b", "a"]', "list", keeps_order=asks_for_certain_order(task))
    assert answers == (("b", "a") if asked else ("a", "b"))


@given(st.lists(st.text(min_size=1).map(str.strip).filter(bool), min_size=1))
def test_any_array_of_texts_comes_back_whole(items: list[str]) -> None:
    """Nothing is lost, added or changed, whatever the texts hold."""
    assert sorted(extract_answers(dumps(list(items)), "list", keeps_order=True)) == sorted(items)


@given(st.text())
def test_any_text_has_an_answer_in_any_format(text: str) -> None:
    """No text makes the chain fail."""
    for wanted in ("list", "single", "json"):
        extract_answers(text, wanted, keeps_order=False)


@pytest.mark.promise("solver.endpoint")
@each_row(
    ("state", "metadata", "status"),
    (TaskState.COMPLETED, {}, 200),
    (TaskState.COMPLETED, {"partial": True}, 500),
    (TaskState.REJECTED, {}, 200),
    (TaskState.FAILED, {"failed_part": "model"}, 502),
    (TaskState.INPUT_REQUIRED, {}, 202),
    (TaskState.WORKING, {}, 504),
)
def test_what_is_no_answer_has_no_200(state: TaskState, metadata: dict[str, JsonValue], status: int) -> None:
    """Not either what is left when a budget is spent: its sentences are no list of answers."""
    assert choose_http_status(_record(state, metadata)) == status


@pytest.mark.promise("prose.said")
@each_row(("metadata", "said"), [({"policy_unenforced": "It only advised."}, "It only advised."), ({}, None)])
def test_the_metadata_says_what_of_a_policy_was_not_enforced(metadata: dict[str, JsonValue], said: str | None) -> None:
    """Beside the answers, which stay as they are."""
    ask = parse_solver_message({"task_id": "t", "task": "Which cities?"})
    view = build_solver_view(ask, _record(TaskState.COMPLETED, metadata).model_copy(update={"answer": "Paris, Berlin"}))
    told = view["metadata"]
    assert isinstance(told, dict)
    assert (view["answers"], told.get("policy_unenforced")) == (["Berlin", "Paris"], said)


def _record(state: TaskState, metadata: dict[str, JsonValue]) -> TaskRecord:
    return a_record().model_copy(update={"state": state, "metadata": metadata})
