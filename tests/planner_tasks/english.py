"""Tasks in plain English over the example company, some of every kind of process."""

from decimal import Decimal

from tests.planner_tasks.task import PlainTask, call

_SAID = "said by the worker"

_CLAIMS = (
    PlainTask(
        "approve two claims",
        "expense_approval",
        "Please approve the expense claims EXP-1003 and EXP-1005.",
        (call("approve_expense", expense_id="EXP-1003"), call("approve_expense", expense_id="EXP-1005")),
    ),
    PlainTask(
        "a claim by whose it is, its amount and what it was for",  # the agent card's own example
        "expense_approval",
        "Process the expense claim for EMP-447, $2,340 for team offsite",
        (call("approve_expense", expense_id="EXP-1001"),),
    ),
    PlainTask(
        "reject as a duplicate",
        "expense_approval",
        "Reject expense claim EXP-1000 as a duplicate of EXP-1001.",
        (call("reject_expense", expense_id="EXP-1000", reason=_SAID),),
    ),
    PlainTask(
        "a condition that holds",
        "expense_approval",
        "Approve expense claim EXP-1002 only if it is under 100 USD.",
        (call("approve_expense", expense_id="EXP-1002"),),
    ),
    PlainTask(
        "a condition that does not hold",
        "expense_approval",
        "Approve expense claim EXP-1006 only if it is under 1,000 USD.",
        says=("EXP-1006", "Not done"),
    ),
    PlainTask(
        "within the budget",
        "expense_approval",
        "Approve EXP-1003 if the remaining budget of Engineering covers it, otherwise reject it.",
        (call("approve_expense", expense_id="EXP-1003"),),
    ),
    PlainTask(
        "one but not the other",
        "expense_approval",
        "Approve expense claim EXP-1005, but do not approve EXP-1006.",
        (call("approve_expense", expense_id="EXP-1005"),),
    ),
    PlainTask(
        "submit a claim",
        "expense_approval",
        'Submit an expense claim for employee EMP-311 over 45.50 USD, category meals, for "Lunch with a candidate".',
        (
            call(
                "submit_expense",
                employee_id="EMP-311",
                amount=Decimal("45.50"),
                category="meals",
                description="Lunch with a candidate",
            ),
        ),
    ),
    PlainTask(
        "reject and tell",
        "expense_approval",
        "Reject expense claim EXP-1008 because alcohol is not covered, and notify EMP-118 of the rejection.",
        (
            call("reject_expense", expense_id="EXP-1008", reason=_SAID),
            call("notify_employee", employee_id="EMP-118", message=_SAID),
        ),
    ),
    PlainTask(
        "all of one employee but one",
        "expense_approval",
        "Approve all pending expense claims of the category training except EXP-1006.",
        (call("approve_expense", expense_id="EXP-1003"),),
    ),
)

_BUYING = (
    PlainTask(
        "reject an order to a vendor",
        "procurement",
        "Reject purchase order PO-7029 because the vendor is suspended.",
        (call("reject_purchase_order", purchase_order_id="PO-7029", reason=_SAID),),
    ),
    PlainTask(
        "ask to buy",
        "procurement",
        "Create a purchase order with vendor VEN-612 for the department Operations, requested by EMP-460:"
        ' "Pallet wrap" at 320.00 USD.',
        (
            call(
                "create_purchase_order",
                vendor_id="VEN-612",
                department="Operations",
                requested_by="EMP-460",
                item="Pallet wrap",
                amount=320,
            ),
        ),
    ),
    PlainTask(
        "goods have come",
        "procurement",
        "Note that purchase order PO-7018 was received.",
        (call("receive_purchase_order", purchase_order_id="PO-7018"),),
    ),
    PlainTask(
        "match an invoice",
        "invoice_reconciliation",
        "Match invoice INV-6012 with its purchase order.",
        (call("match_invoice", invoice_id="INV-6012", purchase_order_id="PO-7012"),),
    ),
    PlainTask(
        "pay a matched invoice",
        "invoice_reconciliation",
        "Pay invoice INV-6010 in full.",
        (call("pay_invoice", invoice_id="INV-6010", amount=4350),),
    ),
    PlainTask(
        "flag an invoice that is under its order",
        "invoice_reconciliation",
        "Reconcile invoice INV-6007 with its purchase order and flag it with the difference because of it.",
        (call("flag_invoice", invoice_id="INV-6007", variance=-18, reason=_SAID),),
    ),
    PlainTask(
        "open invoices of a vendor",
        "invoice_reconciliation",
        "Which invoices of vendor VEN-606 are open? Answer with a JSON list of their ids.",
        listed=("INV-6007", "INV-6024"),
    ),
    PlainTask(
        "renew a contract",
        "procurement",
        "Renew contract CON-1103 until 2027-04-30.",
        (call("renew_contract", contract_id="CON-1103", ends_on="2027-04-30"),),
    ),
    PlainTask(
        "terminate a contract",
        "procurement",
        "Terminate the contract CON-1113 because the furniture is gone, and inform vendor VEN-607.",
        (
            call("terminate_contract", contract_id="CON-1113", reason=_SAID),
            call("notify_vendor", vendor_id="VEN-607", message=_SAID),
        ),
    ),
)

