"""What earns and costs quality: only what was found and proved; a run in which nothing was to prove earns nothing."""

import pytest

from services.executor.core.reflect.quality import (
    EndedRun,
    collect_evidence,
    collect_sources,
    find_missing_outputs,
    find_untraced_tokens,
    says_found_value,
    says_new_value,
    select_answerable_outputs,
)
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.states.machine import GENERAL_TEMPLATE, ProcessTemplate
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import ReadBack, WritePlan
from shared.domain.quality import WEAK_SCORE, compute_quality
from shared.domain.words import FsmState, TaskState
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, fact, from_task, plan, value, verdict

PATH = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)
CLAIM = fact({"id": "C-1", "amount_cents": 12050, "owner": "Ada Lind", "status": "open"})
TASK = "Approve claim C-1"
PAID = ProcessTemplate(process_type="expense", states=PATH, outputs=("decision", "amount", "owner"))


def run(
    answer: str,
    dossier: Dossier,
    *writes: LedgerEntry,
    template: ProcessTemplate = GENERAL_TEMPLATE,
    read_only: bool = False,
    task: str = TASK,
    dry_run: bool = False,
) -> EndedRun:
    progress = Progress(template=template, path=PATH, visited=PATH, dossier=dossier, read_only=read_only)
    return EndedRun(TaskState.COMPLETED, answer, progress, writes, task, is_dry_run=dry_run)


def score(one: EndedRun) -> float:
    return compute_quality(collect_evidence(one)).value


@pytest.mark.promise("reflect.idle_runs")
def test_a_reconciliation_of_what_does_not_exist_earns_nothing_for_an_empty_plan() -> None:
    """Nothing was found, planned, judged or audited: this is no example."""
    nothing = Dossier(
        facts=(fact({"found": False, "error": "no such invoice"}),), verdict=verdict(), plan=WritePlan(task_id="t")
    )
    idle = run("Nothing was written: invoice INV-9 was not found.", nothing, task="Reconcile invoice INV-9")

    assert score(idle) < 0.35
    seen = collect_evidence(idle)
    assert (seen.policy_kept, seen.audit_clean, seen.needs_met, seen.is_grounded) == (None, None, False, False)


@pytest.mark.promise("reflect.idle_runs")
@each_row(
    ("answer", "task", "is_weak"),
    [("Claim C-1 belongs to Ada Lind.", "Who owns C-1?", False), ("Claim C-1 is of 999.99.", "What is C-1?", True)],
)
def test_a_right_answer_in_prose_is_not_weak_and_a_figure_that_nobody_found_is(
    answer: str, task: str, is_weak: bool
) -> None:
    assert (score(run(answer, Dossier(facts=(CLAIM,)), read_only=True, task=task)) < WEAK_SCORE) is is_weak


@pytest.mark.promise("reflect.idle_runs")
def test_a_dry_run_is_not_blamed_for_the_writes_that_it_does_not_make() -> None:
    """Each of its changes has a read that would prove it; one without is not proved."""
    proved = call({"claim_id": "C-1"}).model_copy(update={"read_back": ReadBack(tool="get_claim", arguments_json="{}")})
    known = Dossier(facts=(CLAIM,), verdict=verdict(), plan=plan(proved))
    blind = known.model_copy(update={"plan": plan(call({"claim_id": "C-1"}))})

    assert score(run("Dry run.", known, dry_run=True)) == 1.0
    assert score(run("Dry run.", blind, dry_run=True)) < 1.0


def test_an_audit_counts_only_where_there_were_figures_and_rules_are_kept_where_a_person_decided_as_they_ask() -> None:
    """A verdict that escalates is not passed; a person's yes follows it."""
    figures = (value("total", "sum", "120.50", from_task("120.50")),)
    empty, some = Dossier(verdict=verdict()), Dossier(verdict=verdict(), values=figures)
    refused = some.model_copy(update={"verdict": verdict(passed=False, blocked=True)})
    assert [collect_evidence(run("x", one)).audit_clean for one in (empty, some, refused)] == [None, True, None]
    asked = Dossier(verdict=verdict(passed=False, escalate=True), plan=plan(call({})), by_person=True)
    alone = asked.model_copy(update={"by_person": False})
    assert [collect_evidence(run("x", one)).policy_kept for one in (asked, alone)] == [True, False]


