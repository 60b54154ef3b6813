"""Documents of tasks: nine templates that data fills, asked for in words or left by a process, and approval briefs."""

from datetime import timedelta
from decimal import Decimal

import pytest

from services.executor.core.reflect.documents import (
    READ_BY_SOURCE,
    DocumentMaterial,
    build_document,
    find_document_requests,
    load_document_templates,
    mark_unverified,
)
from services.executor.core.session.dossier import Dossier, Progress
from shared.contracts.approval import Approval
from shared.contracts.task import Artifact, TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, TaskState, ToolClass, WriteStatus
from shared.ports.models import ModelReply
from tests.doubles.scripted_model import json_reply, state_of
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.stage import Stage, cancel, decision
from tests.unit.executor_core.makers import NOON, approval, call, entry, fact, from_task, plan, value, verdict

ASKED = "What is claim C-1? Write a post-mortem of it."


def stage(text: str = ASKED) -> Stage:
    one = Stage(text)
    one.only_asks()
    one.talk.answer = "Claim C-1 is open, 120.50."
    one.talk.helpers["document"] = drafts(
        root_cause="Its status was left open.", impact="It cost 4711 euros.", made_up="x"
    )
    return one


def states(one: Stage) -> list[str]:
    return [state_of(request) for request in one.model.requests]


def named(record: TaskRecord) -> dict[str, Artifact]:
    return {artifact.name: artifact for artifact in record.artifacts}


def sections(artifact: Artifact) -> JsonObject:
    found = (artifact.data or {})["sections"]
    assert isinstance(found, dict)
    return {**found}  # type: ignore[dict-item]  # JSON values


def drafts(**sections: str) -> ModelReply:
    return json_reply({"sections": [{"name": f"post_mortem.{name}", "text": text} for name, text in sections.items()]})


@pytest.mark.promise("documents.asked")
async def test_a_document_that_is_asked_for_is_drafted_in_one_question() -> None:
    """A figure that nothing shows is marked in its section; a section that nobody asked for is no part of it."""
    one = stage()
    record = await one.run()
    assert states(one).count("DOCUMENT") == 1
    found = sections(named(record)["post_mortem"])
    assert found["root_cause"] == "Its status was left open."
    assert found["impact"] == "It cost [unverified: 4711] euros."
    assert found["incident_summary"] == record.answer == "Claim C-1 is open, 120.50."
    assert "made_up" not in found
    again = await assert_replayed(one)  # which asks nobody
    assert [step.key.rpartition(".")[2] for step in again.steps if "document" in step.key] == ["COMPLETE:document"]


@pytest.mark.promise("documents.unverified")
async def test_a_section_with_an_untraced_figure_is_kept_and_the_figure_marked() -> None:
    """In the Markdown too; the metadata names the section, and figures that are known stay as they are."""
    one, known = stage(), stage()
    one.talk.helpers["document"] = drafts(impact="Of 120.50 euros for C-1 4711 were lost, or 4,711.5.")
    made = named(await one.run())["post_mortem"]
    marked = "Of 120.50 euros for C-1 [unverified: 4711] were lost, or [unverified: 4,711.5]."
    assert sections(made)["impact"] == marked
    assert marked in str(made.text)
    about = (made.data or {})["metadata"]
    assert isinstance(about, dict)
    assert about["unverified_sections"] == ["impact"]
    assert "impact" not in str(about["missing_sections"])
    known.talk.helpers["document"] = drafts(impact="Claim C-1 of 120.50 was left open.")
    made = named(await known.run())["post_mortem"]
    assert sections(made)["impact"] == "Claim C-1 of 120.50 was left open."
    assert "unverified" not in str(made.text)


@pytest.mark.promise("documents.asked")
async def test_a_document_of_which_nothing_can_be_drafted_is_delivered_with_its_marks() -> None:
    one = stage()
    one.talk.helpers["document"] = nobody_answers
    record = await one.ends(TaskState.COMPLETED)
    assert (named(record)["post_mortem"].data or {})["complete"] is False
    review = record.metadata["review"]
    assert isinstance(review, dict)
    assert review["drafting"] == {"sections": 4, "problem": "the model did not answer: overloaded"}


@pytest.mark.promise("documents.asked")
async def test_a_plain_task_gets_no_document_and_no_further_call() -> None:
    one, dry = Stage(), stage()
    assert (await one.run()).artifacts == ()
    assert states(one) == ["", "", ""]
    dry.change_request(metadata={"dry_run": True})
    assert "post_mortem" not in named(await dry.run())


