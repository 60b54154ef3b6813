"""Tools over customers, their subscriptions and the plans they can have."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import RowQuery, add, cents_of, check_status, fetch, find, require_row, rows_of, update
from examples.company.paging import OffsetArguments, linked_page, offset_page
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, NoArguments
from shared.domain.exact_json import Json

CustomerId = Annotated[str, Field(description="Customer id, such as CUS-801", min_length=1)]
SubscriptionId = Annotated[str, Field(description="Subscription id, such as SBS-1201", min_length=1)]
PlanName = Annotated[str, Field(description="Name of a plan, such as Growth", min_length=1)]
Kyc = Literal["cleared", "missing", "expired"]
_FIRST_PERIOD = timedelta(days=30)


class CustomerById(Arguments):
    customer_id: CustomerId


class CustomerSearch(Arguments):
    query: Annotated[str, Field(description="Part of a name or an e-mail address", min_length=1)]


class CustomerFilter(OffsetArguments):
    kyc_status: Annotated[Kyc | None, Field(description="Only this state of the identity check")] = None


class NewCustomer(Arguments):
    name: Annotated[str, Field(description="The customer's name", min_length=1)]
    email: Annotated[str, Field(description="The customer's e-mail address", pattern=r"^[^@\s]+@[^@\s]+$")]


class KycUpdate(Arguments):
    customer_id: CustomerId
    kyc_status: Annotated[Kyc, Field(description="The state of the identity check")]


class SubscriptionById(Arguments):
    subscription_id: SubscriptionId


class SubscriptionFilter(OffsetArguments):
    customer_id: Annotated[str | None, Field(description="Only subscriptions of this customer")] = None
    status: Annotated[Literal["active", "cancelled"] | None, Field(description="Only this status")] = None


class NewSubscription(Arguments):
    customer_id: CustomerId
    plan_name: PlanName
    seats: Annotated[int, Field(description="How many seats", ge=1, le=10_000)]


class MigrateSubscription(Arguments):
    subscription_id: SubscriptionId
    plan_name: PlanName


class CancelSubscription(Arguments):
    subscription_id: SubscriptionId
    reason: Annotated[str, Field(description="Why it is cancelled", min_length=1)]


def get_customer(books: CompanyBooks, asked: CustomerById) -> Json:
    return find(books, "customers", asked.customer_id)


def list_customers(books: CompanyBooks, asked: CustomerFilter) -> Json:
    return offset_page(books, "customers", rows_of("customers", kyc_status=asked.kyc_status), asked)


def search_customers(books: CompanyBooks, asked: CustomerSearch) -> Json:
    sql = "SELECT * FROM customers WHERE INSTR(LOWER(name || ' ' || email), LOWER(?))"
    return [*fetch(books, RowQuery(sql, (asked.query,)))]


def create_customer(books: CompanyBooks, asked: NewCustomer) -> Json:
    if other := books.find_row("SELECT id FROM customers WHERE email = ? COLLATE NOCASE", asked.email):
        raise AlreadyDone(f"{asked.email} is already the address of customer {other['id']}.")
    return add(books, "customers", name=asked.name, email=asked.email, created_at=books.now())


def update_customer_kyc(books: CompanyBooks, asked: KycUpdate) -> Json:
    require_row(books, "customers", asked.customer_id)
    return update(books, "customers", asked.customer_id, kyc_status=asked.kyc_status)


def list_plans(books: CompanyBooks, _: NoArguments) -> Json:
    return [*fetch(books, rows_of("plans"))]


def get_subscription(books: CompanyBooks, asked: SubscriptionById) -> Json:
    return find(books, "subscriptions", asked.subscription_id)


def list_subscriptions(books: CompanyBooks, asked: SubscriptionFilter) -> Json:
    query = rows_of("subscriptions", customer_id=asked.customer_id, status=asked.status)
    return linked_page(books, "subscriptions", query, asked)


def create_subscription(books: CompanyBooks, asked: NewSubscription) -> Json:
    if require_row(books, "customers", asked.customer_id)["status"] != "active":
        raise ToolRefused(f"Customer {asked.customer_id} is no longer served.")
    plan_name, price = _require_plan(books, asked.plan_name)
    return add(
        books,
        "subscriptions",
        customer_id=asked.customer_id,
        plan_name=plan_name,
        seats=asked.seats,
        monthly_cents=price * asked.seats,
        renews_on=(books.today() + _FIRST_PERIOD).isoformat(),
    )


def migrate_subscription(books: CompanyBooks, asked: MigrateSubscription) -> Json:
    now = check_status(books, "subscriptions", asked.subscription_id, "active")
    plan_name, price = _require_plan(books, asked.plan_name)
    if now["plan_name"] == plan_name:
        raise AlreadyDone(f"Subscription {asked.subscription_id} already has the plan {plan_name}.")
    monthly = price * cents_of(books, "subscriptions", asked.subscription_id, "seats")
    return update(books, "subscriptions", asked.subscription_id, plan_name=plan_name, monthly_cents=monthly)


def cancel_subscription(books: CompanyBooks, asked: CancelSubscription) -> Json:
    check_status(books, "subscriptions", asked.subscription_id, "active")
    return update(books, "subscriptions", asked.subscription_id, status="cancelled", reason=asked.reason)


def _require_plan(books: CompanyBooks, name: str) -> tuple[str, int]:
    found = books.find_row("SELECT id, plan_name FROM plans WHERE plan_name = ? COLLATE NOCASE", name)
    if found is None:
        raise ToolRefused(f"There is no plan {name}.")
    return str(found["plan_name"]), cents_of(books, "plans", str(found["id"]), "seat_fee_cents")


TOOLS = (
    CompanyTool("get_customer", "One customer by id.", CustomerById, READ, get_customer),
    CompanyTool(
        "list_customers",
        "Customers, page by page, by the state of the identity check if given.",
        CustomerFilter,
        READ,
        list_customers,
    ),
    CompanyTool(
        "search_customers", "Customers whose name or e-mail contains a text.", CustomerSearch, READ, search_customers
    ),
    CompanyTool(
        "create_customer", "Set up a new customer; an address is used once.", NewCustomer, ADD, create_customer
    ),
    CompanyTool(
        "update_customer_kyc", "Set the state of a customer's identity check.", KycUpdate, DECIDE, update_customer_kyc
    ),
    CompanyTool("list_plans", "The plans that a subscription can have.", NoArguments, READ, list_plans),
    CompanyTool("get_subscription", "One subscription by id.", SubscriptionById, READ, get_subscription),
    CompanyTool(
        "list_subscriptions",
        "Subscriptions, page by page, by customer or by status if given.",
        SubscriptionFilter,
        READ,
        list_subscriptions,
    ),
    CompanyTool("create_subscription", "Subscribe a customer to a plan.", NewSubscription, ADD, create_subscription),
    CompanyTool(
        "migrate_subscription",
        "Move an active subscription to another plan, its price with it.",
        MigrateSubscription,
        DECIDE,
        migrate_subscription,
    ),
    CompanyTool(
        "cancel_subscription",
        "Cancel an active subscription; once only.",
        CancelSubscription,
        DECIDE,
        cancel_subscription,
    ),
)
