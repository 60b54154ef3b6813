"""A call of a writing tool becomes a call of the plan only if it fits, has a part of the task and a source."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

import pytest

from services.executor.core.plan.proposals import NotProposed, Proposal, ProposalContext, freeze, propose
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.session.values import PartOfTask
from services.executor.core.tools.schema_drift import Corrections
from shared.contracts.plan import PlannedCall, ReadBack, WritePlan
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import ToolUse
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
    setting = ProposalContext(parts, Corrections(), reply=1)
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


@pytest.mark.parametrize(
    ("task", "given", "name"),
    [
        ("Lower the limit of C-1 by a third", {"claim_id": "C-1", "limit": Decimal("200.00")}, None),
        ("Lower the limit of C-1 by a third", {"claim_id": "C-1", "limit": Decimal("150.00")}, "limit"),
        ("Put C-1 on shelf thirty-one", {"claim_id": "C-1", "shelf_id": "31"}, None),
        ("Put C-1 on shelf thirty-one", {"claim_id": "C-1", "shelf_id": "13"}, "shelf_id"),
    ],
)
def test_a_share_of_the_named_record_and_a_number_in_words_are_sources(
    task: str, given: JsonObject, name: str | None
) -> None:
    setter = tool("change_claim", ToolClass.CHANGE)
    known = KnownSources((task,), (fact({"id": "C-1", "limit": "300.00"}),), (), datetime(2026, 1, 15, tzinfo=UTC))
    call = PlannedCall(
        call_id="1", connection_id="office", tool=setter.name, tool_class=ToolClass.CHANGE, arguments_json=dumps(given)
    )
    problems = SourceFinder(known).find(call, setter).problems
    assert [text.partition(" ")[0] for text in problems] == ([name] if name else [])


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