_PEOPLE = (
    PlainTask(
        "offboard",
        "hr_offboarding",
        "Offboard employee EMP-447: revoke all their active access, take back asset AST-1716, then deactivate the"
        " employee.",
        (
            call("revoke_access", access_id="ACC-9036"),
            call("revoke_access", access_id="ACC-9037"),
            call("revoke_access", access_id="ACC-9038"),
            call("return_asset", asset_id="AST-1716"),
            call("deactivate_employee", employee_id="EMP-447"),
        ),
    ),
    PlainTask(
        "revoke one right",
        "hr_offboarding",
        "Revoke access ACC-9010 because the project is over.",
        (call("revoke_access", access_id="ACC-9010", reason=_SAID),),
    ),
    PlainTask(
        "grant a right",
        "general",
        "Grant employee EMP-460 read access to the system Ledgerline.",
        (call("grant_access", employee_id="EMP-460", system="Ledgerline", privilege="read"),),
    ),
    PlainTask(
        "a phone number",
        "general",
        "Update the phone number of employee EMP-219 to +1 555 0999.",
        (call("update_employee_phone", employee_id="EMP-219", phone="+1 555 0999"),),
    ),
    PlainTask(
        "by name",
        "general",
        "Change the phone number of Mei Lin to +1 555 0777.",
        (call("update_employee_phone", employee_id="EMP-305", phone="+1 555 0777"),),
    ),
    PlainTask(
        "who manages",
        "general",
        "Who is the manager of employee EMP-404?",
        says=("EMP-118",),
    ),
    PlainTask(
        "set money aside",
        "general",
        'Reserve 1,200.00 USD of the budget of Product for "Usability study".',
        (call("reserve_budget", department="Product", amount=1200, purpose="Usability study"),),
    ),
    PlainTask(
        "release a reservation",
        "general",
        "Release reservation RSV-5002.",
        (call("release_reservation", reservation_id="RSV-5002"),),
    ),
    PlainTask(
        "approve a run of pay",
        "payroll",
        "Approve payroll run RUN-1804 and payroll run RUN-1805.",
        (
            call("approve_payroll_run", payroll_run_id="RUN-1804"),
            call("approve_payroll_run", payroll_run_id="RUN-1805"),
        ),
    ),
    PlainTask(
        "a whole month of pay",
        "payroll",
        'Payroll for 2026-04: approve every payroll run of period "2026-04" and notify EMP-103 that they are approved.',
        (
            call("approve_payroll_run", payroll_run_id="RUN-1807"),
            call("approve_payroll_run", payroll_run_id="RUN-1808"),
            call("approve_payroll_run", payroll_run_id="RUN-1809"),
            call("notify_employee", employee_id="EMP-103", message=_SAID),
        ),
    ),
)

