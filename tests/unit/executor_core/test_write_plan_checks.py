"""A proposed plan becomes a plan only if each call exists, writes, fits and has a source."""

import pytest

from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.write_plan import Proposal, calls_as_json, checked_plan
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass
from tests.unit.executor_core.makers import dossier, fact, tool, tools

TASK = "Approve claim C-1"
_ONE_ID: JsonObject = {
    "type": "object",
    "properties": {"claim_id": {"type": "string"}},
    "required": ["claim_id"],
    "additionalProperties": False,
}
TOOLS = tools(
    tool("approve_claim", ToolClass.CHANGE, _ONE_ID),
    tool("get_claim", ToolClass.READ, _ONE_ID),
    tool("notify", ToolClass.NOTIFY),
    tool("shared", ToolClass.CHANGE),
    tool("shared", ToolClass.CHANGE, connection="branch"),
    tool("get_branch", ToolClass.READ, connection="branch"),
)
GOOD: JsonObject = {
    "call_id": "c1",
    "connection": "office",
    "tool": "approve_claim",
    "arguments_json": '{"claim_id": "C-1"}',
    "read_back": {
        "tool": "get_claim",
        "arguments_json": '{"claim_id": "C-1"}',
        "expect_json": '{"status": "approved"}',
    },
}
SECOND: JsonObject = {
    "call_id": "c2",
    "connection": "office",
    "tool": "notify",
    "arguments_json": '{"to": {"$ref": "c1.owner"}}',
}


def checked(*calls: JsonObject) -> WritePlan:
    return checked_plan(Proposal.model_validate({"calls": calls}), TOOLS, dossier(fact({"id": "C-1"})), "task-1", TASK)


def read_back(**changed: str) -> JsonObject:
    return {"tool": "get_claim", "arguments_json": '{"claim_id": "C-1"}', "expect_json": "{}", **changed}


@pytest.mark.promise("I1.plans_hold_writes_only")
def test_a_good_proposal_is_a_plan_with_canonical_arguments() -> None:
    plan = checked(GOOD, SECOND)

    first, second = plan.calls
    assert first.arguments_json == '{"claim_id":"C-1"}'
    assert (first.tool_class, second.tool_class) == (ToolClass.CHANGE, ToolClass.NOTIFY)
    assert first.read_back is not None
    assert calls_as_json(plan)[0] == {
        "call_id": "c1", "connection": "office", "tool": "approve_claim", "arguments": {"claim_id": "C-1"},
        "origins": [],
    }  # fmt: skip


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([{**GOOD, "tool": "delete_everything"}], "has no tool"),
        ([{**GOOD, "connection": "branch"}], "has no tool"),
        ([{**GOOD, "connection": "", "tool": "shared", "arguments_json": "{}"}], "has no tool"),
        ([{**GOOD, "tool": "get_claim"}], "does not write"),
        ([GOOD, GOOD], "used twice"),
        ([SECOND, GOOD], "no earlier call"),
        ([{**GOOD, "arguments_json": '{"claim_id": {"$ref": "c1.id"}}'}], "no earlier call"),
        ([{**GOOD, "arguments_json": "[]"}], "JSON object"),
        ([{**GOOD, "arguments_json": "{"}], "arguments_json"),
        ([{**GOOD, "arguments_json": '{"claim": "C-1"}'}], "do not fit"),
        ([{**GOOD, "arguments_json": '{"claim_id": "C-2"}'}], "no source for: c1 C-2"),
        ([{**GOOD, "read_back": read_back(tool="approve_claim")}], "no read tool"),
        ([{**GOOD, "read_back": read_back(tool="get_branch", arguments_json="{}")}], "no read tool"),
        ([{**GOOD, "read_back": read_back(arguments_json='{"id": 1}')}], "do not fit"),
        ([{**GOOD, "read_back": read_back(expect_json="3")}], "expect_json"),
    ],
)
def test_what_cannot_be_carried_out_as_written_is_no_plan(calls: list[JsonObject], why: str) -> None:
    with pytest.raises(UnusableAnswer, match=why):
        checked(*calls)


def test_a_notice_is_never_read_back() -> None:
    (notice,) = checked({**SECOND, "call_id": "c1", "arguments_json": "{}", "read_back": read_back()}).calls
    assert notice.read_back is None


def test_a_plans_hash_names_everything_that_will_happen() -> None:
    same_again = {**GOOD, "arguments_json": '{ "claim_id" : "C-1" }'}
    assert checked(GOOD).hash == checked(same_again).hash
    for changed in ({**GOOD, "call_id": "c7"}, {**GOOD, "on_failure": "continue"}, {**GOOD, "read_back": None}):
        assert checked(changed).hash != checked(GOOD).hash


TAKE_BACK: JsonObject = {"connection": "office", "tool": "approve_claim", "arguments_json": '{"claim_id": "C-1"}'}


@pytest.mark.promise("plan.compensations_are_approved")
@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([{**GOOD, "compensation": {**TAKE_BACK, "tool": "unapprove"}}], "undo-c1: .* has no tool"),
        ([{**GOOD, "compensation": {**TAKE_BACK, "tool": "get_claim"}}], "undo-c1: get_claim does not write"),
        ([{**GOOD, "compensation": {**TAKE_BACK, "tool": "notify"}}], "takes nothing back"),
        ([{**GOOD, "compensation": {**TAKE_BACK, "arguments_json": "{}"}}], "undo-c1: .* do not fit"),
        ([{**GOOD, "compensation": {**TAKE_BACK, "arguments_json": '{"claim_id": "C-9"}'}}], "undo-c1 C-9"),
        ([{**GOOD, "compensation": {**TAKE_BACK, "arguments_json": '{"claim_id": {"$ref": "c2.id"}}'}}], "no earlier"),
        ([{**GOOD, "compensation": TAKE_BACK}, {**GOOD, "call_id": "undo-c1"}], "used twice"),
        ([{**SECOND, "arguments_json": "{}", "compensation": TAKE_BACK}], "only tells somebody"),
        ([{**SECOND, "arguments_json": "{}", "on_failure": "compensate"}], "only tells somebody"),
    ],
)
def test_a_compensation_is_checked_as_any_call(calls: list[JsonObject], why: str) -> None:
    with pytest.raises(UnusableAnswer, match=why):
        checked(*calls)


@pytest.mark.promise("plan.compensations_are_approved")
def test_a_compensation_may_refer_to_its_own_calls_result_and_is_part_of_the_hash() -> None:
    own = {**TAKE_BACK, "arguments_json": '{"claim_id": {"$ref": "c1.id"}}'}
    plan = checked({**GOOD, "compensation": own})
    assert [call.call_id for call in plan.every_call] == ["c1", "undo-c1"]
    assert plan.hash != checked(GOOD).hash
    assert plan.hash != checked({**GOOD, "compensation": TAKE_BACK}).hash
    (shown,) = calls_as_json(plan)
    assert isinstance(shown, dict)
    assert "compensation" in shown
