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
    task(
        "Send a reminder for all receivables that are overdue and unreminded.",
        *(
            call("send_reminder", receivable_id=f"REC-{one}")
            for one in (1301, 1304, 1306, 1308, 1311, 1312, 1323, 1326)
        ),
    ),
    _refused("Which invoices are duplicates?", "not understood: duplicates"),
    _refused("Which invoices are identical?", "not understood: identical"),
    _refused("Which invoices are twins?", "not understood: twins"),
    _refused("How many invoices are duplicates?", "not understood: duplicates"),
    task("Which tickets are urgent?", says=("TIC-2103, TIC-2116, TIC-2121.",)),
    task(
        "How much is the amount of invoice INV-6007 and INV-6024 together?",
        says=("The amount of invoice INV-6007 and INV-6024 together comes to 2374.15.",),
    ),
)

IN_OTHER_WORDS = (
    task("Welche Verträge laufen in den nächsten 60 Tagen aus?", says=("CON-1103 (yearly value 4954.80), CON-1113",)),
    task(
        "Quels contrats se terminent dans les 60 prochains jours ?", says=("CON-1103 (yearly value 4954.80), CON-1113",)
    ),
    task("Zeige alle offenen Rechnungen", says=("INV-6001 (amount 10481.37), INV-6004",)),
    task("Combien de factures sont ouvertes ?", says=("11 invoices are open.",)),
    task("Wie hoch ist die Summe aller Anträge für Reisen?", says=("4304.50",)),
    task("Wie viele Reisen wurden in den offenen Anträgen eingereicht?", says=("Could not be found out",)),
    task("Wer hat EXP-1001 eingereicht?", says=("Employee: EMP-447 (Jordan Reyes).",)),
    _refused("Welche Lieferanten sind gesperrt?", "not understood: gesperrt"),
    task("What is the department of BUD-03?", says=("The department of BUD-03 is Marketing.",)),
    task("How much is left of BUD-03?", says=("600.00 of BUD-03 is available.",)),
    _refused("What is the department of BUD-99?", "BUD-99 was not found"),
)

WHOLE = (
    task(
        "Pay all matched invoices.",
        *(
            call("pay_invoice", invoice_id=f"INV-{one}", amount=due)
            for one, due in ((6010, 4350), (6014, 9800), (6018, 318))
        ),
    ),
    task("Pay all matched invoices over 5,000 dollars.", call("pay_invoice", invoice_id="INV-6014", amount=9800)),
    task("Pay invoice INV-6018.", call("pay_invoice", invoice_id="INV-6018", amount=318)),
    task(
        "Approve invoice INV-6004, then pay it.",
        call("approve_invoice", invoice_id="INV-6004"),
        call("pay_invoice", invoice_id="INV-6004", amount=Decimal("18760.40")),
    ),
    _refused("Pay all open invoices.", "pay_invoice is for what is matched or approved, and INV-6001 is open"),
    _refused("Terminate contract CON-1108 because it is over.", "for what is active, and CON-1108 is expired"),
    task(
        "Approve EXP-1002 and tell the claimant.",
        call("approve_expense", expense_id="EXP-1002"),
        call("notify_employee", employee_id="EMP-305", message=_SAID),
    ),
    task("Approve EXP-1002 and tell the approver.", call("approve_expense", expense_id="EXP-1002"), says=("Not done",)),
)

SAID = (
    task("How much have we claimed for travel in March?", says=("We have claimed 4304.50 for travel in March.",)),
    task("How much budget is left in Engineering?", says=("68350.00 of the budget is left in Engineering.",)),
    task("What is the total of all open invoices?", says=("The total of all open invoices is 50635.93.",)),
    task("Wie hoch ist die Summe der offenen Rechnungen?", says=("50635.93 in total.",)),
    task("Which department has the least budget left?", says=("Marketing (BUD-03).",)),
    task("Which vendor is INV-6010 from?", says=("Vendor: VEN-610 (Tern Security).",)),
    task("What's the due date of INV-6010?", says=("INV-6010 is due on 2026-04-19.",)),
    task("Who filed EXP-1001?", says=("Employee: EMP-447 (Jordan Reyes).",)),
    task("When was EXP-1001 filed?", says=("EXP-1001 was submitted on 2026-03-02.",)),
    task("When does contract CON-1101 expire?", says=("CON-1101 ends on 2026-12-31.",)),
    task("When was EXP-1011 approved?", says=("EXP-1011 was decided on 2026-03-13.",)),
    _refused("When was EXP-1014 approved?", "Could not be found out"),
    _refused("Who approved EXP-1011?", "Could not be found out"),
    _refused("When was INV-6010 received?", "Could not be found out"),
)