@pytest.mark.promise("documents.artifacts")
async def test_a_question_to_a_person_comes_with_its_brief_and_costs_no_further_call() -> None:
    """One brief a task: with the answer, or a cancel, it is written anew, and no second one stands beside it."""
    one, other = Stage(), Stage()
    for each in (one, other):
        each.policy.says = {"requires_approval": True, "escalation_level": "manager"}
        brief = sections(named(await each.ends(TaskState.INPUT_REQUIRED))["approval_brief"])
        assert "approve_claim" in str(brief["proposed_actions"])
        assert "Status: waiting." in str(brief["approver_decision"])
    assert "DOCUMENT" not in states(one)
    calls = len(one.model.requests)
    for each, turn, said in ((one, decision("approve"), "Approved by boss"), (other, cancel(), "Status: superseded.")):
        done = await each.run(turn)
        assert [artifact.name for artifact in done.artifacts] == ["approval_brief"]
        assert said in str(sections(named(done)["approval_brief"])["approver_decision"])
    assert (states(one)[calls:], other.turns.record.state) == ([""], TaskState.CANCELED)


@pytest.mark.promise("documents.artifacts")
async def test_no_document_is_mixed_into_an_exact_match_answer() -> None:
    one = stage()
    one.talk.form = "list"
    one.talk.answer = '["C-1"]'
    record = await one.run()
    assert record.answer == '["C-1"]'
    assert "C-1" not in str(sections(named(record)["post_mortem"])["incident_summary"])


@pytest.mark.promise("documents.asked")
@each_row(
    ("text", "process", "kind"),
    ("Complete the KYC compliance audit of claim C-1", "compliance_audit", "compliance_report"),
    ("Send the overdue accounts receivable of claim C-1 to collection", "ar_collections", "ar_report"),
)
async def test_a_process_leaves_its_own_document(text: str, process: str, kind: str) -> None:
    one = Stage(text)
    one.talk.process = process
    record = await one.run()
    assert [*named(record)] == [kind]


@pytest.mark.promise("answers.lists")
@each_row(
    "answer",
    "Refund total 120.50:\n- claim C-1 is open\n- nothing was paid",
    "Decision: rejected, escalated, closed; C-1 stays at 120.50",
    "- C-1 is open\n- it is of 120.50",
    "1. C-1 is open\n2. it is of 120.50",
)
async def test_prose_with_bullets_numbers_or_commas_stays_prose(answer: str) -> None:
    """The task asks for no list, so none is made, and nothing that it says is lost."""
    one = stage("What is claim C-1?")
    one.talk.answer = answer
    assert (await one.run()).answer == answer


@pytest.mark.promise("answers.lists")
async def test_a_list_that_is_asked_for_is_taken_out_of_its_form_without_a_further_call() -> None:
    one = stage("Which claims are open? Answer with a JSON list.")
    one.servers.add("get_claim", lambda _: [{"id": "C-1"}, {"id": "C-2"}], ToolClass.READ)
    one.talk.form = "list"
    one.talk.answer = "- C-1\n- C-2"
    record = await one.run()
    assert (record.answer, len(one.model.requests)) == ('["C-1", "C-2"]', 2)
    assert record.metadata["quality"] == 1.0


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


def material(
    dossier: Dossier = DONE, answer: str = "Done: 120.50.", approval: Approval | None = None
) -> DocumentMaterial:
    progress = Progress(path=PATH, visited=PATH, dossier=dossier)
    made = entry(WriteStatus.VERIFIED).model_copy(update={"plan_hash": dossier.plan.hash if dossier.plan else "w"})
    return DocumentMaterial("Chase what is overdue", progress, (made,), answer, approval)


def data(artifact: Artifact) -> dict[str, object]:
    assert artifact.data is not None
    return {**artifact.data}


