"""Tools that tell what moving a subscription to another plan would change, keep and lose."""

from examples.company import money
from examples.company.books import CompanyBooks
from examples.company.lookup import cents_of
from examples.company.toolbox import READ, Arguments, CompanyTool, not_found
from examples.company.tools.customers import PlanName, SubscriptionId
from shared.domain.exact_json import Json


class UsageBySubscription(Arguments):
    subscription_id: SubscriptionId


class MigrationPreview(UsageBySubscription):
    plan_name: PlanName


def get_subscription_usage(books: CompanyBooks, asked: UsageBySubscription) -> Json:
    found = books.find_row("SELECT * FROM usages WHERE subscription_id = ?", asked.subscription_id)
    return found or not_found("usage of subscription", asked.subscription_id)


def get_subscription_preview(books: CompanyBooks, asked: MigrationPreview) -> Json:
    """The price before and after, from when, and which data the other plan has no room for."""
    plan = books.find_row("SELECT * FROM plans WHERE plan_name = ? COLLATE NOCASE", asked.plan_name)
    held = books.find_row("SELECT * FROM subscriptions WHERE id = ?", asked.subscription_id)
    used = books.find_row("SELECT * FROM usages WHERE subscription_id = ?", asked.subscription_id)
    if plan is None or held is None or used is None:
        return not_found("subscription to move to plan", asked.plan_name)
    monthly = cents_of(books, "plans", str(plan["id"]), "seat_fee_cents")
    monthly *= cents_of(books, "subscriptions", asked.subscription_id, "seats")
    days, storage = _ints(used["retention_days"], plan["retention_days"]), _ints(used["storage_gb"], plan["storage_gb"])
    return {
        "subscription_id": asked.subscription_id,
        "from_plan": held["plan_name"],
        "to_plan": plan["plan_name"],
        "old_monthly": held["monthly"],
        "new_monthly": money.spell(monthly),
        "effective_on": held["renews_on"],
        "data_kept": f"{min(days)} days of records, {min(storage)} GB",
        "data_lost": _describe_loss(*days, "days of records") + "; " + _describe_loss(*storage, "GB"),
    }


def _ints(used: Json, limit: Json) -> tuple[int, int]:
    return int(str(used)), int(str(limit))


def _describe_loss(used: int, limit: int, what: str) -> str:
    return f"{used - limit} {what}" if used > limit else f"no {what}"


TOOLS = (
    CompanyTool(
        "get_subscription_usage",
        "What a subscription uses of its plan: storage and days of records.",
        UsageBySubscription,
        READ,
        get_subscription_usage,
    ),
    CompanyTool(
        "get_subscription_preview",
        "What moving a subscription to another plan would change: price, day, data kept and lost.",
        MigrationPreview,
        READ,
        get_subscription_preview,
    ),
)
