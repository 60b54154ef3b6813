"""Tools over monthly payroll runs and their payslips: a run is approved once, then paid once, to the cent."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import cents_of, check_status, fetch, find, require_row, rows_of, update
from examples.company.money import Amount
from examples.company.paging import CursorArguments, cursor_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

RunId = Annotated[str, Field(description="Payroll run id, such as RUN-1801", min_length=1)]
PayslipId = Annotated[str, Field(description="Payslip id, such as SLP-1901", min_length=1)]


class PayrollRunById(Arguments):
    payroll_run_id: RunId


class PayrollRunFilter(Arguments):
    period: Annotated[str | None, Field(description="Only this month, such as 2026-03")] = None
    status: Annotated[Literal["prepared", "approved", "settled"] | None, Field(description="Only this status")] = None


class ApprovePayroll(PayrollRunById):
    note: Annotated[str | None, Field(description="A note to keep with the approval")] = None


class PayPayroll(PayrollRunById):
    amount: Amount


class PayslipById(Arguments):
    payslip_id: PayslipId


class PayslipFilter(CursorArguments):
    payroll_run_id: Annotated[str | None, Field(description="Only payslips of this run")] = None
    employee_id: Annotated[str | None, Field(description="Only payslips of this employee")] = None


class AdjustPayslip(PayslipById):
    gross: Amount
    tax: Amount
    reason: Annotated[str, Field(description="Why it is adjusted", min_length=1)]


def get_payroll_run(books: CompanyBooks, asked: PayrollRunById) -> Json:
    return find(books, "payroll_runs", asked.payroll_run_id)


def list_payroll_runs(books: CompanyBooks, asked: PayrollRunFilter) -> Json:
    return [*fetch(books, rows_of("payroll_runs", period=asked.period, status=asked.status))]


def approve_payroll_run(books: CompanyBooks, asked: ApprovePayroll) -> Json:
    check_status(books, "payroll_runs", asked.payroll_run_id, "prepared")
    decided = {"status": "approved", "note": asked.note, "decided_at": books.now()}
    return update(books, "payroll_runs", asked.payroll_run_id, **decided)


def pay_payroll_run(books: CompanyBooks, asked: PayPayroll) -> Json:
    run = require_row(books, "payroll_runs", asked.payroll_run_id)
    if run["status"] == "prepared":
        raise ToolRefused(f"Payroll run {asked.payroll_run_id} is not approved yet.")
    check_status(books, "payroll_runs", asked.payroll_run_id, "approved")
    amount = money.to_cents(asked.amount)
    if amount != cents_of(books, "payroll_runs", asked.payroll_run_id, "net_cents"):
        raise ToolRefused(f"The net pay of {asked.payroll_run_id} is {run['net']}, not {money.spell(amount)}.")
    return update(books, "payroll_runs", asked.payroll_run_id, status="settled")


def get_payslip(books: CompanyBooks, asked: PayslipById) -> Json:
    return find(books, "payslips", asked.payslip_id)


def list_payslips(books: CompanyBooks, asked: PayslipFilter) -> Json:
    query = rows_of("payslips", payroll_run_id=asked.payroll_run_id, employee_id=asked.employee_id)
    return cursor_page(books, "payslips", query, asked)


def adjust_payslip(books: CompanyBooks, asked: AdjustPayslip) -> Json:
    run = str(require_row(books, "payslips", asked.payslip_id)["payroll_run_id"])
    check_status(books, "payroll_runs", run, "prepared")
    if asked.tax > asked.gross:
        raise ToolRefused("The tax is more than the gross pay.")
    gross, tax = money.to_cents(asked.gross), money.to_cents(asked.tax)
    figures = {"gross_cents": gross, "tax_cents": tax, "net_cents": gross - tax}
    slip = update(books, "payslips", asked.payslip_id, **figures, reason=asked.reason)
    _store_run_totals(books, run)
    return slip


def _store_run_totals(books: CompanyBooks, run: str) -> None:
    sums = {
        column: books.find_number(f"SELECT SUM({column}) FROM payslips WHERE payroll_run_id = ?", run)  # noqa: S608 - ours
        for column in ("gross_cents", "tax_cents", "net_cents")
    }
    update(books, "payroll_runs", run, **sums)


TOOLS = (
    CompanyTool("get_payroll_run", "One payroll run by id.", PayrollRunById, READ, get_payroll_run),
    CompanyTool(
        "list_payroll_runs",
        "Payroll runs of all countries, by month or by status if given.",
        PayrollRunFilter,
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
    CompanyTool("get_payslip", "One payslip by id.", PayslipById, READ, get_payslip),
    CompanyTool(
        "list_payslips", "Payslips, page by page, by run or by employee if given.", PayslipFilter, READ, list_payslips
    ),
    CompanyTool(
        "adjust_payslip",
        "Replace the figures of a payslip whose run is not approved yet.",
        AdjustPayslip,
        DECIDE,
        adjust_payslip,
    ),
)
