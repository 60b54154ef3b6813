"""Tools over customers' orders and their refunds."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.money import Amount
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, not_found
from shared.domain.exact_json import Json, JsonObject

OrderId = Annotated[str, Field(description="Order id, such as ORD-2001", min_length=1)]

_ORDER = "SELECT *, total_cents - refunded_cents AS refundable_cents FROM orders"


class OrderById(Arguments):
    order_id: OrderId


class OrderFilter(Arguments):
    status: Annotated[
        Literal["placed", "shipped", "delivered", "cancelled"] | None, Field(description="Only this status")
    ] = None
    customer_email: Annotated[str | None, Field(description="Only orders of this customer")] = None


class CancelOrder(Arguments):
    order_id: OrderId
    reason: Annotated[str, Field(description="Why it is cancelled", min_length=1)]


class RefundById(Arguments):
    refund_id: Annotated[str, Field(description="Refund id, such as REF-3001", min_length=1)]


class RefundFilter(Arguments):
    order_id: Annotated[str | None, Field(description="Only refunds of this order")] = None


class NewRefund(Arguments):
    order_id: OrderId
    amount: Amount
    reason: Annotated[str, Field(description="Why the money is given back", min_length=1)]


def get_order(books: CompanyBooks, asked: OrderById) -> Json:
    return books.find_row(f"{_ORDER} WHERE id = ?", asked.order_id) or not_found("order", asked.order_id)


def list_orders(books: CompanyBooks, asked: OrderFilter) -> Json:
    sql = f"{_ORDER} WHERE (? IS NULL OR status = ?) AND (? IS NULL OR customer_email = ? COLLATE NOCASE) ORDER BY id"
    return [*books.find_rows(sql, asked.status, asked.status, asked.customer_email, asked.customer_email)]


def cancel_order(books: CompanyBooks, asked: CancelOrder) -> Json:
    order = _require_order(books, asked.order_id)
    if order["status"] != "placed":
        raise AlreadyDone(f"Order {asked.order_id} is already {order['status']} and cannot be cancelled.")
    sql = "UPDATE orders SET status = 'cancelled', cancel_reason = ? WHERE id = ?"
    books.execute(sql, asked.reason, asked.order_id)
    return books.find_row(f"{_ORDER} WHERE id = ?", asked.order_id)


def get_refund(books: CompanyBooks, asked: RefundById) -> Json:
    return books.find_row("SELECT * FROM refunds WHERE id = ?", asked.refund_id) or not_found("refund", asked.refund_id)


def list_refunds(books: CompanyBooks, asked: RefundFilter) -> Json:
    sql = "SELECT * FROM refunds WHERE ? IS NULL OR order_id = ? ORDER BY id"
    return [*books.find_rows(sql, asked.order_id, asked.order_id)]


def create_refund(books: CompanyBooks, asked: NewRefund) -> Json:
    order = _require_order(books, asked.order_id)
    amount_cents = money.to_cents(asked.amount)
    if books.find_number("SELECT total_cents - refunded_cents FROM orders WHERE id = ?", asked.order_id) < amount_cents:
        wanted = money.spell(amount_cents)
        raise ToolRefused(f"Order {asked.order_id} has {order['refundable']} left to refund, not {wanted}.")
    key = books.next_id("refunds", "REF", 3001)
    sql = "INSERT INTO refunds (id, order_id, amount_cents, reason, created_at) VALUES (?, ?, ?, ?, ?)"
    books.execute(sql, key, asked.order_id, amount_cents, asked.reason, books.now())
    books.execute("UPDATE orders SET refunded_cents = refunded_cents + ? WHERE id = ?", amount_cents, asked.order_id)
    return books.find_row("SELECT * FROM refunds WHERE id = ?", key)


def _require_order(books: CompanyBooks, order_id: str) -> JsonObject:
    order = books.find_row(f"{_ORDER} WHERE id = ?", order_id)
    if order is None:
        raise ToolRefused(f"There is no order {order_id}.")
    return order


TOOLS = (
    CompanyTool("get_order", "One order by id, with what is left to refund.", OrderById, READ, get_order),
    CompanyTool("list_orders", "Orders, by status or by customer if given.", OrderFilter, READ, list_orders),
    CompanyTool(
        "cancel_order", "Cancel an order that has not been shipped; once only.", CancelOrder, DECIDE, cancel_order
    ),
    CompanyTool("get_refund", "One refund by id.", RefundById, READ, get_refund),
    CompanyTool("list_refunds", "Refunds, of one order if given.", RefundFilter, READ, list_refunds),
    CompanyTool(
        "create_refund",
        "Give money of an order back; never more than is left of its total.",
        NewRefund,
        ADD,
        create_refund,
        keyed=True,
    ),
)
