"""Tasks in plain words over the example company: English ones, more in other words, German and French ones."""

from decimal import Decimal

from tests.planner_tasks.task import call, task

_SAID = "said by the worker"
_TO_BE_REMINDED = ("01", "04", "06", "08", "11", "12", "23", "26")  # of the overdue ones those that no step has reached

_CLAIMS = (
    task(
        "Please approve the expense claims EXP-1003 and EXP-1005.",
        call("approve_expense", expense_id="EXP-1003"),
        call("approve_expense", expense_id="EXP-1005"),
    ),
    task(
        "Process the expense claim for EMP-447, $2,340 for team offsite", call("approve_expense", expense_id="EXP-1001")
    ),
    task("Approve expense claim EXP-1002 only if it is under 100 USD.", call("approve_expense", expense_id="EXP-1002")),
    task(
        "Approve EXP-1003 if the remaining budget of Engineering covers it, otherwise reject it.",
        call("approve_expense", expense_id="EXP-1003"),
    ),
    task(
        "Approve expense claim EXP-1005, but do not approve EXP-1006.", call("approve_expense", expense_id="EXP-1005")
    ),
    task(
        'Submit an expense claim for employee EMP-311 over 45.50 USD, category meals, for "Lunch with a candidate".',
        call(
            "submit_expense",
            employee_id="EMP-311",
            amount=Decimal("45.50"),
            category="meals",
            description="Lunch with a candidate",
        ),
    ),
    task(
        "Reject expense claim EXP-1008 because alcohol is not covered, and notify EMP-118 of the rejection.",
        call("reject_expense", expense_id="EXP-1008", reason=_SAID),
        call("notify_employee", employee_id="EMP-118", message=_SAID),
    ),
    task(
        "Approve all pending expense claims of the category training except EXP-1006.",
        call("approve_expense", expense_id="EXP-1003"),
    ),
)

_BUYING = (
    task(
        'Create a purchase order with vendor VEN-612 for the department Operations, requested by EMP-460: "Pallet'
        ' wrap" at 320.00 USD.',
        call(
            "create_purchase_order",
            vendor_id="VEN-612",
            department="Operations",
            requested_by="EMP-460",
            item="Pallet wrap",
            amount=320,
        ),
    ),
    task("Pay invoice INV-6010 in full.", call("pay_invoice", invoice_id="INV-6010", amount=4350)),
    task(
        "Reconcile invoice INV-6007 with its purchase order and flag it with the difference because of it.",
        call("flag_invoice", invoice_id="INV-6007", variance=-18, reason=_SAID),
    ),
    task(
        "Which invoices of vendor VEN-606 are open? Answer with a JSON list of their ids.",
        listed=("INV-6007", "INV-6024"),
    ),
    task(
        "Terminate the contract CON-1113 because the furniture is gone, and inform vendor VEN-607.",
        call("terminate_contract", contract_id="CON-1113", reason=_SAID),
        call("notify_vendor", vendor_id="VEN-607", message=_SAID),
    ),
)

_PEOPLE = (
    task(
        "Offboard employee EMP-447: revoke all their active access, take back asset AST-1716, then deactivate the"
        " employee.",
        call("revoke_access", access_id="ACC-9036"),
        call("revoke_access", access_id="ACC-9037"),
        call("revoke_access", access_id="ACC-9038"),
        call("return_asset", asset_id="AST-1716"),
        call("deactivate_employee", employee_id="EMP-447"),
    ),
    task(
        "Grant employee EMP-460 read access to the system Ledgerline.",
        call("grant_access", employee_id="EMP-460", system="Ledgerline", privilege="read"),
    ),
    task(
        "Change the phone number of Mei Lin to +1 555 0777.",
        call("update_employee_phone", employee_id="EMP-305", phone="+1 555 0777"),
    ),
    task("Who is the manager of employee EMP-404?", says=("EMP-118",)),
    task("Which travel claims are pending?", says=("EXP-1004", "EXP-1009")),
    task("What do the pending travel claims sum up to?", says=("3249.00",)),
    task("Which department has the least budget left?", says=("Marketing",)),
    task(
        'Reserve 1,200.00 USD of the budget of Product for "Usability study".',
        call("reserve_budget", department="Product", amount=1200, purpose="Usability study"),
    ),
    task(
        'Payroll for 2026-04: approve every payroll run of period "2026-04" and notify EMP-103 that they are approved.',
        call("approve_payroll_run", payroll_run_id="RUN-1807"),
        call("approve_payroll_run", payroll_run_id="RUN-1808"),
        call("approve_payroll_run", payroll_run_id="RUN-1809"),
        call("notify_employee", employee_id="EMP-103", message=_SAID),
    ),
)