_SELLING = (
    PlainTask(
        "cancel an order",
        "order_management",
        "Cancel order ORD-2007 because the customer changed her mind.",
        (call("cancel_order", order_id="ORD-2007", reason=_SAID),),
    ),
    PlainTask(
        "half the money back",
        "order_management",
        "Refund half of the total of order ORD-2002 because one grinder is noisy.",
        (call("create_refund", order_id="ORD-2002", amount=329, reason=_SAID),),
    ),
    PlainTask(
        "a refund in figures",
        "order_management",
        "Create a refund of 20.00 USD for order ORD-2011, because the box was dented.",
        (call("create_refund", order_id="ORD-2011", amount=20, reason=_SAID),),
    ),
    PlainTask(
        "what is left",
        "order_management",
        "How much is still refundable of order ORD-2004?",
        says=("390.00",),
    ),
    PlainTask(
        "a new customer",
        "customer_onboarding",
        "Onboard the new customer Nordlys Tea with email hello@nordlystea.example: create the customer and create a"
        " subscription to the plan Growth with 12 seats.",
        (
            call("create_customer", name="Nordlys Tea", email="hello@nordlystea.example"),
            call("create_subscription", customer_id="CUS-817", plan_name="Growth", seats=12),
        ),
        besides=(call("notify_customer", customer_id="CUS-817", message=_SAID),),
    ),
    PlainTask(
        "another plan",
        "subscription_migration",
        "Migrate subscription SBS-1204 to plan Growth and tell customer CUS-807 that the plan is changed.",
        (
            call("migrate_subscription", subscription_id="SBS-1204", plan_name="Growth"),
            call("notify_customer", customer_id="CUS-807", message=_SAID),
        ),
    ),
    PlainTask(
        "the end of a subscription",
        "subscription_migration",
        "Cancel subscription SBS-1215, since the bakery has two of them.",
        (call("cancel_subscription", subscription_id="SBS-1215", reason=_SAID),),
    ),
    PlainTask(
        "identity is checked",
        "compliance_audit",
        "Set the KYC status of customer CUS-811 to cleared.",
        (call("update_customer_kyc", customer_id="CUS-811", kyc_status="cleared"),),
    ),
    PlainTask(
        "shortfalls",
        "compliance_audit",
        "Audit the KYC of customer CUS-807: record a KYC shortfall for each KYC document that is missing or expired,"
        " and notify EMP-103 of the result.",
        (
            call("record_kyc_shortfall", kyc_document_id="KYD-2317"),
            call("record_kyc_shortfall", kyc_document_id="KYD-2318"),
            call("notify_employee", employee_id="EMP-103", message=_SAID),
        ),
    ),
    PlainTask(
        "a dispute is resolved",
        "dispute_resolution",
        "Resolve dispute DSP-2504: the customer gets new cups.",
        (call("resolve_dispute", dispute_id="DSP-2504", resolution=_SAID),),
    ),
    PlainTask(
        "a dispute is rejected",
        "dispute_resolution",
        "Reject dispute DSP-2502 because the machine was charged once only, and notify customer CUS-801.",
        (
            call("reject_dispute", dispute_id="DSP-2502", reason=_SAID),
            call("notify_customer", customer_id="CUS-801", message=_SAID),
        ),
    ),
    PlainTask(
        "money came in",
        "ar_collections",
        "Record a receipt of 1,000.00 USD for receivable REC-1308.",
        (call("record_receipt", receivable_id="REC-1308", amount=1000),),
    ),
    PlainTask(
        "a bad debt",
        "ar_collections",
        "Write off receivable REC-1305 because the customer is gone.",
        (call("write_off_receivable", receivable_id="REC-1305", reason=_SAID),),
    ),
    PlainTask(
        "the sum of what is owed",
        "ar_collections",
        "What is the total amount of the open receivables of customer CUS-811?",
        says=("3583.07",),
    ),
    PlainTask(
        "open a ticket",
        "general",
        'Create a ticket for customer CUS-805 with subject "Filter too small" and priority high.',
        (call("create_ticket", customer_id="CUS-805", subject="Filter too small", priority="high"),),
    ),
    PlainTask(
        "two people to tell",
        "general",
        "Close ticket TIC-2112: a fitting filter was sent. Notify customer CUS-805 and employee EMP-219 that it is"
        " closed.",
        (
            call("close_ticket", ticket_id="TIC-2112", resolution=_SAID),
            call("notify_customer", customer_id="CUS-805", message=_SAID),
            call("notify_employee", employee_id="EMP-219", message=_SAID),
        ),
    ),
)

_RUNNING = (
    PlainTask(
        "give an incident to somebody",
        "incident_response",
        "Assign incident INC-1506 to EMP-311.",
        (call("assign_incident", incident_id="INC-1506", employee_id="EMP-311"),),
    ),
    PlainTask(
        "raise an incident",
        "incident_response",
        "Escalate incident INC-1503 to severity P2 and notify EMP-203 about it.",
        (
            call("escalate_incident", incident_id="INC-1503", severity="P2"),
            call("notify_employee", employee_id="EMP-203", message=_SAID),
        ),
    ),
    PlainTask(
        "open an incident",
        "incident_response",
        'Open an incident titled "Shop is slow" with severity P3 for the service checkout.',
        (call("create_incident", title="Shop is slow", severity="P3", service="checkout"),),
    ),
    PlainTask(
        "resolve an incident",
        "incident_response",
        "Resolve incident INC-1510: the printouts were deleted. Notify EMP-103 that it is resolved.",
        (
            call("resolve_incident", incident_id="INC-1510", resolution=_SAID),
            call("notify_employee", employee_id="EMP-103", message=_SAID),
        ),
    ),
    PlainTask(
        "a credit by the contract",
        "sla_breach",
        "Record an SLA credit of 5% of the monthly fee for incident INC-1513 under SLA-1410, because the portal forgot"
        " baskets.",
        (call("record_sla_credit", incident_id="INC-1513", sla_id="SLA-1410", amount=Decimal("19.25"), reason=_SAID),),
    ),
    PlainTask(
        "close a month",
        "month_end_close",
        "Record a revenue booking of 114,044.71 USD for period LDP-2402 and then close period LDP-2402.",
        (
            call("record_revenue_booking", ledger_period_id="LDP-2402", amount=Decimal("114044.71")),
            call("close_ledger_period", ledger_period_id="LDP-2402"),
        ),
    ),
    PlainTask(
        "the gap between ledger and bank",
        "month_end_close",
        "What is the difference between the ledger balance and the bank balance of period LDP-2402?",
        says=("212.40",),
    ),
    PlainTask(
        "a part that nothing does",
        "general",
        "Assign asset AST-1722 to employee EMP-305 and paint the office green.",
        (call("assign_asset", asset_id="AST-1722", employee_id="EMP-305"),),
        says=("paint the office green",),
    ),
    PlainTask(
        "a thing that does not exist",
        "expense_approval",
        "Approve expense claim EXP-1999.",
        says=("EXP-1999", "Not done"),
    ),
)

TASKS = (*_CLAIMS, *_BUYING, *_PEOPLE, *_SELLING, *_RUNNING)
