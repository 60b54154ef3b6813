"""Tools over access rights and assets, and the end of an employment: access first, then the account."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import add, check_status, fetch, find, require_row, rows_of, update
from examples.company.paging import OffsetArguments, offset_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from examples.company.tools.people import EmployeeId, require_active
from shared.domain.exact_json import Json

AccessId = Annotated[str, Field(description="Access right id, such as ACC-9001", min_length=1)]
AssetId = Annotated[str, Field(description="Asset id, such as AST-1701", min_length=1)]
_LAST_RANK = 9


class AccessById(Arguments):
    access_id: AccessId


class AccessFilter(Arguments):
    employee_id: EmployeeId
    status: Annotated[Literal["active", "revoked"] | None, Field(description="Only this status")] = None


class GrantAccess(Arguments):
    employee_id: EmployeeId
    system: Annotated[str, Field(description="The system to give access to", min_length=1)]
    privilege: Annotated[str, Field(description="Such as read or admin", min_length=1)]


class RevokeAccess(AccessById):
    reason: Annotated[str | None, Field(description="Why it is revoked")] = None


class DeactivateEmployee(Arguments):
    employee_id: EmployeeId


class AssetById(Arguments):
    asset_id: AssetId


class AssetFilter(OffsetArguments):
    employee_id: Annotated[str | None, Field(description="Only assets of this employee")] = None
    status: Annotated[Literal["assigned", "stored", "retired"] | None, Field(description="Only this status")] = None


class AssignAsset(AssetById):
    employee_id: EmployeeId


def get_access(books: CompanyBooks, asked: AccessById) -> Json:
    return find(books, "access_rights", asked.access_id)


def list_access(books: CompanyBooks, asked: AccessFilter) -> Json:
    return [*fetch(books, rows_of("access_rights", employee_id=asked.employee_id, status=asked.status))]


def grant_access(books: CompanyBooks, asked: GrantAccess) -> Json:
    require_active(books, asked.employee_id)
    query = rows_of("access_rights", employee_id=asked.employee_id, system=asked.system, status="active")
    if held := fetch(books, query):
        raise AlreadyDone(f"{asked.employee_id} already has access to {asked.system}: {held[0]['id']}.")
    fields = {"employee_id": asked.employee_id, "system": asked.system, "privilege": asked.privilege}
    return add(books, "access_rights", **fields, revocation_rank=_LAST_RANK)


def revoke_access(books: CompanyBooks, asked: RevokeAccess) -> Json:
    right = check_status(books, "access_rights", asked.access_id, "active")
    if earlier := _access_to_revoke_first(books, asked.access_id, str(right["employee_id"])):
        raise ToolRefused(f"{earlier} has to be revoked before {asked.access_id}.")
    revoked = {"status": "revoked", "reason": asked.reason, "decided_at": books.now()}
    return update(books, "access_rights", asked.access_id, **revoked)


def deactivate_employee(books: CompanyBooks, asked: DeactivateEmployee) -> Json:
    check_status(books, "employees", asked.employee_id, "active")
    held = fetch(books, rows_of("access_rights", employee_id=asked.employee_id, status="active"))
    if held:
        names = ", ".join(str(right["id"]) for right in held)
        raise ToolRefused(f"Employee {asked.employee_id} still has active access: {names}.")
    return update(books, "employees", asked.employee_id, status="former")


def _access_to_revoke_first(books: CompanyBooks, access_id: str, employee_id: str) -> str | None:
    sql = (
        "SELECT id FROM access_rights WHERE employee_id = ? AND status = 'active' AND revocation_rank <"
        " (SELECT revocation_rank FROM access_rights WHERE id = ?) ORDER BY revocation_rank"
    )
    found = books.find_row(sql, employee_id, access_id)
    return str(found["id"]) if found else None


def get_asset(books: CompanyBooks, asked: AssetById) -> Json:
    return find(books, "assets", asked.asset_id)


def list_assets(books: CompanyBooks, asked: AssetFilter) -> Json:
    query = rows_of("assets", employee_id=asked.employee_id, status=asked.status)
    return offset_page(books, "assets", query, asked)


def assign_asset(books: CompanyBooks, asked: AssignAsset) -> Json:
    require_active(books, asked.employee_id)
    check_status(books, "assets", asked.asset_id, "stored")
    return update(books, "assets", asked.asset_id, employee_id=asked.employee_id, status="assigned")


def return_asset(books: CompanyBooks, asked: AssetById) -> Json:
    if require_row(books, "assets", asked.asset_id)["status"] != "assigned":
        raise AlreadyDone(f"Asset {asked.asset_id} is with nobody.")
    return update(books, "assets", asked.asset_id, employee_id=None, status="stored")


TOOLS = (
    CompanyTool("get_access", "One access right by id.", AccessById, READ, get_access),
    CompanyTool(
        "list_access",
        "An employee's access rights, in the order in which they are revoked.",
        AccessFilter,
        READ,
        list_access,
    ),
    CompanyTool("grant_access", "Give an employee access to a system; once for each.", GrantAccess, ADD, grant_access),
    CompanyTool(
        "revoke_access",
        "Revoke one access right, in the order of the ranks; once only.",
        RevokeAccess,
        DECIDE,
        revoke_access,
    ),
    CompanyTool(
        "deactivate_employee",
        "End an employee's account; refused while any access right is active.",
        DeactivateEmployee,
        DECIDE,
        deactivate_employee,
    ),
    CompanyTool("get_asset", "One asset by id.", AssetById, READ, get_asset),
    CompanyTool(
        "list_assets", "Assets, page by page, by employee or by status if given.", AssetFilter, READ, list_assets
    ),
    CompanyTool("assign_asset", "Hand a stored asset to an employee.", AssignAsset, DECIDE, assign_asset),
    CompanyTool("return_asset", "Take an asset back from its employee.", AssetById, DECIDE, return_asset),
)
