"""Tools over expense claims: each is decided once, and an approval charges the department's budget."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.money import Amount
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, not_found
from examples.company.tools.budgets import charge_budget
from examples.company.tools.people import EmployeeId, require_active
from shared.domain.exact_json import Json, JsonObject

ExpenseId = Annotated[str, Field(description="Expense claim id, such as EXP-1001", min_length=1)]

_SELECT = (
    "SELECT expenses.*, employees.name AS employee_name, employees.department"
    " FROM expenses JOIN employees ON employees.id = expenses.employee_id"
)


class ExpenseById(Arguments):
    expense_id: ExpenseId


class ExpenseFilter(Arguments):
    status: Annotated[Literal["pending", "approved", "rejected"] | None, Field(description="Only this status")] = None
    employee_id: Annotated[str | None, Field(description="Only claims of this employee")] = None


class ExpenseClaim(Arguments):
    employee_id: EmployeeId
    amount: Amount
    category: Annotated[str, Field(description="Such as travel, meals, training", min_length=1)]
    description: Annotated[str, Field(description="What it was for", min_length=1)]


class ApproveExpense(Arguments):
    expense_id: ExpenseId
    note: Annotated[str | None, Field(description="A note to keep with the approval")] = None


class RejectExpense(Arguments):
    expense_id: ExpenseId
    reason: Annotated[str, Field(description="Why it is rejected", min_length=1)]


def get_expense(books: CompanyBooks, asked: ExpenseById) -> Json:
    found = books.find_row(f"{_SELECT} WHERE expenses.id = ?", asked.expense_id)
    return found or not_found("expense claim", asked.expense_id)


def list_expenses(books: CompanyBooks, asked: ExpenseFilter) -> Json:
    sql = (
        f"{_SELECT} WHERE (? IS NULL OR expenses.status = ?) AND (? IS NULL OR expenses.employee_id = ?)"
        " ORDER BY expenses.id"
    )
    return [*books.find_rows(sql, asked.status, asked.status, asked.employee_id, asked.employee_id)]


def submit_expense(books: CompanyBooks, asked: ExpenseClaim) -> Json:
    require_active(books, asked.employee_id)
    key = books.next_id("expenses", "EXP", 1001)
    sql = (
        "INSERT INTO expenses (id, employee_id, amount_cents, category, description, submitted_at)"
        " VALUES (?, ?, ?, ?, ?, ?)"
    )
    books.execute(
        sql, key, asked.employee_id, money.to_cents(asked.amount), asked.category, asked.description, books.now()
    )
    return books.find_row(f"{_SELECT} WHERE expenses.id = ?", key)


def approve_expense(books: CompanyBooks, asked: ApproveExpense) -> Json:
    claim = _require_undecided(books, asked.expense_id)
    amount_cents = books.find_number("SELECT amount_cents FROM expenses WHERE id = ?", asked.expense_id)
    charge_budget(books, str(claim["department"]), amount_cents)
    return _store_decision(books, asked.expense_id, "approved", note=asked.note)


def reject_expense(books: CompanyBooks, asked: RejectExpense) -> Json:
    _require_undecided(books, asked.expense_id)
    return _store_decision(books, asked.expense_id, "rejected", reason=asked.reason)


def _require_undecided(books: CompanyBooks, expense_id: str) -> JsonObject:
    claim = books.find_row(f"{_SELECT} WHERE expenses.id = ?", expense_id)
    if claim is None:
        raise ToolRefused(f"There is no expense claim {expense_id}.")
    if claim["status"] != "pending":
        raise AlreadyDone(f"Expense claim {expense_id} is already {claim['status']}.")
    return claim


def _store_decision(
    books: CompanyBooks, expense_id: str, status: str, note: str | None = None, reason: str | None = None
) -> Json:
    sql = "UPDATE expenses SET status = ?, note = ?, reason = ?, decided_at = ? WHERE id = ?"
    books.execute(sql, status, note, reason, books.now(), expense_id)
    return books.find_row(f"{_SELECT} WHERE expenses.id = ?", expense_id)


TOOLS = (
    CompanyTool("get_expense", "One expense claim by id.", ExpenseById, READ, get_expense),
    CompanyTool(
        "list_expenses", "Expense claims, by status or by employee if given.", ExpenseFilter, READ, list_expenses
    ),
    CompanyTool(
        "submit_expense", "File a new expense claim for an employee.", ExpenseClaim, ADD, submit_expense, keyed=True
    ),
    CompanyTool(
        "approve_expense",
        "Approve a pending expense claim and charge it to the department's budget; once only.",
        ApproveExpense,
        DECIDE,
        approve_expense,
    ),
    CompanyTool(
        "reject_expense",
        "Reject a pending expense claim with a reason; once only.",
        RejectExpense,
        DECIDE,
        reject_expense,
    ),
)