_SELLING = (
    task(
        "Cancel order ORD-2007 because the customer changed her mind.",
        call("cancel_order", order_id="ORD-2007", reason=_SAID),
    ),
    task(
        "Refund half of the total of order ORD-2002 because one grinder is noisy.",
        call("create_refund", order_id="ORD-2002", amount=329, reason=_SAID),
    ),
    task("How much is still refundable of order ORD-2004?", says=("390.00",)),
    task(
        "Onboard the new customer Nordlys Tea with email hello@nordlystea.example: create the customer and create"
        " a subscription to the plan Growth with 12 seats.",
        call("create_customer", name="Nordlys Tea", email="hello@nordlystea.example"),
        call("create_subscription", customer_id="CUS-817", plan_name="Growth", seats=12),
        besides=(call("notify_customer", customer_id="CUS-817", message=_SAID),),
    ),
    task(
        "Audit the KYC of customer CUS-807: record a KYC shortfall for each KYC document that is missing or"
        " expired, and notify EMP-103 of the result.",
        call("record_kyc_shortfall", kyc_document_id="KYD-2317"),
        call("record_kyc_shortfall", kyc_document_id="KYD-2318"),
        call("notify_employee", employee_id="EMP-103", message=_SAID),
    ),
    task(
        "Record a receipt of 1,000.00 USD for receivable REC-1308.",
        call("record_receipt", receivable_id="REC-1308", amount=1000),
    ),
    task("What is the total amount of the open receivables of customer CUS-811?", says=("3583.07",)),
)

_RUNNING = (
    task(
        'Open an incident titled "Shop is slow" with severity P3 for the service checkout.',
        call("create_incident", title="Shop is slow", severity="P3", service="checkout"),
    ),
    task(
        "Record an SLA credit of 5% of the monthly fee for incident INC-1513 under SLA-1410, because the portal"
        " forgot baskets.",
        call("record_sla_credit", incident_id="INC-1513", sla_id="SLA-1410", amount=Decimal("19.25"), reason=_SAID),
    ),
    task(
        "Record a revenue booking of 114,044.71 USD for period LDP-2402 and then close period LDP-2402.",
        call("record_revenue_booking", ledger_period_id="LDP-2402", amount=Decimal("114044.71")),
        call("close_ledger_period", ledger_period_id="LDP-2402"),
    ),
    task(
        "What is the difference between the ledger balance and the bank balance of period LDP-2402?", says=("212.40",)
    ),
    task(
        "Assign asset AST-1722 to employee EMP-305 and paint the office green.",
        call("assign_asset", asset_id="AST-1722", employee_id="EMP-305"),
        says=("paint the office green",),
    ),
    task("Approve expense claim EXP-1999.", says=("EXP-1999", "Not done")),
)

_OTHERS = (
    task(
        "Open a ticket with priority high for Bright Cafe: their grinder leaks",
        call("create_ticket", customer_id="CUS-801", priority="high", subject="their grinder leaks"),
    ),
    task("Change the phone number of vendor VEN-601 to +1 555 0100.", says=("Not done", "of a vendor")),
    task("Change the phone number of vendor VEN-999 to +1 555 0100.", says=("VEN-999 was not found",)),
    task("Notify the manager of employee EMP-404 that the claim is pending.", says=("Not done",)),
    task("Assign asset AST-1722 to the manager of employee EMP-404.", says=("Not done",)),
    task("Change the address of employee EMP-404 to Main Street.", says=("Not done",)),
)

_ASKED = (
    task("Who is the manager of the employee that submitted expense claim EXP-1004?", says=("EMP-118",)),
    task(
        "Who is the manager of the employee that submitted expense claim EXP-1004, and how much was that claim?",
        says=("EMP-118", "3120.00"),
    ),
    task("How much is expense claim EXP-1004 and who submitted it?", says=("3120.00", "EMP-404")),
    task("What is the email of the vendor of contract CON-1113?", says=("accounts@oaklinefurniture.example",)),
    task("Who is the manager of the employee that approved expense claim EXP-1011?", says=("Could not be found out",)),
    task("Which vendor does invoice INV-6010 belong to?", says=("VEN-610",)),
    task("How much is order ORD-2006?", says=("312.00",)),
    task("How many open invoices does vendor VEN-606 have?", says=("2",)),
    task("How many employees are called Mei?", says=("Could not be found out",)),
)