_OVERDUE = "INV-6001 (amount 10481.37), INV-6007 (amount 1946.80), INV-6013 (amount 7399.99), INV-6021 (amount 2644.12)"

DAYS = (
    task("Which invoices are overdue?", says=(f"{_OVERDUE}, INV-6025 (amount 3480.00).",)),
    task("Welche Rechnungen sind überfällig?", says=(f"{_OVERDUE}, INV-6025 (amount 3480.00).",)),
    task("How many invoices are more than 15 days overdue?", says=("2 invoices are more than 15 days overdue.",)),
    task("What is the total of the overdue invoices?", says=("25952.28",)),
    task("Which contracts expire in the next 60 days?", says=("CON-1103 (yearly value 4954.80), CON-1113",)),
    task("Which contracts expired in 2025?", says=("CON-1108 (yearly value 61200.00), CON-1110",)),
    task("Which invoices were due last week?", says=("INV-6015 (amount 988.00), INV-6017 (amount 411.30).",)),
    task("How many invoices are due next week?", says=("0 invoices are due next week.",)),
    task("How much have we claimed for travel in March?", says=("4304.50",)),
    task("How many expense claims were filed in February?", says=("0 expense claims were filed in February.",)),
    task("How many invoices are unpaid?", says=("15 invoices are unpaid.",)),
    task("How many invoices are paid?", says=("15 invoices are paid.",)),
    task("Which budgets have less than 10,000 available?", says=("BUD-03.",)),
    task("Which incidents had more than 400 minutes downtime?", says=("INC-1512 (downtime minutes 520), INC-1514",)),
    _refused("Which incidents had more than 2 hours downtime?", "not understood: more than 2 hours downtime"),
    _refused("Which invoices are due?", "not understood: due"),
    _refused("Which invoices are late?", "not understood: late"),
    _refused("Which orders were placed in March?", "not understood: placed in March"),
    _refused("Which invoices are overdue or due next week?", "not understood: ", "overdue or due"),
    _refused("Which open invoices are not overdue?", "not understood: not"),
    _refused("Which contracts end in March or in April?", "not understood: "),
    _refused("Which invoices are overdue by more than 7 days?", "not understood: more than 7 days"),
    _refused("Which invoices are due in the next month?", "not understood: next, month"),
    _refused("How many claims were approved in March?", "not understood: march"),
    _refused("Which invoices are older than 30 days?", "not understood: 30, older"),
    _refused("Which contracts are expiring?", "not understood: expiring"),
)

