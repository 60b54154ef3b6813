"""Documents: nine templates, filled from a task's own data; what nothing fills is marked and named."""

from datetime import timedelta
from decimal import Decimal

import pytest

from services.executor.core.reflect.documents import (
    SOURCES,
    Material,
    asked_documents,
    asking_words,
    document,
    mark_unverified,
    templates,
)
from services.executor.core.session.dossier import Dossier, Progress
from shared.contracts.approval import Approval
from shared.contracts.task import Artifact
from shared.domain.words import FsmState, WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import NOON, call, entry, fact, from_task, plan, value, verdict

ABOUT = ("task-1", NOON)
PATH = (FsmState.DECOMPOSE, FsmState.COMPLETE)
NINE = {
    "prd": "problem_statement user_stories acceptance_criteria technical_constraints success_metrics open_questions",
    "post_mortem": "incident_summary timeline root_cause contributing_factors impact action_items blameless_note",
    "approval_brief": "request_summary proposed_actions policy_compliance risk_assessment approver_decision",
    "sprint_plan": "sprint_goal capacity_summary stories dependencies risks carryover",
    "ar_report": "aging_summary by_customer recommended_actions revenue_impact write_offs",
    "compliance_report": "audit_scope findings gap_analysis remediation_plan deadline_summary",
    "incident_rca": "incident_summary timeline root_cause contributing_factors remediation_options chosen_remediation "
    "monitoring_gaps action_items",
    "qbr_slide": "executive_summary financial_metrics sales_pipeline product_highlights support_metrics "
    "engineering_metrics key_insights action_items",
    "contract_renewal": "vendor_summary current_terms proposed_changes risk_flags approval_routing recommendation",
}
ROWS = fact(
    {
        "rows": [
            {"id": "R-1", "customer_id": "CUS-1", "overdue_days": 40, "due_date": "2026-01-05", "contract": "CT-1"},
            {"id": "R-2", "customer_id": "CUS-2", "vendor": "Sail | Co", "ticket": "T-1", "deal": "D-1"},
        ]
    },
    tool="list_receivables",
)
DONE = Dossier(
    facts=(ROWS,),
    values=(value("total_open", "sum", "120.50", from_task("120.50")),),
    verdict=verdict(triggered_rules=[{"rule_id": "R1", "action": "escalate", "reason": "high", "policy_id": "p"}]),
    plan=plan(call({"claim_id": "C-1"})),
)


def material(dossier: Dossier = DONE, answer: str = "Done: 120.50.", approval: Approval | None = None) -> Material:
    progress = Progress(path=PATH, visited=PATH, dossier=dossier)
    made = entry(WriteStatus.VERIFIED).model_copy(update={"plan_hash": dossier.plan.hash if dossier.plan else "w"})
    return Material("Chase what is overdue", progress, (made,), answer, approval)


def data(artifact: Artifact) -> dict[str, object]:
    assert artifact.data is not None
    return {**artifact.data}


@pytest.mark.promise("documents.templates")
def test_there_are_nine_templates_with_the_sections_of_the_seed() -> None:
    assert {name: " ".join(section.name for section in one.sections) for name, one in templates().items()} == NINE


def test_every_source_that_a_template_names_exists() -> None:
    named = {source.partition(":")[0] for one in templates().values() for s in one.sections for source in s.filled_from}
    assert named <= SOURCES


@pytest.mark.promise("documents.templates")
@each_row("kind", sorted(NINE))
def test_with_everything_written_a_document_is_complete(kind: str) -> None:
    """What data does not fill comes from the drafted texts; the Markdown has one heading for each section."""
    texts = {section.name: f"About {section.name}." for section in templates()[kind].sections}
    made = document(kind, material(approval=waiting()), *ABOUT, texts)

    told = data(made)
    assert (told["type"], told["created_at"], told["complete"]) == (kind, NOON.isoformat(), True)
    assert set(told) == {"type", "created_at", "metadata", "sections", "complete"}
    assert (made.text or "").count("\n## ") == len(templates()[kind].sections)
    assert "REQUIRED" not in (made.text or "")
    assert made.media_type == "text/markdown"