_TOLD_BY_RECORDS = (
    task("Is INV-6001 overdue?", says=("Yes: INV-6001 is due on 2026-03-10",)),
    task("Is INV-6010 overdue?", says=("No",)),
    task("How many orders did CUS-801 place?", says=("3",)),
    task("How much did EMP-305 claim?", says=("316.40",)),
    task(
        "Send a reminder for all overdue receivables.",
        *(call("send_reminder", receivable_id=f"REC-13{number}") for number in _TO_BE_REMINDED),
        says=("REC-1302 is already reminded", "already at last_demand", "already at collections"),
    ),
)

ENGLISH = (*_CLAIMS, *_BUYING, *_PEOPLE, *_SELLING, *_RUNNING, *_ASKED, *_OTHERS, *_TOLD_BY_RECORDS)

VARIED = (
    task("I would like you to approve EXP-1009.", call("approve_expense", expense_id="EXP-1009")),
    task("Approve EXP-1003, not EXP-1006.", call("approve_expense", expense_id="EXP-1003")),
    task(
        "Purchase order PO-7026 should be approved.",
        call("approve_purchase_order", purchase_order_id="PO-7026"),
        besides=(call("notify_vendor", vendor_id="VEN-601", message=_SAID),),
    ),
    task("Approve purchase order PO-7023 unless it is over 500 USD.", says=("Not done",)),
    task("Assign the forklift to employee EMP-460.", call("assign_asset", asset_id="AST-1724", employee_id="EMP-460")),
    task(
        'Notify EMP-305 and EMP-311 that "the office is closed on Friday".',
        call("notify_employee", employee_id="EMP-305", message=_SAID),
        call("notify_employee", employee_id="EMP-311", message=_SAID),
    ),
    task(
        "What is the status of order ORD-2006? Cancel order ORD-2008 because the hotel is closed.",
        call("cancel_order", order_id="ORD-2008", reason=_SAID),
        says=("placed",),
    ),
    task(
        "Resolve incident INC-1507: the printer was replaced. Do not notify anybody.",
        call("resolve_incident", incident_id="INC-1507", resolution=_SAID),
    ),
    task(
        "Refund 25% of the total of order ORD-2005, because the frother came late.",
        call("create_refund", order_id="ORD-2005", amount=Decimal("22.38"), reason=_SAID),
    ),
    task("How many incidents are open?", says=("10",)),
    task("Approve expense claim EXP-1011.", says=("already",)),
    task("Revoke all access of Walter Unknown.", says=("Not done",)),
    task(
        "Send a reminder for receivable REC-1312, but not for REC-1308.",
        call("send_reminder", receivable_id="REC-1312"),
    ),
    task("Delete customer CUS-816.", says=("Not done",)),
    task(
        "Assign ticket TIC-2103 to Diego Alvarez.", call("assign_ticket", ticket_id="TIC-2103", employee_id="EMP-219")
    ),
)

