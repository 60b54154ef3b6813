"""Tools over vendors and the contracts with them."""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import all_of, change, existing, in_status, one, rows_of
from examples.company.paging import Paged, by_page
from examples.company.toolbox import DECIDE, READ, Arguments, CompanyTool
from shared.domain.exact_json import Json

VendorId = Annotated[str, Field(description="Vendor id, such as VEN-601", min_length=1)]
ContractId = Annotated[str, Field(description="Contract id, such as CON-1101", min_length=1)]


class ByVendor(Arguments):
    vendor_id: VendorId


class Vendors(Paged):
    status: Annotated[Literal["active", "suspended"] | None, Field(description="Only this status")] = None


class ByContract(Arguments):
    contract_id: ContractId


class Contracts(Arguments):
    vendor_id: Annotated[str | None, Field(description="Only contracts with this vendor")] = None
    status: Annotated[Literal["active", "expired", "terminated"] | None, Field(description="Only this status")] = None


class Renew(Arguments):
    contract_id: ContractId
    ends_on: Annotated[date, Field(description="The new last day, such as 2027-12-31")]


class Terminate(Arguments):
    contract_id: ContractId
    reason: Annotated[str, Field(description="Why it is terminated", min_length=1)]


def get_vendor(books: CompanyBooks, asked: ByVendor) -> Json:
    return one(books, "vendors", asked.vendor_id)


def list_vendors(books: CompanyBooks, asked: Vendors) -> Json:
    return by_page(books, "vendors", rows_of("vendors", status=asked.status), asked)


def get_contract(books: CompanyBooks, asked: ByContract) -> Json:
    return one(books, "contracts", asked.contract_id)


def list_contracts(books: CompanyBooks, asked: Contracts) -> Json:
    return [*all_of(books, rows_of("contracts", vendor_id=asked.vendor_id, status=asked.status))]


def renew_contract(books: CompanyBooks, asked: Renew) -> Json:
    contract = existing(books, "contracts", asked.contract_id)
    if contract["status"] == "terminated":
        raise ToolRefused(f"Contract {asked.contract_id} is terminated and cannot be renewed.")
    if asked.ends_on.isoformat() <= str(contract["ends_on"]):
        raise AlreadyDone(f"Contract {asked.contract_id} already runs until {contract['ends_on']}.")
    return change(books, "contracts", asked.contract_id, ends_on=asked.ends_on.isoformat(), status="active")


def terminate_contract(books: CompanyBooks, asked: Terminate) -> Json:
    in_status(books, "contracts", asked.contract_id, "active")
    return change(books, "contracts", asked.contract_id, status="terminated", reason=asked.reason)


def require_active(books: CompanyBooks, vendor_id: str) -> None:
    """Refuse unless the vendor exists and may be dealt with."""
    if existing(books, "vendors", vendor_id)["status"] != "active":
        raise ToolRefused(f"Vendor {vendor_id} is suspended.")


TOOLS = (
    CompanyTool("get_vendor", "One vendor by id.", ByVendor, READ, get_vendor),
    CompanyTool("list_vendors", "Vendors, page by page, by status if given.", Vendors, READ, list_vendors),
    CompanyTool("get_contract", "One contract with a vendor by id.", ByContract, READ, get_contract),
    CompanyTool("list_contracts", "Contracts, by vendor or by status if given.", Contracts, READ, list_contracts),
    CompanyTool("renew_contract", "Let a contract run until a later day.", Renew, DECIDE, renew_contract),
    CompanyTool(
        "terminate_contract", "End an active contract early; once only.", Terminate, DECIDE, terminate_contract
    ),
)