@pytest.mark.promise("documents.templates")
@each_row(
    ("result", "dates"),
    ({"id": "O-1", "at": "2026-03-04", "lines": [{"no": 1, "due": "2026-03-09"}]}, ["at of O-1", "due of "]),
    (
        {"INC-1": {"opened": "2026-03-04", "by": "Ada"}, "INC-2": {"opened": "2026-03-05"}},
        ["opened of INC-1", "opened of INC-2"],
    ),
    ([{"at": "2026-03-04"}, {"at": "2026-03-05"}], ["at of ", "at of "]),
)
def test_a_date_is_told_with_its_field_and_its_record(result: Json, dates: list[str]) -> None:
    read = READ_BY_SOURCE["dates"](material(Dossier(facts=(fact({"id": "O-1", "at": "2025-01-01"}), fact(result)))))
    assert isinstance(read, list)
    rows = [row for row in read if isinstance(row, dict) and str(row["when"]) < "2026-03-31"]
    assert [f"{row['what']} of {row['of']}" for row in rows] == dates


@pytest.mark.promise("documents.templates")
def test_there_are_nine_templates_with_the_sections_of_the_seed_and_every_source_that_one_names_exists() -> None:
    assert {
        name: " ".join(section.name for section in one.sections) for name, one in load_document_templates().items()
    } == NINE
    named = {
        source.partition(":")[0]
        for one in load_document_templates().values()
        for s in one.sections
        for source in s.filled_from
    }
    assert named <= {*READ_BY_SOURCE, "records"}


@pytest.mark.promise("documents.templates")
@each_row("kind", sorted(NINE))
def test_with_everything_written_a_document_is_complete_and_with_nothing_known_each_section_is_named(kind: str) -> None:
    """What data does not fill comes from the drafted texts; the Markdown has one heading for each section."""
    texts = {f"{kind}.{section.name}": f"About {section.name}." for section in load_document_templates()[kind].sections}
    made, bare = (
        build_document(
            kind,
            material(approval=approval(plan(call({"claim_id": "C-1"})), deadline=NOON + timedelta(hours=24))),
            *ABOUT,
            texts,
        ),
        build_document(kind, material(Dossier(), ""), *ABOUT),
    )
    told, without = data(made), data(bare)
    assert (told["type"], told["created_at"], told["complete"]) == (kind, NOON.isoformat(), True)
    assert set(told) == {"type", "created_at", "metadata", "sections", "complete"}
    assert (made.text or "").count("\n## ") == len(load_document_templates()[kind].sections)
    assert "REQUIRED" not in (made.text or "")
    assert made.media_type == "text/markdown"
    always = {"request_summary", "audit_scope", "blameless_note", "action_items_"}
    empty = [section.name for section in load_document_templates()[kind].sections if section.name not in always]
    assert isinstance(without["metadata"], dict)
    assert (without["metadata"]["missing_sections"], without["complete"]) == (empty, False)
    for name in empty:
        assert f"[{name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]" in (bare.text or "")


@pytest.mark.promise("I8.exact_money")
def test_an_amount_stands_in_a_document_as_it_was_read_and_what_stands_in_a_cell_cannot_end_it() -> None:
    """In the JSON as text: 86.10 is no binary fraction anywhere."""
    owed = fact({"id": "R-1", "customer": "Ada", "amount": Decimal("86.10")})
    made = build_document("ar_report", material(Dossier(facts=(owed,))), *ABOUT)
    assert "| R-1 | 86.10 | Ada |" in (made.text or "")
    assert "'amount': '86.10'" in str(data(made)["sections"])
    assert "Sail \\| Co" in (build_document("ar_report", material(), *ABOUT).text or "")


@pytest.mark.promise("documents.asked")
@each_row(
    ("task", "kinds"),
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
)
def test_documents_are_asked_for_in_words(task: str, kinds: tuple[str, ...]) -> None:
    assert tuple(find_document_requests(task)) == kinds


@pytest.mark.promise("documents.unverified")
@each_row(
    ("text", "tokens", "marked"),
    ("12 of 120 and 1,200", ("12",), "[unverified: 12] of 120 and 1,200"),
    ("$5 or $5.00", ("$5.00",), "$5 or [unverified: $5.00]"),
    ("INV-1 and INV-12", ("INV-1", "INV-12"), "[unverified: INV-1] and [unverified: INV-12]"),
    ("5% of 5", ("5",), "5% of [unverified: 5]"),
    ("\uff15 euros", ("5",), "\uff15 euros [unverified: 5]"),
    ("nothing", (), "nothing"),
)
def test_a_figure_is_marked_where_it_stands_and_nowhere_inside_another(
    text: str, tokens: tuple[str, ...], marked: str
) -> None:
    assert mark_unverified(text, tokens) == marked