HOLDERS = (
    _refused("Approve Hana Sato's expense claim EXP-1003.", "EXP-1003 is of EMP-311, not of Hana Sato"),
    _refused(
        "Refund Bright Cafe's order ORD-2009 $10 because of delay.", "ORD-2009 is of Sara Lindqvist, not of Bright Cafe"
    ),
    _refused("Pay invoice INV-6010 to VEN-601, amount $4350.", "INV-6010 is of VEN-610, not of VEN-601"),
    _refused("Pay invoice INV-6010 to Northgate Paper, amount $4350.", "VEN-610, not of Northgate Paper"),
    _refused("Change the phone number of EMP-460 (Mei Lin) to +1 555 7777.", "EMP-460 is Sven Larsen, not Mei Lin"),
    _refused("Change the phone number of EMP-305 (Hana Sato) to +1 555 7777.", "EMP-305 is Mei Lin, not Hana Sato"),
    _refused("Revoke ACC-9001 of Mei Lin because of a transfer.", "ACC-9001 is of EMP-101, not of Mei Lin"),
    _refused("Approve PO-7028 of Halden Freight.", "PO-7028 is of VEN-610, not of Halden Freight"),
    _refused("Approve expense claim EXP-1003 of EMP-203.", "EXP-1003 is of EMP-311, not of EMP-203"),
    _refused("Approve Hana's expense claim EXP-1003.", "EXP-1003 is of EMP-311, not of Hana"),
    _refused("approve hana sato's expense claim EXP-1003.", "not understood: hana"),
    _refused("Approve expense claim EXP-1003 of Marketing.", "not understood: marketing"),
    _refused("Assign ticket TIC-2103 of Bright Cafe to EMP-219.", "TIC-2103 is of CUS-807, not of Bright Cafe"),
    _refused("Assign ticket TIC-2103 to Diego Alvarez (EMP-460).", "EMP-460 is Sven Larsen, not Diego Alvarez"),
    _refused('Notify Mei Lin (EMP-460) that "the office is closed".', "EMP-460 is Sven Larsen, not Mei Lin"),
    _refused("Approve Mei Lin's EXP-1003 and Oliver Grant's EXP-1002.", "EXP-1003 is of Oliver Grant, not of Mei Lin"),
    _refused("Approve EXP-1005 and EXP-1003 of Oliver Grant.", "EXP-1005 is of Sven Larsen, not of Oliver Grant"),
    _refused(
        'Submit an expense claim of $45.50 for EMP-305 (Oliver Grant), category meals, description "Lunch".',
        "EMP-305 is Mei Lin, not Oliver Grant",
    ),
    *(
        task(text, call("approve_expense", expense_id="EXP-1003"))
        for text in (
            "Approve Oliver Grant's expense claim EXP-1003.",
            "Approve Oliver's expense claim EXP-1003.",
            "Approve expense claim EXP-1003 of EMP-311.",
            "Approve expense claim EXP-1003 of Engineering.",
        )
    ),
    task(
        "Approve EXP-1002 of Mei Lin and EXP-1003 of Oliver Grant.",
        call("approve_expense", expense_id="EXP-1002"),
        call("approve_expense", expense_id="EXP-1003"),
    ),
    task(
        "Refund Sara Lindqvist's order ORD-2009 $10 because of delay.",
        call("create_refund", order_id="ORD-2009", amount=10, reason=_SAID),
    ),
    task(
        "Pay invoice INV-6010 to Tern Security, amount $4350.", call("pay_invoice", invoice_id="INV-6010", amount=4350)
    ),
    task(
        "Change the phone number of EMP-460 (Sven Larsen) to +1 555 7777.",
        call("update_employee_phone", employee_id="EMP-460", phone="+1 555 7777"),
    ),
    task("Return asset AST-1716 of Jordan Reyes.", call("return_asset", asset_id="AST-1716")),
    task(
        "Cancel order ORD-2007 of CUS-802 because it is too late.",
        call("cancel_order", order_id="ORD-2007", reason=_SAID),
    ),
    task(
        'Notify EMP-305 (Mei Lin) and EMP-311 (Oliver Grant) that "the office is closed".',
        call("notify_employee", employee_id="EMP-305", message=_SAID),
        call("notify_employee", employee_id="EMP-311", message=_SAID),
    ),
)

