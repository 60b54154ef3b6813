"""Tools over vendors' invoices, what they differ by from their purchase orders, and their payment."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery, add, cents_of, check_status, fetch, find, require_row, rows_of, update
from examples.company.money import Amount, SignedAmount
from examples.company.paging import CursorArguments, PageArguments, cursor_page, numbered_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool
from examples.company.tools.purchases import PurchaseOrderId
from shared.domain.exact_json import Json

InvoiceId = Annotated[str, Field(description="Invoice id, such as INV-6001", min_length=1)]


class InvoiceById(Arguments):
    invoice_id: InvoiceId


class InvoiceFilter(PageArguments):
    vendor_id: Annotated[str | None, Field(description="Only invoices of this vendor")] = None
    status: Annotated[
        Literal["open", "matched", "flagged", "approved", "settled"] | None, Field(description="Only this status")
    ] = None


class InvoiceSearch(Arguments):
    query: Annotated[str, Field(description="Part of the number that the vendor gave", min_length=1)]


class MatchInvoice(InvoiceById):
    purchase_order_id: PurchaseOrderId


class FlagInvoice(InvoiceById):
    variance: SignedAmount
    reason: Annotated[str, Field(description="What is wrong with it", min_length=1)]


class PayInvoice(InvoiceById):
    amount: Amount


class PaymentById(Arguments):
    payment_id: Annotated[str, Field(description="Payment id, such as PAY-8001", min_length=1)]


class PaymentFilter(CursorArguments):
    vendor_id: Annotated[str | None, Field(description="Only payments to this vendor")] = None


def get_invoice(books: CompanyBooks, asked: InvoiceById) -> Json:
    return find(books, "invoices", asked.invoice_id)


def list_invoices(books: CompanyBooks, asked: InvoiceFilter) -> Json:
    return numbered_page(books, "invoices", rows_of("invoices", vendor_id=asked.vendor_id, status=asked.status), asked)


def search_invoices(books: CompanyBooks, asked: InvoiceSearch) -> Json:
    return [
        *fetch(books, RowQuery("SELECT * FROM invoices WHERE INSTR(LOWER(invoice_number), LOWER(?))", (asked.query,)))
    ]


def match_invoice(books: CompanyBooks, asked: MatchInvoice) -> Json:
    invoice = check_status(books, "invoices", asked.invoice_id, "open", "flagged")
    order = require_row(books, "purchase_orders", asked.purchase_order_id)
    if order["status"] not in ("approved", "received") or order["vendor_id"] != invoice["vendor_id"]:
        raise ToolRefused(f"{asked.purchase_order_id} is no approved purchase order to {invoice['vendor_id']}.")
    if order["amount"] != invoice["amount"]:
        raise ToolRefused(f"Invoice {asked.invoice_id} is over {invoice['amount']}, the order over {order['amount']}.")
    _require_unmatched(books, asked.purchase_order_id)
    decided = {"status": "matched", "purchase_order_id": asked.purchase_order_id, "decided_at": books.now()}
    return update(books, "invoices", asked.invoice_id, **decided, variance_cents=0)


def _require_unmatched(books: CompanyBooks, purchase_order_id: str) -> None:
    sql = "SELECT id FROM invoices WHERE purchase_order_id = ? AND status IN ('matched', 'settled')"
    if other := books.find_row(sql, purchase_order_id):
        raise AlreadyDone(f"Purchase order {purchase_order_id} is already matched with invoice {other['id']}.")


def flag_invoice(books: CompanyBooks, asked: FlagInvoice) -> Json:
    check_status(books, "invoices", asked.invoice_id, "open")
    flagged = {"status": "flagged", "reason": asked.reason, "decided_at": books.now()}
    return update(books, "invoices", asked.invoice_id, **flagged, variance_cents=money.to_cents(asked.variance))


def approve_invoice(books: CompanyBooks, asked: InvoiceById) -> Json:
    check_status(books, "invoices", asked.invoice_id, "open", "flagged")
    return update(books, "invoices", asked.invoice_id, status="approved", decided_at=books.now())


def pay_invoice(books: CompanyBooks, asked: PayInvoice) -> Json:
    invoice = require_row(books, "invoices", asked.invoice_id)
    if invoice["status"] in ("open", "flagged"):
        raise ToolRefused(f"Invoice {asked.invoice_id} is {invoice['status']}: match it with its purchase order first.")
    check_status(books, "invoices", asked.invoice_id, "matched", "approved")
    amount_cents = money.to_cents(asked.amount)
    if amount_cents != cents_of(books, "invoices", asked.invoice_id, "amount_cents"):
        raise ToolRefused(f"Invoice {asked.invoice_id} is over {invoice['amount']}, not {money.spell(amount_cents)}.")
    update(books, "invoices", asked.invoice_id, status="settled")
    of = {"invoice_id": asked.invoice_id, "vendor_id": str(invoice["vendor_id"])}
    return add(books, "payments", **of, amount_cents=amount_cents, created_at=books.now())


def get_payment(books: CompanyBooks, asked: PaymentById) -> Json:
    return find(books, "payments", asked.payment_id)


def list_payments(books: CompanyBooks, asked: PaymentFilter) -> Json:
    return cursor_page(books, "payments", rows_of("payments", vendor_id=asked.vendor_id), asked)


TOOLS = (
    CompanyTool("get_invoice", "One vendor's invoice by id.", InvoiceById, READ, get_invoice),
    CompanyTool(
        "list_invoices",
        "Vendors' invoices, page by page, by vendor or by status if given.",
        InvoiceFilter,
        READ,
        list_invoices,
    ),
    CompanyTool(
        "search_invoices",
        "Invoices by the number that the vendor gave; shows duplicates.",
        InvoiceSearch,
        READ,
        search_invoices,
    ),
    CompanyTool(
        "match_invoice",
        "Match an invoice with the purchase order that it equals to the cent; once only.",
        MatchInvoice,
        DECIDE,
        match_invoice,
    ),
    CompanyTool(
        "flag_invoice",
        "Flag an open invoice with its variance: what it is over the purchase order, negative if under; once only.",
        FlagInvoice,
        DECIDE,
        flag_invoice,
    ),
    CompanyTool(
        "approve_invoice",
        "Approve an open or flagged invoice for payment although it is matched with nothing; once only.",
        InvoiceById,
        DECIDE,
        approve_invoice,
    ),
    CompanyTool(
        "pay_invoice", "Pay a matched or approved invoice in full; once only.", PayInvoice, ADD, pay_invoice, keyed=True
    ),
    CompanyTool("get_payment", "One payment to a vendor by id.", PaymentById, READ, get_payment),
    CompanyTool(
        "list_payments", "Payments to vendors, page by page, by vendor if given.", PaymentFilter, READ, list_payments
    ),
)
