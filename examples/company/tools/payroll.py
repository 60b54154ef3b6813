"""Tools over monthly payroll runs and their payslips: a run is approved once, then paid once, to the cent."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import all_of, change, existing, in_status, one, rows_of, stored_cents
from examples.company.money import Amount
from examples.company.paging import FromCursor, by_cursor
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

RunId = Annotated[str, Field(description="Payroll run id, such as RUN-1801", min_length=1)]
PayslipId = Annotated[str, Field(description="Payslip id, such as SLP-1901", min_length=1)]


class ByRun(Arguments):
    payroll_run_id: RunId


class Runs(Arguments):
    period: Annotated[str | None, Field(description="Only this month, such as 2026-03")] = None
    status: Annotated[Literal["prepared", "approved", "settled"] | None, Field(description="Only this status")] = None


class ApprovePayroll(ByRun):
    note: Annotated[str | None, Field(description="A note to keep with the approval")] = None


class PayPayroll(ByRun):
    amount: Amount


class ByPayslip(Arguments):
    payslip_id: PayslipId


class Payslips(FromCursor):
    payroll_run_id: Annotated[str | None, Field(description="Only payslips of this run")] = None
    employee_id: Annotated[str | None, Field(description="Only payslips of this employee")] = None


class Adjust(ByPayslip):
    gross: Amount
    tax: Amount
    reason: Annotated[str, Field(description="Why it is adjusted", min_length=1)]


def get_payroll_run(books: CompanyBooks, asked: ByRun) -> Json:
    return one(books, "payroll_runs", asked.payroll_run_id)


def list_payroll_runs(books: CompanyBooks, asked: Runs) -> Json:
    return [*all_of(books, rows_of("payroll_runs", period=asked.period, status=asked.status))]


def approve_payroll_run(books: CompanyBooks, asked: ApprovePayroll) -> Json:
    in_status(books, "payroll_runs", asked.payroll_run_id, "prepared")
    decided = {"status": "approved", "note": asked.note, "decided_at": books.now()}
    return change(books, "payroll_runs", asked.payroll_run_id, **decided)


def pay_payroll_run(books: CompanyBooks, asked: PayPayroll) -> Json:
    run = existing(books, "payroll_runs", asked.payroll_run_id)
    if run["status"] == "prepared":
        raise ToolRefused(f"Payroll run {asked.payroll_run_id} is not approved yet.")
    in_status(books, "payroll_runs", asked.payroll_run_id, "approved")
    amount = money.cents(asked.amount)
    if amount != stored_cents(books, "payroll_runs", asked.payroll_run_id, "net_cents"):
        raise ToolRefused(f"The net pay of {asked.payroll_run_id} is {run['net']}, not {money.text(amount)}.")
    return change(books, "payroll_runs", asked.payroll_run_id, status="settled")


def get_payslip(books: CompanyBooks, asked: ByPayslip) -> Json:
    return one(books, "payslips", asked.payslip_id)


def list_payslips(books: CompanyBooks, asked: Payslips) -> Json:
    query = rows_of("payslips", payroll_run_id=asked.payroll_run_id, employee_id=asked.employee_id)
    return by_cursor(books, "payslips", query, asked)


def adjust_payslip(books: CompanyBooks, asked: Adjust) -> Json:
    run = str(existing(books, "payslips", asked.payslip_id)["payroll_run_id"])
    in_status(books, "payroll_runs", run, "prepared")
    if asked.tax > asked.gross:
        raise ToolRefused("The tax is more than the gross pay.")
    gross, tax = money.cents(asked.gross), money.cents(asked.tax)
    figures = {"gross_cents": gross, "tax_cents": tax, "net_cents": gross - tax}
    slip = change(books, "payslips", asked.payslip_id, **figures, reason=asked.reason)
    _add_up(books, run)
    return slip


def _add_up(books: CompanyBooks, run: str) -> None:
    sums = {
        column: books.number(f"SELECT SUM({column}) FROM payslips WHERE payroll_run_id = ?", run)  # noqa: S608 - ours
        for column in ("gross_cents", "tax_cents", "net_cents")
    }
    change(books, "payroll_runs", run, **sums)


TOOLS = (
    CompanyTool("get_payroll_run", "One payroll run by id.", ByRun, READ, get_payroll_run),
    CompanyTool(
        "list_payroll_runs",
        "Payroll runs of all countries, by month or by status if given.",
        Runs,
        READ,
        list_payroll_runs,
    ),
    CompanyTool(
        "approve_payroll_run",
        "Approve a payroll run that is prepared; once only.",
        ApprovePayroll,
        DECIDE,
        approve_payroll_run,
    ),
    CompanyTool(
        "pay_payroll_run", "Pay the net pay of an approved payroll run; once only.", PayPayroll, ADD, pay_payroll_run
    ),
    CompanyTool("get_payslip", "One payslip by id.", ByPayslip, READ, get_payslip),
    CompanyTool(
        "list_payslips", "Payslips, page by page, by run or by employee if given.", Payslips, READ, list_payslips
    ),
    CompanyTool(
        "adjust_payslip",
        "Replace the figures of a payslip whose run is not approved yet.",
        Adjust,
        DECIDE,
        adjust_payslip,
    ),
)
