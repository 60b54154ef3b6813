"""Tools over the bank files that pay a month's salaries out: released once, to the cent of the net pay."""

from typing import Annotated

from pydantic import Field

from examples.company import money
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import cents_of, check_status, fetch, find, rows_of, update
from examples.company.money import Amount
from examples.company.toolbox import ADD, READ, Arguments, CompanyTool, NoArguments
from shared.domain.exact_json import Json

BankFileId = Annotated[str, Field(description="Bank file id, such as BNK-2801", min_length=1)]


class BankFileById(Arguments):
    bank_file_id: BankFileId


class ReleaseBankFile(BankFileById):
    total: Amount


class BankFileFilter(Arguments):
    period: Annotated[str | None, Field(description="Only this month, such as 2026-03")] = None


def get_bank_file(books: CompanyBooks, asked: BankFileById) -> Json:
    return find(books, "bank_files", asked.bank_file_id)


def list_bank_files(books: CompanyBooks, asked: BankFileFilter) -> Json:
    return [*fetch(books, rows_of("bank_files", period=asked.period))]


def release_bank_file(books: CompanyBooks, asked: ReleaseBankFile) -> Json:
    period = str(check_status(books, "bank_files", asked.bank_file_id, "prepared")["period"])
    open_runs = "SELECT COUNT(*) FROM payroll_runs WHERE period = ? AND status <> 'approved'"
    if books.find_number(open_runs, period):
        raise ToolRefused(f"Not every payroll run of {period} is approved.")
    net = books.find_number("SELECT SUM(net_cents) FROM payroll_runs WHERE period = ?", period)
    if {money.to_cents(asked.total), cents_of(books, "bank_files", asked.bank_file_id, "total_cents")} != {net}:
        raise ToolRefused(f"The net pay of {period} is {money.spell(net)}; file and total must be just that.")
    books.execute("UPDATE payroll_runs SET status = 'settled' WHERE period = ?", period)
    return update(books, "bank_files", asked.bank_file_id, status="released")


def list_tax_rates(books: CompanyBooks, _: NoArguments) -> Json:
    return [*fetch(books, rows_of("tax_rates"))]


TOOLS = (
    CompanyTool("get_bank_file", "One bank file by id, with its total.", BankFileById, READ, get_bank_file),
    CompanyTool("list_bank_files", "Bank files, of one month if given.", BankFileFilter, READ, list_bank_files),
    CompanyTool(
        "release_bank_file",
        "Pay a month's approved payroll runs out; once, and only if the file's total is their net pay.",
        ReleaseBankFile,
        ADD,
        release_bank_file,
    ),
    CompanyTool("list_tax_rates", "The tax rate of each country.", NoArguments, READ, list_tax_rates),
)