LINKS = (
    task(
        'Close all tickets of customers that are former with "gone".',
        call("close_ticket", ticket_id="TIC-2119", resolution="gone"),
    ),
    task(
        "Terminate all active contracts with telephony vendors because of a new provider.",
        call("terminate_contract", contract_id="CON-1103", reason=_SAID),
    ),
    _refused("Cancel all subscriptions of former customers because of closure.", "SBS-1213 is already cancelled"),
    _refused(
        "Reject all pending expense claims of former employees because they left.", "none of those that were read fits"
    ),
    task(
        "Write off all open receivables of former customers because they left.",
        call("write_off_receivable", receivable_id="REC-1305", reason=_SAID),
    ),
    _refused("Return all assets of former employees.", "none of those that were read fits"),
    _refused("Return all assets of absent employees.", "not understood: absent"),
    _refused("Reject all pending expense claims of managers because of a freeze.", "not understood: managers"),
    _refused('Close all tickets about the grinder with "done".', "not understood: grinder"),
    _refused('Resolve all incidents of former customers with "gone".', "not understood: former customers"),
    _refused('Resolve all incidents of Bright Cafe with "gone".', "not understood: bright, cafe"),
    _refused('Resolve all incidents of customer CUS-801 with "gone".', "not understood: CUS-801"),
    _refused("Terminate all contracts of vendors with status active because of a freeze.", "not understood"),
    _refused("Approve all pending purchase orders of vendors with payment days over 30.", "not understood"),
    _refused("Approve all pending purchase orders except those of suspended vendors.", "not understood: those of"),
    task(
        'Close all urgent tickets of customer CUS-810 with "gone".',
        call("close_ticket", ticket_id="TIC-2116", resolution="gone"),
    ),
    task(
        'Close all open tickets of expired customers with "gone".',
        call("close_ticket", ticket_id="TIC-2103", resolution="gone"),
        call("close_ticket", ticket_id="TIC-2113", resolution="gone"),
        call("close_ticket", ticket_id="TIC-2122", resolution="gone"),
    ),
    task("Approve all pending expense claims of Mei Lin.", call("approve_expense", expense_id="EXP-1002")),
    task("Which pending purchase orders are from suspended vendors?", says=("PO-7029 (amount 418.75).",)),
    task("What is the total of pending purchase orders from suspended vendors?", says=("418.75",)),
    task("Which open receivables are of former customers?", says=("REC-1305 (amount 275.10).",)),
    task("How many open receivables do former customers have?", says=("1 in all.",)),
    task("How many tickets do active customers have?", says=("23",)),
    task("Which customers have urgent tickets?", says=("CUS-807, CUS-810, CUS-815.",)),
    task("Which contracts have telephony vendors?", says=("CON-1103 (yearly value 4954.80).",)),
    task("Which tickets are from customers whose kyc status is expired?", says=("TIC-2103, TIC-2113, TIC-2122.",)),
    task("Which open invoices are from vendors in the haulage trade?", says=("INV-6025 (amount 3480.00).",)),
    _refused("Which pending purchase orders are from vendors with more than 30 payment days?", "not understood"),
    _refused("Which customers have no tickets?", "not understood: no"),
    _refused("Remind all customers with overdue receivables.", "Not done"),
    _refused("Remind Juniper Bakery of REC-1323.", "Not done"),
    _refused(
        "Remind all customers with overdue receivables that are unreminded, except Stonebridge Schools.", "Not done"
    ),
    task("List all suspended vendors with their email.", says=("VEN-615 (email accounts@copperheadtools.example).",)),
    _refused("List all suspended vendors with their shoe size.", "not understood: shoe size"),
    _refused("How many orders are pending?", "not understood: pending"),
    _refused("How many claims were filed in March 0000?", "not understood: 0"),
    task(
        "Reject EXP-1003 because the training was not agreed beforehand, and let Oliver Grant know.",
        call("reject_expense", expense_id="EXP-1003", reason=_SAID),
        call("notify_employee", employee_id="EMP-311", message=_SAID),
    ),
    task(
        "Lehne PO-7019 ab, weil es zu teuer ist, und genehmige PO-7022.",
        call("reject_purchase_order", purchase_order_id="PO-7019", reason=_SAID),
        call("approve_purchase_order", purchase_order_id="PO-7022"),
    ),
    task(
        "Close TIC-2101 and TIC-2110 with 'Answered', and assign TIC-2112 to Mei Lin.",
        call("close_ticket", ticket_id="TIC-2101", resolution="Answered"),
        call("close_ticket", ticket_id="TIC-2110", resolution="Answered"),
        call("assign_ticket", ticket_id="TIC-2112", employee_id="EMP-305"),
    ),
    task(
        "Create a ticket for Green Fork: the filter does not fit, priority high.",
        call("create_ticket", customer_id="CUS-805", subject="the filter does not fit", priority="high"),
    ),
    task(
        "Refund 20 dollars for ORD-2009 because it arrived late, only if it was delivered.",
        call("create_refund", order_id="ORD-2009", amount=20, reason=_SAID),
    ),
    task("Pay INV-6014.", call("pay_invoice", invoice_id="INV-6014", amount=9800)),
)
