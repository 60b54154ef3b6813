"""The five_phase strategy in the worker: reads planned before they are made, figures and findings from one answer."""

import asyncio

import pytest

from services.executor.ports.models import Tier
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_model import json_reply, state_of, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import (
    FOUND,
    asked_in,
    five_phase,
    in_order_of,
    read,
    read_plan,
    said_to,
    survived,
)

ANY: JsonObject = {"type": "object"}


@pytest.mark.promise("strategy.five_phase")
async def test_it_plans_reads_gathers_concludes_plans_the_write_and_answers() -> None:
    stage = five_phase()
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert [state_of(one) for one in stage.model.requests][:4] == ["PLAN", "CONCLUDE", "WRITE PLAN", "COMPLETE"]
    assert record.metadata["states"] == [
        "DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "COMPLETE",
    ]  # fmt: skip
    assert (record.metadata["strategy"], record.metadata["strategy_fell_back"]) == ("five_phase", None)


@pytest.mark.promise("strategy.tiers")
async def test_its_plan_of_reads_and_its_answer_are_haikus_and_its_conclusions_sonnets() -> None:
    stage = five_phase()
    await stage.run()
    assert [(state_of(one), one.tier) for one in stage.model.requests[:4]] == [
        ("PLAN", Tier.HAIKU), ("CONCLUDE", Tier.SONNET), ("WRITE PLAN", Tier.SONNET), ("COMPLETE", Tier.HAIKU),
    ]  # fmt: skip


@pytest.mark.promise("strategy.five_phase.sees_tools")
async def test_its_plan_of_reads_sees_the_tools_that_read_with_their_schemas_and_no_other() -> None:
    stage = five_phase()
    await stage.run()
    asked = said_to(asked_in(stage, "PLAN")[0])
    assert '"claim_id":{"type":"string"}' in asked
    assert "approve_claim" not in asked


@pytest.mark.promise("strategy.five_phase.at_once")
async def test_reads_that_need_nothing_from_each_other_are_under_way_at_once() -> None:
    """Each of the eight answers only when all eight have been asked for."""
    stage, everybody = five_phase(), asyncio.Barrier(8)

    async def meets(given: JsonObject) -> Json:
        async with asyncio.timeout(5):
            await everybody.wait()
        return {"number": given["number"]}

    stage.limits = stage.limits._replace(tool_seconds=5)
    stage.servers.add("get_row", meets, ToolClass.READ, ANY)
    stage.scripts["plan"] = read_plan(*(read(f"s{number}", "get_row", number=number) for number in range(8)))
    record = await stage.run()
    assert (record.state, record.metadata["tool_calls"]) == (TaskState.COMPLETED, 9)


@pytest.mark.promise("strategy.five_phase.at_once")
async def test_a_ninth_read_makes_the_plan_unusable() -> None:
    stage = five_phase()
    too_many = read_plan(*(read(f"s{number}", "get_claim", claim_id=f"C-{number}") for number in range(9)))
    stage.scripts["plan"] = in_order_of(too_many, read_plan(read("s1", "get_claim", claim_id="C-1")))
    record = await stage.run()
    assert "9 reads are too many: at most 8" in said_to(asked_in(stage, "PLAN")[1])
    assert (record.metadata["strategy_fell_back"], stage.claims.applied) == (None, ["C-1"])


@pytest.mark.promise("strategy.five_phase.dependent")
async def test_a_read_whose_argument_comes_from_another_is_made_after_it_with_what_it_gave() -> None:
    stage, owners = five_phase(), list[Json]()
    stage.claims.rows["C-1"]["owner"] = {"id": "P-7"}

    def owner(given: JsonObject) -> Json:
        owners.append(given["person_id"])
        return {"id": given["person_id"], "name": "Ann"}

    stage.servers.add("get_person", owner, ToolClass.READ, ANY)
    refers: Json = {"$ref": "s1.owner.id"}
    stage.scripts["plan"] = read_plan(
        read("s1", "get_claim", claim_id="C-1"), read("s2", "get_person", person_id=refers)
    )
    record = await stage.run()
    assert (record.state, owners) == (TaskState.COMPLETED, ["P-7"])
    assert "Ann" in said_to(asked_in(stage, "CONCLUDE")[0])


@pytest.mark.promise("strategy.five_phase.dependent")
async def test_a_read_that_waits_for_what_was_not_found_is_not_made_and_its_need_is_unmet() -> None:
    stage = five_phase()
    refers: Json = {"$ref": "s1.owner.id"}
    stage.scripts["plan"] = read_plan(read("s1", "get_claim", claim_id="C-1"), read("s2", "get_claim", claim_id=refers))
    record = await stage.run()
    told = said_to(asked_in(stage, "CONCLUDE")[0])
    assert "<unmet>" in told
    assert "what get_claim shows: " in told
    assert record.metadata["tool_calls"] == 2  # the claim, and the approval