@each_row(
    ("text", "strange"),
    ("Claim C-1 of 120.50 is approved.", ()),
    ("12,050 cents", ()),
    ("1. first\n2. second: 120.5", ()),
    ("The claim is of 130.00.", ("130.00",)),
    ("See C-2.", ("C-2",)),
    ("There is one of 1 claims.", ()),
)
def test_every_figure_of_a_text_is_traced(text: str, strange: tuple[str, ...]) -> None:
    """Minor units may be written in major ones; a numbered line's number says nothing."""
    known = collect_sources(TASK, Dossier(facts=(CLAIM,)))
    assert find_untraced_tokens(text, known) == strange


@each_row(("text", "strange"), [("1,925.13 euro", ()), ("1,925.14 euro", ("1,925.14",))])
def test_a_calculated_figure_may_be_told_rounded_and_a_half_either_way(text: str, strange: tuple[str, ...]) -> None:
    average = value("average", "average", "1925.125", from_task("1925.125"))
    known = collect_sources(TASK, Dossier(facts=(CLAIM,), values=(average,)))
    assert find_untraced_tokens(text, known) == strange
    assert says_found_value(text, known) is (not strange)


@each_row(("text", "is_found"), [("insulin with 83", True), ("Claim 4711 has none.", False), ("It is high.", False)])
def test_a_figure_within_a_text_that_was_read_is_something_found(text: str, is_found: bool) -> None:
    memo = "On file since claim 4711. One of its entries: insulin, value 83."
    known = collect_sources("Which entry of 4711 is the highest?", Dossier(facts=(fact({"memo": memo}),)))
    assert says_found_value(text, known) is is_found


def test_what_a_refusing_server_said_is_no_source_and_to_repeat_the_task_says_nothing() -> None:
    known = collect_sources(TASK, Dossier(facts=(fact({"error": "limit 777"}, ok=False),)))
    assert find_untraced_tokens("The limit is 777.", known) == ("777",)
    known = collect_sources("Who owns claim C-1?", Dossier(facts=(CLAIM,)))
    assert not says_new_value("You asked about claim C-1.", known)
    assert says_new_value("Ada Lind.", known)


@pytest.mark.promise("reflect.outputs")
@each_row(
    ("answer", "missing"),
    ("Approved: 120.50 for Ada Lind.", ()),
    ("The decision is no; the amount and the owner stay.", ()),
    ("Approved.", ("amount", "owner")),
    ("", ("decision", "amount", "owner")),
)
def test_a_required_output_is_there_by_its_word_or_by_its_value(answer: str, missing: tuple[str, ...]) -> None:
    known = collect_sources(TASK, Dossier(facts=(CLAIM,)))
    assert find_missing_outputs(PAID.outputs, answer, known) == missing


@pytest.mark.promise("reflect.outputs")
def test_only_what_the_run_knows_can_be_asked_for_and_a_question_or_a_document_needs_no_output() -> None:
    known = collect_sources(TASK, Dossier(facts=(CLAIM,)))
    assert select_answerable_outputs(("amount", "owner", "receipt"), known) == ("amount", "owner")
    assert run("x", Dossier(), template=PAID, read_only=True).unmentioned_outputs == ()
    assert run('["C-1"]', Dossier(), template=PAID).unmentioned_outputs == ()
    written = run("x", Dossier(facts=(CLAIM,)), template=PAID, task="Write a post-mortem of C-1")
    assert (written.unmentioned_outputs, written.is_wrongly_idle) == ((), False)
