"""Tools over the departments' budgets and what is reserved of them."""

from typing import Annotated

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.money import Amount
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, NoArguments, not_found
from shared.domain.exact_json import Json, JsonObject

Department = Annotated[str, Field(description="Department name, such as Marketing", min_length=1)]

_BUDGET = (
    "SELECT id, department, year, allocated_cents, spent_cents, reserved_cents,"
    " allocated_cents - spent_cents - reserved_cents AS available_cents FROM budgets"
)


class DepartmentByName(Arguments):
    department: Department


class ReservationById(Arguments):
    reservation_id: Annotated[str, Field(description="Reservation id, such as RSV-5001", min_length=1)]


class ReservationFilter(Arguments):
    department: Annotated[str | None, Field(description="Only reservations of this department")] = None


class ReserveBudget(Arguments):
    department: Department
    amount: Amount
    purpose: Annotated[str, Field(description="What the money is set aside for", min_length=1)]


def get_department_budget(books: CompanyBooks, asked: DepartmentByName) -> Json:
    found = books.find_row(f"{_BUDGET} WHERE department = ? COLLATE NOCASE", asked.department)
    return found or not_found("budget for department", asked.department)


def list_budgets(books: CompanyBooks, _: NoArguments) -> Json:
    return [*books.find_rows(f"{_BUDGET} ORDER BY department")]


def get_reservation(books: CompanyBooks, asked: ReservationById) -> Json:
    found = books.find_row("SELECT * FROM reservations WHERE id = ?", asked.reservation_id)
    return found or not_found("reservation", asked.reservation_id)


def list_reservations(books: CompanyBooks, asked: ReservationFilter) -> Json:
    sql = "SELECT * FROM reservations WHERE ? IS NULL OR department = ? COLLATE NOCASE ORDER BY id"
    return [*books.find_rows(sql, asked.department, asked.department)]


def reserve_budget(books: CompanyBooks, asked: ReserveBudget) -> Json:
    department, amount_cents = require_budget(books, asked.department, money.to_cents(asked.amount))
    key = books.next_id("reservations", "RSV", 5001)
    sql = "INSERT INTO reservations (id, department, amount_cents, purpose, created_at) VALUES (?, ?, ?, ?, ?)"
    books.execute(sql, key, department, amount_cents, asked.purpose, books.now())
    _add_to_budget(books, "reserved_cents", amount_cents, department)
    return books.find_row("SELECT * FROM reservations WHERE id = ?", key)


def release_reservation(books: CompanyBooks, asked: ReservationById) -> Json:
    sql = "SELECT * FROM reservations WHERE id = ?"
    found = books.find_row(sql, asked.reservation_id)
    if found is None:
        raise ToolRefused(f"There is no reservation {asked.reservation_id}.")
    if found["status"] != "active":
        raise AlreadyDone(f"Reservation {asked.reservation_id} is already {found['status']}.")
    held = books.find_number("SELECT amount_cents FROM reservations WHERE id = ?", asked.reservation_id)
    books.execute("UPDATE reservations SET status = 'released' WHERE id = ?", asked.reservation_id)
    _add_to_budget(books, "reserved_cents", -held, str(found["department"]))
    return books.find_row(sql, asked.reservation_id)


def require_budget(books: CompanyBooks, department: str, amount_cents: int) -> tuple[str, int]:
    """The department's own spelling and the amount; raises ``ToolRefused`` if its budget does not cover that."""
    found = _budget_of(books, department)
    sql = "SELECT allocated_cents - spent_cents - reserved_cents FROM budgets WHERE id = ?"
    if books.find_number(sql, str(found["id"])) < amount_cents:
        wanted = money.spell(amount_cents)
        raise ToolRefused(f"The budget of {found['department']} has {found['available']} available, not {wanted}.")
    return str(found["department"]), amount_cents


def require_department(books: CompanyBooks, department: str) -> str:
    """The department's own spelling, or a refusal if there is none of that name."""
    return str(_budget_of(books, department)["department"])


def charge_budget(books: CompanyBooks, department: str, amount_cents: int) -> None:
    """Charge a department's budget; refused if it would be overdrawn."""
    name, _ = require_budget(books, department, amount_cents)
    _add_to_budget(books, "spent_cents", amount_cents, name)


def _budget_of(books: CompanyBooks, department: str) -> JsonObject:
    found = books.find_row(f"{_BUDGET} WHERE department = ? COLLATE NOCASE", department)
    if found is None:
        raise ToolRefused(f"There is no budget for department {department}.")
    return found


def _add_to_budget(books: CompanyBooks, column: str, amount_cents: int, department: str) -> None:
    sql = f"UPDATE budgets SET {column} = {column} + ? WHERE department = ?"  # noqa: S608 - our own column names
    books.execute(sql, amount_cents, department)


TOOLS = (
    CompanyTool(
        "get_department_budget",
        "A department's budget: allocated, spent, reserved and available.",
        DepartmentByName,
        READ,
        get_department_budget,
    ),
    CompanyTool("list_budgets", "The budgets of all departments.", NoArguments, READ, list_budgets),
    CompanyTool("get_reservation", "One budget reservation by id.", ReservationById, READ, get_reservation),
    CompanyTool(
        "list_reservations",
        "All budget reservations, or those of a department.",
        ReservationFilter,
        READ,
        list_reservations,
    ),
    CompanyTool(
        "reserve_budget",
        "Set an amount of a department's budget aside; refused if it is not available.",
        ReserveBudget,
        ADD,
        reserve_budget,
    ),
    CompanyTool(
        "release_reservation",
        "Give an active reservation back to its budget; once only.",
        ReservationById,
        DECIDE,
        release_reservation,
    ),
)