FOREIGN = (
    task("Wie viel Budget hat Marketing noch?", says=("Marketing has 600.00 of budget left",)),
    task(
        "Lehne EXP-1008 ab, weil Alkohol nicht erstattet wird, und lass EMP-118 es wissen.",
        call("reject_expense", expense_id="EXP-1008", reason=_SAID),
        call("notify_employee", employee_id="EMP-118", message=_SAID),
    ),
    task("Genehmige den Spesenantrag EXP-1002.", call("approve_expense", expense_id="EXP-1002")),
    task(
        "Bitte lehne den Spesenantrag EXP-1008 ab, weil Alkohol nicht erstattet wird.",
        call("reject_expense", expense_id="EXP-1008", reason=_SAID),
    ),
    task("Bezahle die Rechnung INV-6010 in voller Höhe.", call("pay_invoice", invoice_id="INV-6010", amount=4350)),
    task(
        "Weise den Vorfall INC-1506 dem Mitarbeiter EMP-311 zu und benachrichtige EMP-203.",
        call("assign_incident", incident_id="INC-1506", employee_id="EMP-311"),
        call("notify_employee", employee_id="EMP-203", message=_SAID),
    ),
    task(
        "Welche Spesenanträge sind offen? Antworte mit einer JSON-Liste ihrer IDs.",
        listed=tuple(f"EXP-{number}" for number in range(1000, 1011)),
    ),
    task(
        "Annulez la commande ORD-2007 parce que la cliente a changé d'avis.",
        call("cancel_order", order_id="ORD-2007", reason=_SAID),
    ),
    task(
        "Approuve la note de frais EXP-1005, mais n'approuve pas EXP-1006.",
        call("approve_expense", expense_id="EXP-1005"),
    ),
    task(
        "Attribue l'équipement AST-1722 à l'employé EMP-305.",
        call("assign_asset", asset_id="AST-1722", employee_id="EMP-305"),
    ),
    task(
        "Révoque l'accès ACC-9010 et informe EMP-118.",
        call("revoke_access", access_id="ACC-9010"),
        call("notify_employee", employee_id="EMP-118", message=_SAID),
    ),
)

CONDITIONED = (
    task("Approve purchase order PO-7024 if its vendor is suspended.", says=("Not done", "VEN-602 is active")),
    task("Return asset AST-1716 if its employee is former.", says=("Not done",)),
    task(
        "Pay invoice INV-6014 in full, unless its vendor is suspended.",
        call("pay_invoice", invoice_id="INV-6014", amount=9800),
    ),
    task("Approve invoice INV-6004 if its purchase order is received.", call("approve_invoice", invoice_id="INV-6004")),
    task("Is the vendor of PO-7029 suspended?", says=("Yes: VEN-615 is suspended",)),
    task("Is the vendor of INV-6014 suspended?", says=("No: VEN-614 is active",)),
    task("Terminate contract CON-1105 if its vendor is suspended because of the audit.", says=("Not done",)),
    task('Close ticket TIC-2108 with "done" if its customer is former.', says=("Not done",)),
    task("Cancel order ORD-2007 because of a mistake if it is shipped.", says=("Not done", "it is placed")),
    task(
        "Cancel order ORD-2007 because of a mistake if it is placed.",
        call("cancel_order", order_id="ORD-2007", reason=_SAID),
    ),
    task(
        "Cancel subscription SBS-1204 because of fraud if its customer's identity check is cleared.", says=("Not done",)
    ),
    task("Approve EXP-1003 once EXP-1005 is approved.", says=("Not done", "EXP-1005 is pending")),
    task("Approve EXP-1003 once EXP-1011 is approved.", call("approve_expense", expense_id="EXP-1003")),
    task("Approve PO-7026 after PO-7024 is approved.", says=("Not done", "PO-7024 is pending")),
    task("Genehmige EXP-1003, sobald EXP-1005 genehmigt ist.", says=("Not done",)),
    task("Approve EXP-1002 tomorrow.", says=("Not done", "tomorrow")),
    task("Pay invoice INV-6010 in full next week.", says=("Not done", "next week")),
    task("Bezahle die Rechnung INV-6010 morgen in voller Höhe.", says=("Not done", "tomorrow")),
    task("Payez la facture INV-6010 en totalité demain.", says=("Not done", "tomorrow")),
    task("Notify EMP-305 tomorrow that the office is closed.", says=("Not done", "tomorrow")),
    task("Approve EXP-1002, but not before Friday.", says=("Not done", "Friday")),
    task("Storniere die Bestellung ORD-2008 nicht.", says=("Nothing is asked for",)),
    task("Should I approve EXP-1002?", says=("Could not be found out",)),
    task("Never approve EXP-1002 without a receipt.", says=("Nothing is asked for",)),
    task(
        "Approve invoice INV-6004 and notify EMP-103 once it is approved.",
        call("approve_invoice", invoice_id="INV-6004"),
        call("notify_employee", employee_id="EMP-103", message=_SAID),
    ),
    task("Check whether the vendor of PO-7024 is active. If not, approve PO-7024.", says=("Not done",)),
    task("Approve expense claim EXP-1002 if EXP-1003 is over 5000.", says=("Not done", "449.00")),
    task(
        "Which purchase orders have a suspended vendor?", says=("PO-7029 (amount 418.75), PO-7034 (amount 1290.00).",)
    ),
)
