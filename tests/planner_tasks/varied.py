"""More tasks in plain words, said in other ways than the tools' own."""

from decimal import Decimal

from tests.planner_tasks.task import PlainTask, call

_SAID = "said by the worker"

TASKS = (
    PlainTask(
        "an instruction as a wish",
        "expense_approval",
        "I would like you to approve EXP-1009.",
        (call("approve_expense", expense_id="EXP-1009"),),
    ),
    PlainTask(
        "a duplicate named first",
        "expense_approval",
        "EXP-1000 is a duplicate of EXP-1001. Reject EXP-1000.",
        (call("reject_expense", expense_id="EXP-1000", reason=_SAID),),
    ),
    PlainTask(
        "not this one",
        "expense_approval",
        "Approve EXP-1003, not EXP-1006.",
        (call("approve_expense", expense_id="EXP-1003"),),
    ),
    PlainTask(
        "an instruction in the passive",
        "procurement",
        "Purchase order PO-7026 should be approved.",
        (call("approve_purchase_order", purchase_order_id="PO-7026"),),
        besides=(call("notify_vendor", vendor_id="VEN-601", message=_SAID),),
    ),
    PlainTask(
        "unless",
        "procurement",
        "Approve purchase order PO-7023 unless it is over 500 USD.",
        says=("Not done",),
    ),
    PlainTask(
        "by a description",
        "general",
        "Assign the forklift to employee EMP-460.",
        (call("assign_asset", asset_id="AST-1724", employee_id="EMP-460"),),
    ),
    PlainTask(
        "tell two employees",
        "general",
        'Notify EMP-305 and EMP-311 that "the office is closed on Friday".',
        (
            call("notify_employee", employee_id="EMP-305", message=_SAID),
            call("notify_employee", employee_id="EMP-311", message=_SAID),
        ),
    ),
    PlainTask(
        "a question before an action",
        "order_management",
        "What is the status of order ORD-2006? Cancel order ORD-2008 because the hotel is closed.",
        (call("cancel_order", order_id="ORD-2008", reason=_SAID),),
        says=("placed",),
    ),
    PlainTask(
        "forbidden to all",
        "general",
        "Resolve incident INC-1507: the printer was replaced. Do not notify anybody.",
        (call("resolve_incident", incident_id="INC-1507", resolution=_SAID),),
    ),
    PlainTask(
        "a quarter of a price",
        "order_management",
        "Refund 25% of the total of order ORD-2005, because the frother came late.",
        (call("create_refund", order_id="ORD-2005", amount=Decimal("22.38"), reason=_SAID),),
    ),
    PlainTask(
        "how many",
        "incident_response",
        "How many incidents are open?",
        says=("10",),
    ),
    PlainTask(
        "done already",
        "expense_approval",
        "Approve expense claim EXP-1011.",
        says=("already",),
    ),
    PlainTask(
        "an unknown name",
        "general",
        "Revoke all access of Walter Unknown.",
        says=("Not done",),
    ),
    PlainTask(
        "only what is meant",
        "ar_collections",
        "Send a reminder for receivable REC-1312, but not for REC-1308.",
        (call("send_reminder", receivable_id="REC-1312"),),
    ),
    PlainTask(
        "something that no tool does",
        "general",
        "Delete customer CUS-816.",
        says=("Not done",),
    ),
    PlainTask(
        "a ticket for somebody by name",
        "general",
        "Assign ticket TIC-2103 to Diego Alvarez.",
        (call("assign_ticket", ticket_id="TIC-2103", employee_id="EMP-219"),),
    ),
)
