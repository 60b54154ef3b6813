"""Tasks over the example company of which one word restricts what is meant: it is heeded, or the task is refused and
the word named.
"""

from decimal import Decimal

from tests.planner_tasks.task import PlainTask, call, task

_SAID = "said by the worker"


def _refused(text: str, *named: str) -> PlainTask:
    return task(text, says=named)


CHOICES = (
    _refused("Approve EXP-1002 or EXP-1009.", "Not done", "it could mean EXP-1002 or EXP-1009"),
    _refused('Resolve incident INC-1503 or INC-1513 with "fixed".', "Not done", "INC-1503 or INC-1513"),
    _refused("Genehmige EXP-1002 oder EXP-1009.", "EXP-1002 or EXP-1009"),
    _refused("Approuve EXP-1002 ou EXP-1009.", "EXP-1002 or EXP-1009"),
    _refused("Approve EXP-1002, EXP-1005 or EXP-1009.", "it could mean EXP-1005 or EXP-1009"),
    _refused("Approve the expense claim EXP-1002 or the expense claim EXP-1009.", "EXP-1002 or EXP-1009"),
    _refused("Approve or reject EXP-1002.", "it could mean Approve or reject"),
    _refused('Notify EMP-305 or EMP-311 that "the office is closed".', "it could mean EMP-305 or EMP-311"),
    _refused("Assign ticket TIC-2103 to EMP-305 or EMP-311.", "it could mean EMP-305 or EMP-311"),
    _refused("Assign ticket TIC-2103 to Mei Lin or Diego Alvarez.", "Not done"),
    _refused("Refund ORD-2001 $10 or $20 because of late delivery.", "Not done"),
    task(
        'Close ticket TIC-2103 with "fixed or replaced".',
        call("close_ticket", ticket_id="TIC-2103", resolution="fixed or replaced"),
    ),
    task(
        "Approve all pending expense claims of EMP-305 or EMP-311.",
        call("approve_expense", expense_id="EXP-1002"),
        call("approve_expense", expense_id="EXP-1003"),
    ),
    task(
        "Reject EXP-1008 because alcohol or tobacco is not covered.",
        call("reject_expense", expense_id="EXP-1008", reason=_SAID),
    ),
)

FIGURES = (
    _refused(
        "Reject all pending expense claims over 8.000 dollars because they are too expensive.", "not understood: 8.000"
    ),
    _refused('Reserve 8.000 dollars of the Product budget for "fair".', "not understood: 8.000"),
    _refused('Reserve 8.000 € of the Product budget for "fair".', "not understood: 8.000"),
    _refused('Reserve 8.000 of the Product budget for "fair".', "not understood: 8.000"),
    _refused('Reserve $8.000 of the Product budget for "fair".', "not understood: 8.000"),
    _refused('Reserve 1.500,50 dollars of the Product budget for "fair".', "not understood: 1.500,50"),
    _refused('Reserve 1.500.000 dollars of the Product budget for "fair".', "not understood: 1.500.000"),
    _refused("Approve expense claim EXP-1002 only if it is under 8.000 dollars.", "Not done"),
    _refused("Which expense claims are over 8.000 dollars?", "not understood: 8.000"),
    _refused("Which expense claims are over 8.000 €?", "not understood: 8.000"),
    task(
        'Reserve 8,000 dollars of the Product budget for "fair".',
        call("reserve_budget", department="Product", amount=8000, purpose="fair"),
    ),
    task(
        'Reserve 8.50 dollars of the Product budget for "fair 8.000".',
        call("reserve_budget", department="Product", amount=Decimal("8.50"), purpose="fair 8.000"),
    ),
    _refused('Submit an expense claim of -$45.50 for EMP-305, category meals, description "Lunch".', "-45.50"),
    _refused('Reserve -$500 of the Product budget for "team day".', "-500"),
    _refused('Reserve -500 USD of the Product budget for "team day".', "-500"),
    _refused('Reserve −€500 of the Product budget for "team day".', "-500"),
    _refused('Reserve minus $500 of the Product budget for "team day".', "not understood: minus"),
)

THINGS = (
    task(
        "Refund ORD-2001 and ORD-2002 $10 each because of late delivery.",
        call("create_refund", order_id="ORD-2001", amount=10, reason=_SAID),
        call("create_refund", order_id="ORD-2002", amount=10, reason=_SAID),
    ),
    task(
        "Refund ORD-2001 10 dollars each because of late delivery.",
        call("create_refund", order_id="ORD-2001", amount=10, reason=_SAID),
    ),
    task(
        "Refund all orders of Bright Cafe $1 each because of late delivery.",
        call("create_refund", order_id="ORD-2001", amount=1, reason=_SAID),
        call("create_refund", order_id="ORD-2002", amount=1, reason=_SAID),
        call("create_refund", order_id="ORD-2012", amount=1, reason=_SAID),
    ),
    _refused("Send a reminder for all receivables that are overdue and unreminded.", "not understood: overdue"),
    _refused("Which invoices are duplicates?", "not understood: duplicates"),
    _refused("Which invoices are identical?", "not understood: identical"),
    _refused("Which invoices are twins?", "not understood: twins"),
    _refused("How many invoices are duplicates?", "not understood: duplicates"),
    task("Which tickets are urgent?", says=("TIC-2103, TIC-2116, TIC-2121.",)),
    task("How much is the amount of invoice INV-6007 and INV-6024 together?", says=("Sum amount invoice",)),
)
