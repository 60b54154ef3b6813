"""The skills on the agent card: one for each kind of process."""

from typing import NamedTuple


class Skill(NamedTuple):
    id: str
    name: str
    description: str
    tags: str
    example: str


SKILLS = (
    Skill(
        "expense_approval",
        "Expense approval",
        "Checks a claim against budget and policy, asks for approval above the threshold, books it and proves it.",
        "expenses finance approvals",
        "Process the expense claim for EMP-447, $2,340 for team offsite",
    ),
    Skill(
        "procurement",
        "Procurement",
        "Buys within budget and policy, with approval where it is needed, and tells the vendor afterwards.",
        "purchasing finance approvals",
        "Order 40 laptops from the approved vendor for the Berlin office",
    ),
    Skill(
        "hr_offboarding",
        "Offboarding",
        "Revokes what a leaving employee may do, in sequence, and notes each step.",
        "hr access",
        "Offboard EMP-221, last day Friday",
    ),
    Skill(
        "incident_response",
        "Incident response",
        "Assesses an incident and acts on it; where payment data is concerned, two people approve first.",
        "security operations approvals",
        "Handle incident INC-9: card data may have leaked from the staging host",
    ),
    Skill(
        "invoice_reconciliation",
        "Invoice reconciliation",
        "Compares invoices with orders to the cent, finds duplicates and records the variance.",
        "finance invoices",
        "Reconcile invoice INV-881 against purchase order PO-55",
    ),
    Skill(
        "customer_onboarding",
        "Customer onboarding",
        "Sets a customer up and welcomes them.",
        "customers",
        "Onboard Northwind as a customer on the standard plan",
    ),
    Skill(
        "compliance_audit",
        "Compliance audit",
        "Tracks gaps in customers' files and routes those who need a closer look.",
        "compliance kyc approvals",
        "Audit the files of customers opened last quarter",
    ),
    Skill(
        "dispute_resolution",
        "Dispute resolution",
        "Decides a dispute by policy, or hands it to a person who may.",
        "customers refunds approvals",
        "Resolve dispute D-17 over a double charge of $89",
    ),
    Skill(
        "order_management",
        "Order management",
        "Changes orders, with the price difference worked out before.",
        "orders approvals",
        "Change order O-310 to 25 units and tell me the difference",
    ),
    Skill(
        "sla_breach",
        "Breach of a service level",
        "Works out credits, applies them and tells who must know, minding quiet hours.",
        "operations credits",
        "The EU cluster was down for 95 minutes: apply the service credits",
    ),
    Skill(
        "month_end_close",
        "Month-end close",
        "Closes the books of a month: bulk data, revenue recognition, approval, notice.",
        "finance accounting approvals",
        "Close the books for May",
    ),
    Skill(
        "ar_collections",
        "Collections",
        "Routes customers with open invoices, each their way.",
        "finance receivables",
        "Work through the receivables that are over 60 days",
    ),
    Skill(
        "subscription_migration",
        "Subscription migration",
        "Moves subscriptions to another plan, confirmation by confirmation.",
        "subscriptions approvals",
        "Move Contoso from the monthly to the yearly plan",
    ),
    Skill(
        "payroll",
        "Payroll",
        "Works out pay and taxes, also of several countries, and prepares the bank file for approval.",
        "finance hr approvals",
        "Run the payroll for June",
    ),
    Skill(
        "general",
        "Any other business task",
        "Reads, computes, checks policy, writes, proves each write and answers, over your own tools.",
        "business policy",
        "Which of our vendors have no tax id on file? Flag them for review",
    ),
)
