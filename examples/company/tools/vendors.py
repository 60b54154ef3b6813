"""Tools over vendors and the contracts with them."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import check_status, fetch, find, require_row, rows_of, update
from examples.company.paging import PageArguments, numbered_page
from examples.company.toolbox import DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

VendorId = Annotated[str, Field(description="Vendor id, such as VEN-601", min_length=1)]
ContractId = Annotated[str, Field(description="Contract id, such as CON-1101", min_length=1)]


class VendorById(Arguments):
    vendor_id: VendorId


class VendorFilter(PageArguments):
    status: Annotated[Literal["active", "suspended"] | None, Field(description="Only this status")] = None


class ContractById(Arguments):
    contract_id: ContractId


class ContractFilter(Arguments):
    vendor_id: Annotated[str | None, Field(description="Only contracts with this vendor")] = None
    status: Annotated[Literal["active", "expired", "terminated"] | None, Field(description="Only this status")] = None


class RenewContract(Arguments):
    contract_id: ContractId
    ends_on: Annotated[date, Field(description="The new last day, such as 2027-12-31")]


class TerminateContract(Arguments):
    contract_id: ContractId
    reason: Annotated[str, Field(description="Why it is terminated", min_length=1)]


def get_vendor(books: CompanyBooks, asked: VendorById) -> Json:
    return find(books, "vendors", asked.vendor_id)


def list_vendors(books: CompanyBooks, asked: VendorFilter) -> Json:
    return numbered_page(books, "vendors", rows_of("vendors", status=asked.status), asked)


def get_contract(books: CompanyBooks, asked: ContractById) -> Json:
    return find(books, "contracts", asked.contract_id)


def list_contracts(books: CompanyBooks, asked: ContractFilter) -> Json:
    return [*fetch(books, rows_of("contracts", vendor_id=asked.vendor_id, status=asked.status))]


def renew_contract(books: CompanyBooks, asked: RenewContract) -> Json:
    contract = require_row(books, "contracts", asked.contract_id)
    if contract["status"] == "terminated":
        raise ToolRefused(f"Contract {asked.contract_id} is terminated and cannot be renewed.")
    if asked.ends_on.isoformat() <= str(contract["ends_on"]):
        raise AlreadyDone(f"Contract {asked.contract_id} already runs until {contract['ends_on']}.")
    return update(books, "contracts", asked.contract_id, ends_on=asked.ends_on.isoformat(), status="active")


def terminate_contract(books: CompanyBooks, asked: TerminateContract) -> Json:
    check_status(books, "contracts", asked.contract_id, "active")
    return update(books, "contracts", asked.contract_id, status="terminated", reason=asked.reason)


def require_active(books: CompanyBooks, vendor_id: str) -> None:
    """Raises ``ToolRefused`` unless the vendor exists and may be dealt with."""
    if require_row(books, "vendors", vendor_id)["status"] != "active":
        raise ToolRefused(f"Vendor {vendor_id} is suspended.")


TOOLS = (
    CompanyTool("get_vendor", "One vendor by id.", VendorById, READ, get_vendor),
    CompanyTool("list_vendors", "Vendors, page by page, by status if given.", VendorFilter, READ, list_vendors),
    CompanyTool("get_contract", "One contract with a vendor by id.", ContractById, READ, get_contract),
    CompanyTool("list_contracts", "Contracts, by vendor or by status if given.", ContractFilter, READ, list_contracts),
    CompanyTool("renew_contract", "Let a contract run until a later day.", RenewContract, DECIDE, renew_contract),
    CompanyTool(
        "terminate_contract", "End an active contract early; once only.", TerminateContract, DECIDE, terminate_contract
    ),
)
