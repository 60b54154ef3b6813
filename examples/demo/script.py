"""The tasks of the demo, in their order, over the example company's own data."""

from examples.demo.books import MANAGER, BookChange, DemoTask, DemoTurn, IdsWhere

_READS_FIRST = ("DECOMPOSE", "ASSESS")
_WRITES = (*_READS_FIRST, "POLICY_CHECK", "MUTATE", "COMPLETE")
_GATED = (*_READS_FIRST, "POLICY_CHECK", "APPROVAL_GATE", "MUTATE")
_LEAVER = "EMP-404"
_LEAVERS_ACCESS = ("ACC-9032", "ACC-9033", "ACC-9034", "ACC-9035")


def _changes(table: str, row: str, **cells: str | int) -> tuple[BookChange, ...]:
    return tuple(BookChange(table, row, column, value) for column, value in cells.items())


def _add_message(number: int, recipient: str) -> tuple[BookChange, ...]:
    """The change of one more message in the outbox, whose words are up to the worker."""
    key = f"MSG-{number}"
    return _changes("outbox", key, id=key, recipient=recipient)


_CLAIMS = (
    DemoTask(
        "within limits",
        "an expense claim inside the policy is approved, written once and read back",
        (DemoTurn("Approve expense claim EXP-1002.", "completed"),),
        (*_changes("budgets", "BUD-01", spent_cents=4323640), *_changes("expenses", "EXP-1002", status="approved")),
        ("approve_expense",),
        passes=_WRITES,
    ),
    DemoTask(
        "approved by a manager",
        "a claim over the limit waits; a manager approves it in a second turn; only then is it written",
        (DemoTurn("Approve expense claim EXP-1001.", "input-required"), DemoTurn("approve", "completed", MANAGER)),
        (*_changes("budgets", "BUD-05", spent_cents=1523900), *_changes("expenses", "EXP-1001", status="approved")),
        ("approve_expense",),
        passes=(*_GATED, "COMPLETE"),
    ),
    DemoTask(
        "rejected by a manager",
        "its twin, the same sum from the same budget, waits too; the manager says no; nothing is written",
        (DemoTurn("Approve expense claim EXP-1000.", "input-required"), DemoTurn("reject", "rejected", MANAGER)),
        passes=(*_READS_FIRST, "POLICY_CHECK", "APPROVAL_GATE"),
        avoids=("MUTATE",),
    ),
    DemoTask(
        "blocked by policy",
        "a claim of a category that the company never pays is refused, and nothing is written",
        (DemoTurn("Approve expense claim EXP-1008.", "rejected"),),
        passes=(*_READS_FIRST, "POLICY_CHECK"),
        avoids=("MUTATE",),
    ),
    DemoTask(
        "a question",
        "a question is answered by reading alone, as an exact list",
        (DemoTurn("Which expense claims are pending? Answer with a JSON list of their ids.", "completed"),),
        answer=IdsWhere("expenses", "status", "pending"),
        passes=(*_READS_FIRST, "COMPLETE"),
        avoids=("COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE"),
    ),
)

