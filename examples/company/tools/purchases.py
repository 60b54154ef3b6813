"""Tools over purchase orders: each is decided once, and an approval charges the department's budget."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import add, cents_of, check_status, find, require_row, rows_of, update
from examples.company.money import Amount
from examples.company.paging import OffsetArguments, offset_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from examples.company.tools import vendors
from examples.company.tools.budgets import Department, charge_budget, require_department
from examples.company.tools.people import EmployeeId, require_active
from examples.company.tools.vendors import VendorId
from shared.domain.exact_json import Json

PurchaseOrderId = Annotated[str, Field(description="Purchase order id, such as PO-7001", min_length=1)]


class PurchaseOrderById(Arguments):
    purchase_order_id: PurchaseOrderId


class PurchaseOrderFilter(OffsetArguments):
    vendor_id: Annotated[str | None, Field(description="Only purchase orders to this vendor")] = None
    status: Annotated[
        Literal["pending", "approved", "rejected", "received"] | None, Field(description="Only this status")
    ] = None


class NewPurchaseOrder(Arguments):
    vendor_id: VendorId
    department: Department
    requested_by: EmployeeId
    item: Annotated[str, Field(description="What is bought", min_length=1)]
    amount: Amount


class ApprovePurchaseOrder(PurchaseOrderById):
    note: Annotated[str | None, Field(description="A note to keep with the approval")] = None


class RejectPurchaseOrder(PurchaseOrderById):
    reason: Annotated[str, Field(description="Why it is rejected", min_length=1)]


def get_purchase_order(books: CompanyBooks, asked: PurchaseOrderById) -> Json:
    return find(books, "purchase_orders", asked.purchase_order_id)


def list_purchase_orders(books: CompanyBooks, asked: PurchaseOrderFilter) -> Json:
    query = rows_of("purchase_orders", vendor_id=asked.vendor_id, status=asked.status)
    return offset_page(books, "purchase_orders", query, asked)


def create_purchase_order(books: CompanyBooks, asked: NewPurchaseOrder) -> Json:
    vendors.require_active(books, asked.vendor_id)
    require_active(books, asked.requested_by)
    return add(
        books,
        "purchase_orders",
        vendor_id=asked.vendor_id,
        department=require_department(books, asked.department),
        requested_by=asked.requested_by,
        item=asked.item,
        amount_cents=money.to_cents(asked.amount),
        created_at=books.now(),
    )


def approve_purchase_order(books: CompanyBooks, asked: ApprovePurchaseOrder) -> Json:
    order = check_status(books, "purchase_orders", asked.purchase_order_id, "pending")
    vendors.require_active(books, str(order["vendor_id"]))
    charge_budget(
        books, str(order["department"]), cents_of(books, "purchase_orders", asked.purchase_order_id, "amount_cents")
    )
    decided = {"status": "approved", "note": asked.note, "decided_at": books.now()}
    return update(books, "purchase_orders", asked.purchase_order_id, **decided)


def reject_purchase_order(books: CompanyBooks, asked: RejectPurchaseOrder) -> Json:
    check_status(books, "purchase_orders", asked.purchase_order_id, "pending")
    decided = {"status": "rejected", "reason": asked.reason, "decided_at": books.now()}
    return update(books, "purchase_orders", asked.purchase_order_id, **decided)


def receive_purchase_order(books: CompanyBooks, asked: PurchaseOrderById) -> Json:
    if require_row(books, "purchase_orders", asked.purchase_order_id)["status"] == "pending":
        raise ToolRefused(f"Purchase order {asked.purchase_order_id} is not approved yet.")
    check_status(books, "purchase_orders", asked.purchase_order_id, "approved")
    return update(books, "purchase_orders", asked.purchase_order_id, status="received")


TOOLS = (
    CompanyTool(
        "get_purchase_order", "One purchase order to a vendor by id.", PurchaseOrderById, READ, get_purchase_order
    ),
    CompanyTool(
        "list_purchase_orders",
        "Purchase orders to vendors, page by page, by vendor or by status if given.",
        PurchaseOrderFilter,
        READ,
        list_purchase_orders,
    ),
    CompanyTool(
        "create_purchase_order",
        "Ask to buy something from a vendor; it waits for approval.",
        NewPurchaseOrder,
        ADD,
        create_purchase_order,
    ),
    CompanyTool(
        "approve_purchase_order",
        "Approve a pending purchase order and charge it to the department's budget; once only.",
        ApprovePurchaseOrder,
        DECIDE,
        approve_purchase_order,
    ),
    CompanyTool(
        "reject_purchase_order",
        "Reject a pending purchase order with a reason; once only.",
        RejectPurchaseOrder,
        DECIDE,
        reject_purchase_order,
    ),
    CompanyTool(
        "receive_purchase_order",
        "Note that what an approved purchase order bought has come; once only.",
        PurchaseOrderById,
        DECIDE,
        receive_purchase_order,
    ),
)
