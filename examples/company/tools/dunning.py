"""Tools for what is overdue: reminders and final notices go out, payment plans are agreed, debts are handed over."""

from typing import Annotated

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks
from examples.company.lookup import add, check_status, fetch, find, rows_of, update
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from examples.company.tools.outbox import add_to_outbox
from examples.company.tools.receivables import STEPS, ReceivableId
from shared.domain.exact_json import Json

_INSTALMENTS = 3


class DunningStep(Arguments):
    receivable_id: ReceivableId


class DunningNotice(DunningStep):
    message: Annotated[str | None, Field(description="The text of the letter; the usual one without it")] = None


class AgreePlan(DunningStep):
    instalments: Annotated[int | None, Field(description="In how many instalments, 3 without it", ge=2, le=24)] = None


class PlanById(Arguments):
    payment_plan_id: Annotated[str, Field(description="Payment plan id, such as PPL-2701", min_length=1)]


class PlanFilter(Arguments):
    receivable_id: Annotated[str | None, Field(description="Only the plan for this receivable")] = None


def send_reminder(books: CompanyBooks, asked: DunningNotice) -> Json:
    return _send_letter(books, asked, "reminded", "Reminder")


def send_final_notice(books: CompanyBooks, asked: DunningNotice) -> Json:
    return _send_letter(books, asked, "last_demand", "Final notice")


def hand_over_to_collections(books: CompanyBooks, asked: DunningStep) -> Json:
    _advance_dunning(books, asked, "collections")
    return find(books, "receivables", asked.receivable_id)


def create_payment_plan(books: CompanyBooks, asked: AgreePlan) -> Json:
    check_status(books, "receivables", asked.receivable_id, "open")
    if other := books.find_row("SELECT id FROM payment_plans WHERE receivable_id = ?", asked.receivable_id):
        raise AlreadyDone(f"Receivable {asked.receivable_id} already has the plan {other['id']}.")
    instalments = asked.instalments or _INSTALMENTS
    return add(
        books, "payment_plans", receivable_id=asked.receivable_id, instalments=instalments, created_at=books.now()
    )


def get_payment_plan(books: CompanyBooks, asked: PlanById) -> Json:
    return find(books, "payment_plans", asked.payment_plan_id)


def list_payment_plans(books: CompanyBooks, asked: PlanFilter) -> Json:
    return [*fetch(books, rows_of("payment_plans", receivable_id=asked.receivable_id))]


def _send_letter(books: CompanyBooks, asked: DunningNotice, dunning: str, subject: str) -> Json:
    customer = _advance_dunning(books, asked, dunning)
    return add_to_outbox(books, customer, subject, asked.message or f"{subject}: {asked.receivable_id} is overdue.")


def _advance_dunning(books: CompanyBooks, asked: DunningStep, dunning: str) -> str:
    """Sets the receivable's dunning step; returns the id of the customer.

    Raises ``AlreadyDone`` if it is at that step or beyond, or not open.
    """
    owed = check_status(books, "receivables", asked.receivable_id, "open")
    if STEPS.index(dunning) <= STEPS.index(str(owed["dunning"])):
        raise AlreadyDone(f"Receivable {asked.receivable_id} is already at {owed['dunning']}.")
    update(books, "receivables", asked.receivable_id, dunning=dunning)
    return str(owed["customer_id"])


TOOLS = (
    CompanyTool(
        "send_reminder", "Remind a customer of an overdue receivable; once.", DunningNotice, ADD, send_reminder
    ),
    CompanyTool(
        "send_final_notice", "Demand an overdue receivable a last time; once.", DunningNotice, ADD, send_final_notice
    ),
    CompanyTool(
        "hand_over_to_collections",
        "Give an overdue receivable to the collections agency; once.",
        DunningStep,
        DECIDE,
        hand_over_to_collections,
    ),
    CompanyTool(
        "create_payment_plan", "Agree to instalments for an open receivable; once.", AgreePlan, ADD, create_payment_plan
    ),
    CompanyTool("get_payment_plan", "One payment plan by id.", PlanById, READ, get_payment_plan),
    CompanyTool(
        "list_payment_plans", "Payment plans, of one receivable if given.", PlanFilter, READ, list_payment_plans
    ),
)
