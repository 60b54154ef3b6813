"""Which process a task is, and whether it acts: in doubt it acts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.fsm.templates import GENERAL, TEMPLATES
from services.executor.core.prime.classify import classify, is_read_only

ACTING = (
    "Approve claim C-1",
    "What is pending, approve it",
    "Find them all. Cancel each one",
    "List the open orders and cancel order O-7",
    "Check C-1 and re-open it",
    "Is C-1 ok? Waive its fee",
    "Show the total: update it",
    "What is wrong (fix it)?",
    "Tell Bob his claim was approved",
    "Let Ann know that the order is late",
    "Wire 500 to Bob, his account is A-1",
    "Show me the list\nDelete the last one",
    "Can you check whether the refund is due and issue it?",
    "Process the claim; it is urgent",
    "Onboard the new employee, who is in sales",
)
ASKING = (
    "Give me the list of orders",
    "Tell me which orders are late",
    "What was the largest refund?",
    "What is the status of purchase order PO-1?",
    "List orders in alphabetical order",
    "Which employees have pending approvals?",
    "How many open orders are there?",
    "What is the total of all refunds in May?",
    "List the ids of all expenses over 500 as a JSON list",
    "Can you let me know whether the refund is done",
    "Who has the highest charge?",
)


@pytest.mark.promise("prime.classify")
@pytest.mark.parametrize("task", ACTING)
def test_a_task_that_asks_and_acts_is_acting(task: str) -> None:
    assert not is_read_only(task)


@pytest.mark.promise("prime.classify")
@pytest.mark.parametrize("task", ASKING)
def test_a_pure_question_takes_the_short_way(task: str) -> None:
    assert is_read_only(task)


@pytest.mark.promise("prime.classify")
@given(
    question=st.sampled_from(ASKING), act=st.sampled_from(["approve", "Cancel", "DELETE", "pay", "re-issue", "refund"])
)
def test_a_sentence_that_acts_is_heard_after_any_question(question: str, act: str) -> None:
    assert not is_read_only(f"{question.rstrip('.?')}. {act} it")


@given(task=st.text(max_size=80))
def test_every_text_has_a_process_and_a_reason(task: str) -> None:
    found = classify(task)
    assert found.why
    assert found.template.process_type


@pytest.mark.promise("prime.classify")
@pytest.mark.parametrize(
    ("task", "process"),
    [
        ("Approve the expense claim C-1", "expense_approval"),
        ("Issue a purchase order to the supplier", "procurement"),
        ("Offboard Ann, last day Friday", "hr_offboarding"),
        ("Invoice INV-1 and PO: reconcile", "invoice_reconciliation"),
        ("Run the month-end financial close", "month_end_close"),
        ("PAYROLL for June", "payroll"),
        ("Where is my shipment?", "order_management"),
        ("Water the plants", "general"),
        ("The borderline casein", "general"),
    ],
)
def test_a_process_is_known_by_whole_words(task: str, process: str) -> None:
    assert classify(task).template.process_type == process


@pytest.mark.promise("prime.classify_free")
@pytest.mark.parametrize(
    ("task", "process"),
    [
        ("Approve the expense claim C-1", "expense_approval"),
        ("Approve purchase order PO-7 and tell the vendor", "procurement"),
        ("Reconcile the invoice", "invoice_reconciliation"),
        ("Pay the expense claim and the reimbursement for the quote", "expense_approval"),
        ("Which invoices of the order are open?", "invoice_reconciliation"),
    ],
)
def test_words_settle_a_process_alone_or_by_a_lead_of_two_or_for_a_question(task: str, process: str) -> None:
    """A word inside a longer one of another process does not count: "order" in "purchase order"."""
    found = classify(task)
    assert (found.process_type, found.settled, found.by) == (process, True, "words")


@pytest.mark.promise("prime.classify_model")
@pytest.mark.parametrize(
    ("task", "process"),
    [
        ("Water the plants", "general"),
        ("Pay the claim for the order", "expense_approval"),
        ("Reconcile the claim, the receipt and the invoice", "expense_approval"),
    ],
)
def test_words_leave_room_without_any_at_a_tie_and_at_a_lead_of_one(task: str, process: str) -> None:
    """What they would say then is kept: ties go to the table's order."""
    found = classify(task)
    assert (found.process_type, found.settled) == (process, False)


@given(task=st.text(max_size=80))
def test_with_general_alone_there_is_nothing_to_ask(task: str) -> None:
    found = classify(task, {"general": GENERAL})
    assert (found.template, found.settled) == (GENERAL, True)


@given(words=st.lists(st.sampled_from([word for one in TEMPLATES.values() for word in one.keywords]), max_size=6))
def test_the_same_words_settle_the_same_process_in_any_order(words: list[str]) -> None:
    first, second = classify(". ".join(words)), classify(". ".join(reversed(words)))
    assert (first.process_type, first.settled) == (second.process_type, second.settled)
