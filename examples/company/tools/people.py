"""Tools over employees, and the messages sent to them."""

from typing import Annotated

from pydantic import Field

from examples.company.books import CompanyBooks, ToolRefused
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, not_found
from shared.domain.exact_json import Json

EmployeeId = Annotated[str, Field(description="Employee id, such as EMP-101", min_length=1)]


class EmployeeById(Arguments):
    employee_id: EmployeeId


class EmployeeFilter(Arguments):
    department: Annotated[str | None, Field(description="Only employees of this department")] = None


class EmployeeSearch(Arguments):
    query: Annotated[str, Field(description="Part of a name, an e-mail address or a title", min_length=1)]


class PhoneUpdate(Arguments):
    employee_id: EmployeeId
    phone: Annotated[str, Field(description="The new phone number", pattern=r"^\+?[0-9][0-9 ()-]{5,19}$")]


class EmployeeMessage(Arguments):
    employee_id: EmployeeId
    message: Annotated[str, Field(description="The text of the message", min_length=1, max_length=4000)]
    subject: Annotated[str | None, Field(description="The subject line")] = None


def get_employee(books: CompanyBooks, asked: EmployeeById) -> Json:
    found = books.find_row("SELECT * FROM employees WHERE id = ?", asked.employee_id)
    return found or not_found("employee", asked.employee_id)


def list_employees(books: CompanyBooks, asked: EmployeeFilter) -> Json:
    sql = "SELECT * FROM employees WHERE ? IS NULL OR department = ? COLLATE NOCASE ORDER BY id"
    return [*books.find_rows(sql, asked.department, asked.department)]


def search_employees(books: CompanyBooks, asked: EmployeeSearch) -> Json:
    sql = "SELECT * FROM employees WHERE INSTR(LOWER(name || ' ' || email || ' ' || title), LOWER(?)) ORDER BY id"
    return [*books.find_rows(sql, asked.query)]


def update_employee_phone(books: CompanyBooks, asked: PhoneUpdate) -> Json:
    require_active(books, asked.employee_id)
    books.execute("UPDATE employees SET phone = ? WHERE id = ?", asked.phone, asked.employee_id)
    return books.find_row("SELECT * FROM employees WHERE id = ?", asked.employee_id)


def notify_employee(books: CompanyBooks, asked: EmployeeMessage) -> Json:
    require_active(books, asked.employee_id)
    key = books.next_id("outbox", "MSG", 4001)
    sql = "INSERT INTO outbox (id, recipient, subject, message, created_at) VALUES (?, ?, ?, ?, ?)"
    books.execute(sql, key, asked.employee_id, asked.subject or "Notice", asked.message, books.now())
    return books.find_row("SELECT * FROM outbox WHERE id = ?", key)


def list_notifications(books: CompanyBooks, asked: EmployeeById) -> Json:
    return [*books.find_rows("SELECT * FROM outbox WHERE recipient = ? ORDER BY id", asked.employee_id)]


def require_active(books: CompanyBooks, employee_id: str) -> None:
    """Raises ``ToolRefused`` unless the employee exists and still works here."""
    found = books.find_row("SELECT status FROM employees WHERE id = ?", employee_id)
    if found is None:
        raise ToolRefused(f"There is no employee {employee_id}.")
    if found["status"] != "active":
        raise ToolRefused(f"Employee {employee_id} is {found['status']}, not active.")


TOOLS = (
    CompanyTool("get_employee", "One employee by id.", EmployeeById, READ, get_employee),
    CompanyTool("list_employees", "All employees, or those of one department.", EmployeeFilter, READ, list_employees),
    CompanyTool(
        "search_employees",
        "Employees whose name, e-mail or title contains a text.",
        EmployeeSearch,
        READ,
        search_employees,
    ),
    CompanyTool(
        "list_notifications", "The messages sent to an employee, oldest first.", EmployeeById, READ, list_notifications
    ),
    CompanyTool(
        "update_employee_phone", "Replace an employee's phone number.", PhoneUpdate, DECIDE, update_employee_phone
    ),
    CompanyTool("notify_employee", "Send a message to an employee.", EmployeeMessage, ADD, notify_employee, keyed=True),
)
