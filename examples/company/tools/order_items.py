"""Tools over products and the items of orders: an item of an order that is still placed can become another product."""

from typing import Annotated

from pydantic import Field

from examples.company import money
from examples.company.books import CompanyBooks, ToolRefused
from examples.company.lookup import cents_of, check_status, fetch, find, require_row, rows_of, update
from examples.company.money import Amount
from examples.company.toolbox import DECIDE, READ, Arguments, CompanyTool, NoArguments, not_found
from examples.company.tools.orders import OrderId
from shared.domain.exact_json import Json

ItemId = Annotated[str, Field(description="Order item id, such as ITM-2301", min_length=1)]
ProductId = Annotated[str, Field(description="Product id, such as PRD-2201", min_length=1)]


class ProductById(Arguments):
    product_id: ProductId


class OrderItemById(Arguments):
    order_item_id: ItemId


class ItemsByOrder(Arguments):
    order_id: OrderId


class ItemReplacement(OrderItemById):
    product_id: ProductId


class ReplaceItem(ItemReplacement):
    total: Amount


def get_product(books: CompanyBooks, asked: ProductById) -> Json:
    return find(books, "products", asked.product_id)


def list_products(books: CompanyBooks, _: NoArguments) -> Json:
    return [*fetch(books, rows_of("products"))]


def get_order_item(books: CompanyBooks, asked: OrderItemById) -> Json:
    return find(books, "order_items", asked.order_item_id)


def list_order_items(books: CompanyBooks, asked: ItemsByOrder) -> Json:
    return [*fetch(books, rows_of("order_items", order_id=asked.order_id))]


def get_price_quote(books: CompanyBooks, asked: ItemReplacement) -> Json:
    """What the order comes to now, and would come to with the other product."""
    if books.find_row("SELECT id FROM order_items WHERE id = ?", asked.order_item_id) is None:
        return not_found("order item", asked.order_item_id)
    if books.find_row("SELECT id FROM products WHERE id = ?", asked.product_id) is None:
        return not_found("product", asked.product_id)
    old, new, total = _prices_in_cents(books, asked)
    return {
        "order_item_id": asked.order_item_id,
        "product_id": asked.product_id,
        "old_total": money.spell(total),
        "new_total": money.spell(total - old + new),
    }


def modify_order_item(books: CompanyBooks, asked: ReplaceItem) -> Json:
    order = str(require_row(books, "order_items", asked.order_item_id)["order_id"])
    product = require_row(books, "products", asked.product_id)
    check_status(books, "orders", order, "placed")
    old, new, total = _prices_in_cents(books, asked)
    if money.to_cents(asked.total) != total - old + new:
        raise ToolRefused(f"The new total of {order} is {money.spell(total - old + new)}, not {asked.total}.")
    price = cents_of(books, "products", asked.product_id, "price_cents")
    item = update(books, "order_items", asked.order_item_id, product_id=asked.product_id, price_cents=price)
    update(books, "orders", order, item=str(product["item"]), total_cents=total - old + new)
    return item


def _prices_in_cents(books: CompanyBooks, asked: ItemReplacement) -> tuple[int, int, int]:
    """In cents: the item as it is, the item as the other product, and the order's total."""
    quantity = cents_of(books, "order_items", asked.order_item_id, "quantity")
    price = cents_of(books, "order_items", asked.order_item_id, "price_cents")
    order = str(require_row(books, "order_items", asked.order_item_id)["order_id"])
    new = cents_of(books, "products", asked.product_id, "price_cents")
    return price * quantity, new * quantity, cents_of(books, "orders", order, "total_cents")


TOOLS = (
    CompanyTool("get_product", "One product by id, with its price.", ProductById, READ, get_product),
    CompanyTool("list_products", "All products with their prices.", NoArguments, READ, list_products),
    CompanyTool("get_order_item", "One item of an order by id.", OrderItemById, READ, get_order_item),
    CompanyTool("list_order_items", "The items of one order.", ItemsByOrder, READ, list_order_items),
    CompanyTool(
        "get_price_quote",
        "What an order comes to now, and with another product in the place of an item.",
        ItemReplacement,
        READ,
        get_price_quote,
    ),
    CompanyTool(
        "modify_order_item",
        "Put another product in the place of an item of a placed order, at the order's new total.",
        ReplaceItem,
        DECIDE,
        modify_order_item,
    ),
)