@pytest.mark.promise("documents.templates")
@each_row("kind", sorted(NINE))
def test_with_nothing_known_every_section_is_marked_and_named(kind: str) -> None:
    made = document(kind, material(Dossier(), answer=""), *ABOUT)

    told, always = data(made), {"request_summary", "audit_scope", "blameless_note", "action_items_"}
    empty = [section for section in templates()[kind].sections if section.name not in always]
    metadata = told["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["missing_sections"] == [section.name for section in empty]
    assert told["complete"] is False
    for section in empty:
        assert f"[{section.name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]" in (made.text or "")


@pytest.mark.promise("I8.exact_money")
def test_an_amount_stands_in_a_document_as_it_was_read() -> None:
    """In the JSON as text: 86.10 is no binary fraction anywhere."""
    owed = fact({"id": "R-1", "customer": "Ada", "amount": Decimal("86.10")})
    made = document("ar_report", material(Dossier(facts=(owed,))), *ABOUT)
    assert "| R-1 | 86.10 | Ada |" in (made.text or "")
    assert "'amount': '86.10'" in str(data(made)["sections"])


def test_what_stands_in_a_cell_cannot_end_it() -> None:
    assert "Sail \\| Co" in (document("ar_report", material(), *ABOUT).text or "")


@pytest.mark.promise("documents.asked")
@each_row(
    ("task", "kinds"),
    [
        ("Write a post-mortem for INC-3.", ("post_mortem",)),
        ("Close INC-3 and write a short, blameless postmortem of it.", ("post_mortem",)),
        ("Prepare the AR report for March", ("ar_report",)),
        ("Please draft a PRD and a sprint plan", ("prd", "sprint_plan")),
        ("draft a PRD, then create a sprint plan", ("prd", "sprint_plan")),
        ("Produce a root cause analysis of the outage", ("incident_rca",)),
        ("We need a QBR slide for Q3", ("qbr_slide",)),
        ("put together a contract renewal brief for VEN-2", ("contract_renewal",)),
        ("create the compliance report", ("compliance_report",)),
        ("Draft an approval brief for PO-1.", ("approval_brief",)),
        ("Send the post-mortem to Bob", ()),
        ("Write Bob a mail about the post-mortem", ()),
        ("Do not write a post-mortem", ()),
        ("Close it without writing anything; never draft a post-mortem", ()),
        ("Approve the contract renewal of VEN-2", ()),
        ("What does the AR report say?", ()),
        ("Approve expense claim EXP-1002.", ()),
    ],
)
def test_documents_are_asked_for_in_words(task: str, kinds: tuple[str, ...]) -> None:
    assert asked_documents(task) == kinds
    assert bool(asking_words(task)) is bool(kinds)


def waiting() -> Approval:
    return Approval(
        approval_id="a1",
        task_id="task-1",
        plan=plan(call({"claim_id": "C-1"})),
        plan_hash="w",
        verdict_hash="v",
        level="manager",
        requester_id="clerk",
        reasons=(),
        asked_at=NOON,
        deadline=NOON + timedelta(hours=24),
    )


@pytest.mark.promise("documents.unverified")
@each_row(
    ("text", "tokens", "marked"),
    [
        ("12 of 120 and 1,200", ("12",), "[unverified: 12] of 120 and 1,200"),
        ("$5 or $5.00", ("$5.00",), "$5 or [unverified: $5.00]"),
        ("INV-1 and INV-12", ("INV-1", "INV-12"), "[unverified: INV-1] and [unverified: INV-12]"),
        ("5% of 5", ("5",), "5% of [unverified: 5]"),
        ("\uff15 euros", ("5",), "\uff15 euros [unverified: 5]"),
        ("nothing", (), "nothing"),
    ],
)
def test_a_figure_is_marked_where_it_stands_and_nowhere_inside_another(
    text: str, tokens: tuple[str, ...], marked: str
) -> None:
    assert mark_unverified(text, tokens) == marked
