"""Tasks in plain German and French over the example company."""

from tests.planner_tasks.task import PlainTask, call

_SAID = "said by the worker"

TASKS = (
    PlainTask(
        "de: approve",
        "expense_approval",
        "Genehmige den Spesenantrag EXP-1002.",
        (call("approve_expense", expense_id="EXP-1002"),),
    ),
    PlainTask(
        "de: reject with a reason",
        "expense_approval",
        "Bitte lehne den Spesenantrag EXP-1008 ab, weil Alkohol nicht erstattet wird.",
        (call("reject_expense", expense_id="EXP-1008", reason=_SAID),),
    ),
    PlainTask(
        "de: pay",
        "invoice_reconciliation",
        "Bezahle die Rechnung INV-6010 in voller Höhe.",
        (call("pay_invoice", invoice_id="INV-6010", amount=4350),),
    ),
    PlainTask(
        "de: assign and tell",
        "incident_response",
        "Weise den Vorfall INC-1506 dem Mitarbeiter EMP-311 zu und benachrichtige EMP-203.",
        (
            call("assign_incident", incident_id="INC-1506", employee_id="EMP-311"),
            call("notify_employee", employee_id="EMP-203", message=_SAID),
        ),
    ),
    PlainTask(
        "de: a question",
        "expense_approval",
        "Welche Spesenanträge sind offen? Antworte mit einer JSON-Liste ihrer IDs.",
        listed=tuple(f"EXP-{number}" for number in range(1000, 1011)),
    ),
    PlainTask(
        "fr: approve",
        "expense_approval",
        "Approuve la note de frais EXP-1003.",
        (call("approve_expense", expense_id="EXP-1003"),),
    ),
    PlainTask(
        "fr: cancel",
        "order_management",
        "Annulez la commande ORD-2007 parce que la cliente a changé d'avis.",
        (call("cancel_order", order_id="ORD-2007", reason=_SAID),),
    ),
    PlainTask(
        "fr: do not",
        "expense_approval",
        "Approuve la note de frais EXP-1005, mais n'approuve pas EXP-1006.",
        (call("approve_expense", expense_id="EXP-1005"),),
    ),
    PlainTask(
        "fr: assign an asset",
        "general",
        "Attribue l'équipement AST-1722 à l'employé EMP-305.",
        (call("assign_asset", asset_id="AST-1722", employee_id="EMP-305"),),
    ),
    PlainTask(
        "fr: revoke and deactivate",
        "hr_offboarding",
        "Révoque l'accès ACC-9010 et informe EMP-118.",
        (call("revoke_access", access_id="ACC-9010"), call("notify_employee", employee_id="EMP-118", message=_SAID)),
    ),
)
