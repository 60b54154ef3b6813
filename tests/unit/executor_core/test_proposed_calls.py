"""A call of a writing tool becomes a call of the plan only if it fits, has a part of the task and a source."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

import pytest

from services.executor.core.dossier.values import PartOfTask
from services.executor.core.plan.closing import with_compensations
from services.executor.core.plan.proposals import NotProposed, Proposal, Setting, freeze, propose
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.tools.schema_drift import Corrections
from services.executor.ports.models import ToolUse
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, ReadBack, WritePlan
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_talk import Call, of_conversation, results_in
from tests.unit.executor.stage import APPROVE, READ, Stage
from tests.unit.executor_core.makers import fact, tool, tools

TASK = "Approve claim C-1"
_ONE_ID: JsonObject = {
    "type": "object",
    "properties": {"claim_id": {"type": "string"}},
    "required": ["claim_id"],
    "additionalProperties": False,
}
TOOLS = tools(
    tool("approve_claim", ToolClass.CHANGE, _ONE_ID),
    tool("reopen_claim", ToolClass.CHANGE, _ONE_ID),
    tool("get_claim", ToolClass.READ, _ONE_ID),
    tool("notify", ToolClass.NOTIFY),
    tool("shared", ToolClass.CHANGE),
    tool("shared", ToolClass.CHANGE, connection="branch"),
)
GOOD = ("approve_claim", {"claim_id": "C-1"})
ONE = (PartOfTask(number=1, quote=TASK, kind="do"),)
TWO = (
    *ONE,
    PartOfTask(number=2, quote="tell Ann", kind="do"),
    PartOfTask(number=3, quote="who is Ann", kind="find out"),
)


def proposed(*calls: Call, parts: Sequence[PartOfTask] = ONE) -> tuple[Proposal, ...]:
    """The calls of one reply, in their order."""
    setting = Setting(parts, Corrections(), reply=1)
    made: list[Proposal] = []
    for number, (name, given) in enumerate(calls):
        made.append(propose(ToolUse(f"use-{number}", name, cast(JsonObject, given)), TOOLS.tools[name], made, setting))
    return tuple(made)


def frozen(*calls: Call, parts: Sequence[PartOfTask] = ONE) -> WritePlan:
    return freeze([one.call for one in proposed(*calls, parts=parts)], "task-1", 1)


def unsourced(given: JsonObject) -> tuple[str, ...]:
    known = KnownSources((TASK,), (fact({"id": "C-1"}),), (), datetime(2026, 1, 15, tzinfo=UTC))
    (made,) = proposed(("approve_claim", given))
    return SourceFinder(known).find(made.call, TOOLS.tools["approve_claim"]).problems


@pytest.mark.promise("I1.plans_hold_writes_only")
def test_good_calls_are_a_plan_with_canonical_arguments_and_the_part_that_they_carry_out() -> None:
    told = ("notify", {"text": "done", "_call": {"part": 2, "from": {"to": "1.owner"}}})
    first, second = frozen(("approve_claim", {"claim_id": "C-1", "_call": {"part": 1}}), told, parts=TWO).calls

    assert (first.call_id, first.connection_id, first.part) == ("c1", "office", 1)
    assert first.arguments_json == '{"claim_id":"C-1"}'
    assert (first.tool_class, second.tool_class) == (ToolClass.CHANGE, ToolClass.NOTIFY)
    assert second.arguments == {"text": "done", "to": {"$ref": "c1.owner"}}


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize(
    ("calls", "why"),
    [
        ([("approve_claim", {"claim": "C-1"})], "do not fit"),
        ([("approve_claim", {})], "do not fit"),
        ([("approve_claim", {"claim_id": 1})], "do not fit"),
        ([("approve_claim", {"claim_id": "C-1", "force": True})], "do not fit"),
        ([("notify", {"_call": {"from": {"to": "1.owner"}}}), GOOD], "no field of an earlier write"),
        ([("approve_claim", {"_call": {"from": {"claim_id": "1.id"}}})], "no field of an earlier write"),
        ([GOOD, ("notify", {"_call": {"from": {"to": "3.owner"}}})], "no field of an earlier write"),
        ([GOOD, ("notify", {"_call": {"from": {"to": "1"}}})], "no field of an earlier write"),
    ],
)
def test_what_cannot_be_carried_out_as_written_is_not_proposed(calls: list[tuple[str, JsonObject]], why: str) -> None:
    with pytest.raises(NotProposed, match=why):
        proposed(*calls)


@pytest.mark.promise("I1.plans_hold_writes_only")
async def test_a_tool_that_does_not_exist_is_in_no_plan_and_a_read_is_made_as_one() -> None:
    stage = Stage()
    stage.talk.rounds = [[READ], [("delete_everything", {}), ("get_claim", {"claim_id": "C-2"})], [APPROVE]]
    record = await stage.run()

    told = results_in(of_conversation(stage.model.requests)[-1])
    assert [one.content for one in told if one.is_error] == ["There is no tool named 'delete_everything'."]
    assert record.state is TaskState.COMPLETED
    assert [entry.call.tool for entry in stage.turns.writes.values()] == ["approve_claim"]


@pytest.mark.promise("I1.plans_hold_writes_only")
@pytest.mark.parametrize(
    ("parts", "said", "why"),
    [
        (TWO[2:], {"part": 3}, "this task only asks"),
        (TWO, {}, "say in _call.part which part"),
        (TWO, {"part": 3}, "say in _call.part which part"),
        (TWO, {"part": 9}, "say in _call.part which part"),
        (TWO, {"part": True}, "say in _call.part which part"),
    ],
)
def test_a_call_that_carries_out_no_part_that_is_to_be_done_is_not_proposed(
    parts: Sequence[PartOfTask], said: JsonObject, why: str
) -> None:
    with pytest.raises(NotProposed, match=why):
        proposed(("approve_claim", {"claim_id": "C-1", "_call": said}), parts=parts)


@pytest.mark.parametrize("said", [None, "a word", {"part": "1"}, '{"part": 1}'])
def test_of_one_part_to_be_done_nothing_has_to_be_said(said: str | JsonObject | None) -> None:
    (made,) = proposed(("approve_claim", {"claim_id": "C-1", "_call": said}))
    assert made.call.part == 1


@pytest.mark.promise("I1.plans_hold_writes_only")
def test_an_identifier_that_nothing_states_has_no_source() -> None:
    assert unsourced({"claim_id": "C-1"}) == ()
    (problem,) = unsourced({"claim_id": "C-2"})
    assert "claim_id C-2" in problem
    assert "neither in the task nor in a result" in problem


def test_of_two_servers_with_a_tool_of_one_name_the_one_that_was_called_is_meant() -> None:
    plan = frozen(("office__shared", {}), ("branch__shared", {}))
    assert [(call.connection_id, call.tool) for call in plan.calls] == [("office", "shared"), ("branch", "shared")]


def test_notices_come_after_all_changes_and_no_change_waits_for_one() -> None:
    plan = frozen(("notify", {"text": "soon"}), GOOD)
    assert [call.tool for call in plan.calls] == ["approve_claim", "notify"]
    waiting: JsonObject = {"_call": {"from": {"claim_id": "1.id"}}}
    with pytest.raises(NotProposed, match="approve_claim needs the answer of a notice"):
        frozen(("notify", {"text": "soon"}), ("approve_claim", waiting))


def test_a_plans_hash_names_everything_that_will_happen() -> None:
    plan = frozen(GOOD)
    (call,) = plan.calls
    assert plan.hash == frozen(("approve_claim", {"_call": {"part": 1}, "claim_id": "C-1"})).hash
    proof = ReadBack(tool="get_claim", arguments_json='{"claim_id":"C-1"}')
    for changed in (
        {"call_id": "c7"},
        {"on_failure": "continue"},
        {"read_back": proof},
        {"arguments_json": '{"claim_id":"C-2"}'},
        {"connection_id": "branch"},
        {"part": 2},
    ):
        assert plan.model_copy(update={"calls": (call.model_copy(update=changed),)}).hash != plan.hash


@pytest.mark.promise("plan.compensations_are_approved")
def test_a_compensation_is_the_catalogues_with_the_calls_own_arguments_and_part_of_the_hash() -> None:
    plan = frozen(GOOD)
    undone = with_compensations(plan, tools(*_taken_back_by("reopen_claim")))

    assert [call.call_id for call in undone.every_call] == ["c1", "undo-c1"]
    (call,) = undone.calls
    assert _undo(call) == ("reopen_claim", {"claim_id": "C-1"}, 1)
    assert undone.hash != plan.hash


@pytest.mark.promise("plan.compensations_are_approved")
@pytest.mark.parametrize("named", ["unapprove", "get_claim", "notify"])
def test_a_catalogue_that_names_a_tool_that_changes_nothing_gives_no_compensation(named: str) -> None:
    plan = with_compensations(frozen(GOOD), tools(*_taken_back_by(named)))
    assert [call.compensation for call in plan.calls] == [None]


@pytest.mark.promise("plan.compensations_are_approved")
def test_nothing_takes_a_notice_back() -> None:
    plan = with_compensations(frozen(("notify", {"text": "soon"})), tools(*_taken_back_by("reopen_claim")))
    assert [(call.compensation, call.on_failure) for call in plan.calls] == [(None, "stop")]


@pytest.mark.promise("plan.compensations_are_approved")
def test_what_only_the_answer_names_is_taken_from_the_calls_own_result() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"booking_id": {"type": "string"}},
        "required": ["booking_id"],
    }
    book = tool("approve_claim", ToolClass.CHANGE, _ONE_ID)._replace(
        catalogue=CatalogueEntry(compensated_by="cancel_booking")
    )
    plan = with_compensations(frozen(GOOD), tools(book, tool("cancel_booking", ToolClass.CHANGE, schema)))
    assert _undo(plan.calls[0]) == ("cancel_booking", {"booking_id": {"$ref": "c1.<booking_id>"}}, 1)


def _taken_back_by(name: str) -> list[Tool]:
    """The tools, where the catalogue says of two that this one takes them back."""
    entry = CatalogueEntry(compensated_by=name)
    return [
        one._replace(catalogue=entry) if one.name in ("approve_claim", "notify") else one
        for one in TOOLS.tools.values()
    ]


def _undo(call: PlannedCall) -> tuple[str, JsonObject, int | None]:
    assert call.compensation is not None
    return (call.compensation.tool, call.compensation.arguments, call.compensation.part)
