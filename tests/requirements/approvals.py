"""Approvals that a business can live with, those who are told of them, and the audit export."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise("approvals.several", "A rule, a level or a process may ask for several different people", "I7; seed 002"),
    Promise(
        "approvals.escalation", "What nobody decides in time goes on to the next level, and from the last to no", "I7"
    ),
    Promise("approvals.any_order", "Whoever answers, whenever: enough rightful yeses in time, and nothing else", "I7"),
    Promise("approvals.grounds", "An approver is shown the rules, reads, figures and where each argument stands", "I7"),
    Promise("approvals.own_index", "A look at approvals touches those of the asking tenant alone", "I10"),
    Promise(
        "approvals.late_answer", "An answer that comes late is told what was decided, not that nothing is known", "I7"
    ),
    Promise("approvals.notices", "A tenant's targets are told of its approvals, signed or as Slack shows them", "I7"),
    Promise("approvals.notices_masked", "What is told of an approval holds nothing that the guard marks", "I12"),
    Promise("approvals.notices_once", "What is to be told is stored with what happened, and told once in effect", "I7"),
    Promise(
        "approvals.notices_walls", "A notice target reads no secret of another tenant and calls nothing inside", "I10"
    ),
    Promise("audit.export", "Who, who approved, what, why, proof and times of each write, in pages or lines", "I4"),
    Promise("audit.kept", "Writes are exported from the store, then from the archive, and never made up", "I4"),
    Promise("audit.one_listing", "The pages of an export cost one listing of the archive", "bad input"),
    Promise("audit.masked", "The export masks what the guard marks, and has digests of what was sent", "I12"),
    Promise("audit.operators", "The export is for the operators of the tenant alone", "I10"),
    Promise(
        "audit.formats", "The export is a table, JSON, or CSV that no spreadsheet takes for a formula", "bad input"
    ),
)
