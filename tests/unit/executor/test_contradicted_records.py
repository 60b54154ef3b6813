"""An argument that contradicts what the record says does not keep a rule of the process from acting."""

import pytest

from services.executor.core.process.synthesis import ProposedProcess, build_template
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, ProcessTemplate
from shared.contracts.policy import Rule
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState as S, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import judged, made
from tests.unit.executor.stage import Stage, schema, use

pytestmark = pytest.mark.promise("process.record_stands")

AUDIT, DISPUTE = BUILT_IN_TEMPLATES["compliance_audit"], BUILT_IN_TEMPLATES["dispute_resolution"]
RECALL = build_template(
    "vehicle_recall",
    ProposedProcess(
        states=(S.DECOMPOSE, S.ASSESS, S.COMPUTE, S.POLICY_CHECK, S.MUTATE, S.COMPLETE),
        risk="high",
        approval_wanted=True,
    ),
    "a recall of vehicles",
)
WAITS = TaskState.INPUT_REQUIRED


async def _run(
    template: ProcessTemplate, row: JsonObject, said: JsonObject, *further: JsonObject, trusts: bool
) -> tuple[Stage, list[JsonObject]]:
    """The record was read, and the plan's one call says something of its own."""
    shown: Json = {"cases": [row, *further]} if further else row
    call = use("decide_case", **{"case_id": "C-1", **said})
    text = f"Decide case C-1: {dumps(said)}"
    stage = await judged(template, text, {"get_case": shown}, call, trusts=trusts)
    return stage, made(stage)


@each_row("trusts", [True, False])
@each_row(
    ("template", "row", "said", "rule"),
    (AUDIT, {"risk_rating": "high"}, {"risk_rating": "low"}, "enhanced-due-diligence"),
    (AUDIT, {"pep": True, "risk_rating": "low"}, {"pep": False}, "enhanced-due-diligence"),
    (AUDIT, {"pep": True, "risk_rating": "low"}, {"pep": None}, "enhanced-due-diligence"),
    (DISPUTE, {"elevated_review": True, "amount": "50.00"}, {"elevated_review": False}, "elevated-review"),
    (DISPUTE, {"elevated_review": False, "amount": "5000.00"}, {"amount": "10.00"}, "large-dispute"),
)
async def test_what_the_record_says_is_judged_whatever_the_call_says(
    template: ProcessTemplate, row: JsonObject, said: JsonObject, rule: str, trusts: bool
) -> None:
    stage, written = await _run(template, {"id": "C-1", **row}, said, trusts=trusts)
    record = stage.turns.record
    assert (record.state, written) == (WAITS, [])
    assert rule in str(record.reason)
    assert (await replayed(stage)).difference == ""


@each_row("trusts", [True, False])
async def test_the_argument_is_judged_as_well_and_the_stricter_counts(trusts: bool) -> None:
    stage, written = await _run(DISPUTE, {"id": "C-1", "amount": "50.00"}, {"amount": "5000.00"}, trusts=trusts)
    assert (stage.turns.record.state, written) == (WAITS, [])


@each_row("trusts", [True, False])
@each_row(
    "said",
    {"other_case_id": "C-2"},
    {"case_ids": ["C-2", "C-1"]},
    {"case_id": "C-2", "batch": {"also": "C-1"}},
    {"case_id": "C-1", "case": "C-2", "pep": False},
)
async def test_each_record_that_a_call_names_is_judged_by_itself(said: JsonObject, trusts: bool) -> None:
    """The first is a politically exposed person, the second is none: together they would agree on nothing."""
    rows: list[JsonObject] = [{"id": "C-1", "pep": True}, {"id": "C-2", "pep": False}]
    stage, written = await _run(AUDIT, rows[0], said, rows[1], trusts=trusts)
    assert (stage.turns.record.state, written) == (WAITS, [])
    assert "enhanced-due-diligence" in str(stage.turns.record.reason)


@each_row("said", [{}, {"process_type": "general"}])
async def test_no_argument_says_which_process_it_is(said: JsonObject) -> None:
    stage, written = await _run(RECALL, {"id": "C-1"}, said, trusts=True)
    assert (stage.turns.record.state, written) == (WAITS, [])


@pytest.mark.promise("policy.nearest_is_read")
@each_row(("barred", "end"), [("E-2", TaskState.REJECTED), ("E-9", TaskState.COMPLETED)])
async def test_what_the_named_records_lead_to_is_read_as_well(barred: str, end: TaskState) -> None:
    """The model has looked at one of two employees and at no claim: the worker reads both claims, then the other."""
    given: JsonObject = {"claim_ids": ["C-1", "C-2"]}
    stage = Stage("Approve C-1 and C-2", [use("get_employee", employee_id="E-1")], [use("approve_claims", 1, **given)])
    stage.servers.add(
        "get_claim",
        lambda asked: {"claim_id": asked["claim_id"], "employee_id": f"E-{str(asked['claim_id'])[-1]}"},
        input_schema=schema("claim_id"),
    )
    stage.servers.add(
        "get_employee",
        lambda asked: {**asked, "barred": asked["employee_id"] == barred},
        input_schema=schema("employee_id"),
    )
    stage.servers.add("approve_claims", lambda asked: {"ok": True, **asked}, ToolClass.CHANGE)
    stage.judge_by(Rule(id="BARRED", condition="barred == true", action="block"))
    await stage.ends(end, why="BARRED" if end is TaskState.REJECTED else "")
    assert stage.servers.called("get_employee")[1:] == [{"employee_id": "E-2"}]