_PROCESSES = (
    DemoTask(
        "invoice reconciliation",
        "an invoice is over its purchase order: the variance is computed exactly to the cent, and flagged",
        (
            DemoTurn(
                "Flag invoice INV-6001 with the difference between the invoice and its purchase order,"
                " because its reconciliation does not come out even.",
                "completed",
            ),
        ),
        _changes("invoices", "INV-6001", status="flagged", variance_cents=23137),
        ("flag_invoice",),
        process_type="invoice_reconciliation",
        passes=(*_READS_FIRST, "COMPUTE", "POLICY_CHECK", "MUTATE", "COMPLETE"),
    ),
    DemoTask(
        "offboarding",
        "a leaver's access is revoked in the order that the company insists on, then the account, then a notice",
        (
            DemoTurn(
                f"Offboard employee {_LEAVER}. Revoke all active access of employee {_LEAVER},"
                " then deactivate the employee and notify EMP-118 that the account is closed.",
                "completed",
            ),
        ),
        (
            *(change for key in _LEAVERS_ACCESS for change in _changes("access_rights", key, status="revoked")),
            *_changes("employees", _LEAVER, status="former"),
            *_add_message(4004, "EMP-118"),
        ),
        (*("revoke_access",) * len(_LEAVERS_ACCESS), "deactivate_employee", "notify_employee"),
        ("notify_employee",),
        process_type="hr_offboarding",
        passes=(*_READS_FIRST, "POLICY_CHECK", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE"),
    ),
    DemoTask(
        "procurement",
        "a purchase over the limit waits for a manager; once approved it is booked, and the vendor is told",
        (
            DemoTurn("Approve purchase order PO-7021 and notify the vendor that it is approved.", "input-required"),
            DemoTurn("approve", "completed", MANAGER),
        ),
        (
            *_changes("budgets", "BUD-01", spent_cents=5042440),
            *_changes("purchase_orders", "PO-7021", status="approved"),
            *_add_message(4005, "VEN-604"),
        ),
        ("approve_purchase_order", "notify_vendor"),
        ("notify_vendor",),
        process_type="procurement",
        passes=(*_GATED, "SCHEDULE_NOTIFY", "COMPLETE"),
    ),
    DemoTask(
        "a broken service level",
        "the credit is a tenth of the fee; the customer is told; a rule then takes the case further, to legal",
        (
            DemoTurn(
                "Service level SLA-1401 is broken. Record an SLA credit of 10% of the monthly fee for incident INC-1501"
                " under SLA-1401, because checkout was down too long. Notify customer CUS-810 that the credit is"
                " recorded.",
                "completed",
            ),
        ),
        (
            *_changes(
                "sla_credits", "CRD-1602", id="CRD-1602", incident_id="INC-1501", sla_id="SLA-1401", amount_cents=42000
            ),
            *_add_message(4006, "CUS-810"),
        ),
        ("record_sla_credit", "notify_customer"),
        ("notify_customer",),
        process_type="sla_breach",
        passes=(*_READS_FIRST, "COMPUTE", "POLICY_CHECK", "MUTATE", "SCHEDULE_NOTIFY", "ESCALATE"),
        avoids=("APPROVAL_GATE",),
        escalated=True,
    ),
    DemoTask(
        "an unknown kind",
        "no process is made for handing out equipment: it is done as a general one",
        (DemoTurn("Handle the equipment request of EMP-451. Assign asset AST-1721 to employee EMP-451.", "completed"),),
        _changes("assets", "AST-1721", employee_id="EMP-451", status="assigned"),
        ("assign_asset",),
        process_type="general",
        passes=_WRITES,
    ),
)

_MISHAPS = (
    DemoTask(
        "a renamed column",
        "a read names a column that has another name by now: the new name is found, and the read made again",
        (
            DemoTurn(
                'Query the table "incidents" with filter column "status" and filter value "open".'
                " Answer with a JSON list of their ids.",
                "completed",
            ),
        ),
        answer=IdsWhere("incidents", "status", "open"),
        passes=(*_READS_FIRST, "COMPLETE"),
        avoids=("MUTATE",),
        faults='{"rename": {"incidents.status": "state"}}',
        tells=(("renamed_column", "status"), ("now_called", "state")),
    ),
    DemoTask(
        "a lost reply",
        "the company writes and its answer is lost: the write is found by reading back, and not made again",
        (DemoTurn("Approve expense claim EXP-1009.", "completed"),),
        (*_changes("budgets", "BUD-02", spent_cents=630900), *_changes("expenses", "EXP-1009", status="approved")),
        ("approve_expense",),
        passes=_WRITES,
        faults='{"approve_expense": {"lose_reply": true, "times": 1}}',
        tells=(("silent", ""),),
    ),
)

TASKS = (*_CLAIMS, *_PROCESSES, *_MISHAPS)