@pytest.mark.promise("strategy.five_phase.dependent")
async def test_where_more_may_have_to_be_read_it_looks_again_over_what_is_known() -> None:
    stage = five_phase()
    stage.scripts["plan"] = in_order_of(
        read_plan(read("s1", "get_claim", claim_id="C-1"), look_again=True),
        read_plan(read("s1", "get_claim", claim_id="C-2"), look_again=True),
        read_plan(look_again=True),
    )
    record = await stage.run()
    asked = asked_in(stage, "PLAN")
    assert len(asked) == 3
    assert "7.00" in said_to(asked[2])
    assert record.state is TaskState.COMPLETED


async def test_a_further_plan_that_cannot_be_used_leaves_it_at_what_is_known() -> None:
    stage = five_phase()
    useless = read_plan(read("s1", "no_such_tool"))
    first = read_plan(read("s1", "get_claim", claim_id="C-1"), look_again=True)
    stage.scripts["plan"] = in_order_of(first, useless, useless)
    record = await stage.run()
    assert (record.state, record.metadata["strategy_fell_back"]) == (TaskState.COMPLETED, None)
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("strategy.obeys_the_gate")
async def test_a_plan_of_reads_that_names_a_write_gets_nothing_and_is_told_why() -> None:
    stage = five_phase()
    sly = read_plan(read("s1", "approve_claim", claim_id="C-2"))
    stage.scripts["plan"] = in_order_of(sly, read_plan(read("s1", "get_claim", claim_id="C-1")))
    await stage.run()
    assert stage.claims.applied == ["C-1"]
    assert "approve_claim is a tool of class change" in said_to(asked_in(stage, "PLAN")[1])


@pytest.mark.promise("strategy.obeys_the_gate")
async def test_a_conclusion_that_calls_a_write_gets_nothing() -> None:
    stage = five_phase()
    stage.scripts["conclude"] = in_order_of(tool_reply(("approve_claim", {"claim_id": "C-2"})), json_reply(FOUND))
    await stage.run()
    assert stage.claims.applied == ["C-1"]
    assert all(tool.name != "approve_claim" for one in stage.model.requests for tool in one.tools)


@pytest.mark.promise("strategy.findings_in_plan")
async def test_the_plan_of_writes_and_the_answer_see_the_findings() -> None:
    stage = five_phase()
    await stage.run()
    for state in ("WRITE PLAN", "COMPLETE"):
        assert "<findings>\nC-1 is open and may be approved.\n</findings>" in said_to(asked_in(stage, state)[0])


@pytest.mark.promise("strategy.audited")
async def test_figures_that_fail_their_audit_twice_escalate_and_nothing_is_written() -> None:
    stage = five_phase()
    operand: Json = {"source": "result", "ref": "f1", "path": "amount", "literal": ""}
    wrong: Json = {"name": "total", "operation": "sum", "operands": [operand, operand], "value": "240.00"}
    stage.scripts["conclude"] = json_reply({"values": [wrong], "findings": "The total is 240.00."})
    record = await stage.run()
    assert (record.state, record.metadata["escalated"]) == (TaskState.FAILED, True)
    assert stage.claims.applied == []
    assert len(asked_in(stage, "CONCLUDE")) == 2


@pytest.mark.promise("strategy.five_phase.insight")
async def test_its_insight_is_an_event_and_part_of_the_outcome_stored_with_the_end_of_the_turn() -> None:
    """Nothing of it is stored before, and nothing runs after."""
    stage = five_phase()
    await stage.run()
    end = stage.turns.ends[-1]
    assert end.outcome is not None
    insight = end.outcome.details["insight"]
    assert isinstance(insight, dict)
    assert (insight["reads"], insight["helpful_tools"], insight["writes"]) == (1, ["get_claim"], ["approve_claim"])
    told = [event for event in end.events if event.kind == "insight"]
    assert [event.data for event in told] == [insight]


@pytest.mark.promise("strategy.same_replay")
@pytest.mark.parametrize("die_before", range(1, 18, 2))
async def test_a_run_that_dies_on_the_way_ends_the_same_and_is_replayed(die_before: int) -> None:
    stage = five_phase()
    await survived(stage, die_before)
    assert stage.claims.applied == ["C-1"]
    assert (await replayed(stage)).difference == ""
