"""A task that BrainOS thinks through: reads and wishes for writes in rounds, and everything else the machine's."""

import pytest

from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import TaskState
from tests.doubles.mock_brainos import answer, call, events
from tests.unit.executor.archived import replayed
from tests.unit.executor.orchestrated import BRAINOS, READ, WHOLE, WRITE, orchestrated
from tests.unit.executor.stage import decision


@pytest.mark.promise("brainos.rounds")
async def test_it_reads_asks_for_a_write_and_answers_once_it_was_made() -> None:
    """Three rounds of thinking, one of answering; the write goes through plan, verdict, ledger and read-back."""
    async with orchestrated(*WHOLE) as (stage, brain):
        record = await stage.run()
    assert record.state is TaskState.COMPLETED
    assert (record.answer or "").startswith("C-1 of 120.50 is approved.\n\nWrites:\n- approve_claim")
    assert (stage.claims.applied, stage.statuses) == (["C-1"], ["verified"])
    assert record.metadata["orchestrator"] == "brainos"
    assert [heard.body["message"] for heard in brain.heard[1:]] == ["Tool results:"] * 3
    assert stage.model.requests == []


@pytest.mark.promise("brainos.rounds")
async def test_it_is_told_what_became_of_each_call() -> None:
    """A read gives its result at once; a wish is only noted, and known when the plan was carried out."""
    async with orchestrated(*WHOLE) as (stage, brain):
        await stage.run()
    read, noted, made = (dumps(results) for results in brain.results)
    assert '"amount":"120.50"' in read
    assert '"made":false' in noted
    assert '"status":"verified"' in made


@pytest.mark.promise("brainos.rounds")
async def test_a_list_that_it_answers_passes_through_to_the_byte() -> None:
    async with orchestrated(events(READ), answer('["C-1",  "120.50"]')) as (stage, _):
        record = await stage.run()
    assert (record.state, record.answer) == (TaskState.COMPLETED, '["C-1",  "120.50"]')


@pytest.mark.promise("brainos.gate")
async def test_a_tool_that_nobody_has_is_refused_and_the_conversation_goes_on() -> None:
    async with orchestrated(events(call("teleport", to="Mars")), answer("There is no such thing.")) as (stage, brain):
        record = await stage.run()
    assert "There is no tool named" in dumps(brain.results[0])
    assert (record.state, record.answer) == (TaskState.COMPLETED, "There is no such thing.")


@pytest.mark.promise("brainos.gate")
async def test_arguments_that_do_not_fit_reach_no_server() -> None:
    """Of a read and of a write alike: it is told why, and may ask again."""
    wrong = events(call("get_claim", claim="C-1"), call("approve_claim", claim="C-1"))
    async with orchestrated(wrong, *WHOLE) as (stage, brain):
        record = await stage.run()
    assert dumps(brain.results[0]).count("do not fit") == 2
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("brainos.gate")
async def test_a_write_that_is_asked_for_twice_is_made_once() -> None:
    async with orchestrated(events(READ, WRITE), events(WRITE), *WHOLE[2:]) as (stage, brain):
        record = await stage.run()
    assert "noted already" in dumps(brain.results[1])
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("brainos.gate")
async def test_a_task_that_only_reads_has_no_wish_for_a_write() -> None:
    async with orchestrated(events(READ), events(WRITE), answer("120.50"), text="What is the amount of C-1?") as scene:
        record = await scene.stage.run()
    assert "only reads" in dumps(scene.brain.results[1])
    assert (record.state, record.answer, scene.stage.claims.applied) == (TaskState.COMPLETED, "120.50", [])


@pytest.mark.promise("brainos.gate")
async def test_a_write_may_use_what_an_earlier_one_gives() -> None:
    told = call("notify_person", text={"$ref": "c1.status"})
    async with orchestrated(events(READ, WRITE, told), answer("Asked."), answer("Done.")) as (stage, _):
        record = await stage.run()
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [{"text": "approved"}])


@pytest.mark.promise("brainos.gate")
async def test_a_write_says_itself_how_it_is_proved() -> None:
    """Its proof is another read than those that were made; one that is no read is refused."""
    proof: JsonObject = {"tool": "get_claim", "arguments": {"claim_id": "C-1"}, "expect": {"status": "approved"}}
    wrong = call("approve_claim", claim_id="C-1", _read_back={"tool": "get_claim"})
    sound = call("approve_claim", claim_id="C-1", _read_back=proof)
    async with orchestrated(events(wrong), events(sound), *WHOLE[2:]) as (stage, brain):
        record = await stage.run()
    assert "_read_back is {tool, arguments, expect}" in dumps(brain.results[0])
    assert (record.state, stage.statuses) == (TaskState.COMPLETED, ["verified"])


@pytest.mark.promise("brainos.gate")
async def test_a_write_that_policy_blocks_is_not_made() -> None:
    async with orchestrated(*WHOLE) as (stage, _):
        stage.policy.says = {"blocked": True, "passed": False}
        record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.REJECTED, [])
    assert record.metadata["orchestrator"] == "brainos"


@pytest.mark.promise("brainos.gate")
async def test_a_figure_without_a_source_is_asked_for_anew() -> None:
    """What it says is no authority: the plan is made of what it then asks for, and of nothing before."""
    invented = call("notify_person", text="The limit is 999.99")
    sound = call("notify_person", text="C-1 of 120.50")
    rounds = (events(READ, invented), answer("Asked."), events(sound), answer("Asked."), answer("Told."))
    async with orchestrated(*rounds) as (stage, brain):
        record = await stage.run()
    assert "no source for" in str(brain.heard[2].body["message"])
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [{"text": "C-1 of 120.50"}])


@pytest.mark.promise("brainos.gate")
async def test_a_plan_that_never_passes_escalates_and_writes_nothing() -> None:
    invented = (events(call("notify_person", text="999.99")), answer("Asked."))
    async with orchestrated(*invented * 3) as (stage, _):
        record = await stage.run()
    assert (record.state, record.metadata["escalated"], stage.claims.told) == (TaskState.FAILED, True, [])


@pytest.mark.promise("brainos.calculates")
async def test_a_figure_that_it_had_calculated_is_a_named_value_with_its_operands() -> None:
    """Plain figures go in; where each comes from is found, and the value can be written."""
    twice = call("calculate", name="doubled", operation="sum", operands=["120.50", "7.00"])
    told = call("notify_person", text="127.5 in all")
    rounds = (
        events(READ, call("get_claim", claim_id="C-2")),
        events(twice),
        events(told),
        answer("."),
        answer("Done."),
    )
    async with orchestrated(*rounds) as (stage, brain):
        record = await stage.run()
    assert dumps(brain.results[1]) == '[{"name":"calculate","result":{"name":"doubled","value":"127.50"}}]'
    assert (record.state, record.metadata["values"]) == (TaskState.COMPLETED, {"doubled": "127.50"})
    assert len(stage.claims.told) == 1


@pytest.mark.promise("brainos.calculates")
async def test_nothing_is_calculated_from_a_figure_without_a_source() -> None:
    wrong = call("calculate", operation="sum", operands=["120.50", "31337"])
    async with orchestrated(events(READ), events(wrong), answer("I cannot.")) as (stage, brain):
        record = await stage.run()
    assert "31337" in dumps(brain.results[1])
    assert record.metadata["values"] == {}


@pytest.mark.promise("brainos.second_turn")
async def test_after_an_approval_the_same_conversation_goes_on() -> None:
    """The plan waits for a person; in the next turn BrainOS is told what was made, under the id of the checkpoint."""
    async with orchestrated(*WHOLE) as (stage, brain):
        stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
        waiting = await stage.run()
        heard = len(brain.heard)
        record = await stage.run(decision("approve"))
    assert (waiting.state, heard) == (TaskState.INPUT_REQUIRED, 3)
    assert (record.state, stage.claims.applied, len(brain.heard)) == (TaskState.COMPLETED, ["C-1"], 4)
    assert len({str(heard.body["conversationId"]) for heard in brain.heard}) == 1


@pytest.mark.promise("brainos.second_turn")
async def test_what_changed_while_a_person_decided_is_told_and_it_plans_anew() -> None:
    """The claim's amount is another one by then: nothing is written on the old yes, and the new plan is asked about."""
    again = (events(WRITE), answer("Asked again."))
    async with orchestrated(*WHOLE[:3], *again, WHOLE[3]) as (stage, brain):
        stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
        await stage.run()
        stage.claims.rows["C-1"]["amount"] = "130.00"
        asked = await stage.run(decision("approve"))
        record = await stage.run(decision("approve", turn_id="turn-3"))
    assert (asked.state, record.state, stage.claims.applied) == (
        TaskState.INPUT_REQUIRED,
        TaskState.COMPLETED,
        ["C-1"],
    )
    assert "130.00" in str(brain.heard[3].body["message"])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.bounded")
async def test_one_that_comes_to_no_end_is_stopped() -> None:
    """It counts as not available; where nobody else is listed the task fails."""
    async with orchestrated(*[events(READ)] * 3, by=(BRAINOS,)) as (stage, brain):
        stage.limits = stage.limits._replace(iterations=3)
        record = await stage.run()
    assert (record.state, len(brain.heard)) == (TaskState.FAILED, 3)
    assert "came to no end" in str(record.reason)


@pytest.mark.promise("brainos.bounded")
async def test_its_rounds_are_paid_from_the_budget_by_their_length() -> None:
    """Characters / 4, the static prefix left out; no money is known of, and none is counted."""
    async with orchestrated(*WHOLE) as (stage, _):
        record = await stage.run()
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert (spend["calls"], spend["dollars"]) == (4, "0")
    assert isinstance(spend["tokens"], int)
    assert spend["tokens"] > 100


@pytest.mark.promise("brainos.masked")
async def test_what_the_guard_marks_is_kept_from_it_and_put_back_in_what_it_asks_for() -> None:
    text = "Tell the clerk about claim C-1, paid by card 4111 1111 1111 1111"
    secret = call("notify_person", text="card PROTECTED_CARD_1Z")
    async with orchestrated(events(READ), events(secret), answer("."), answer("Told."), text=text) as (stage, brain):
        record = await stage.run()
    assert "4111" not in "".join(dumps(heard.body) for heard in brain.heard)
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [{"text": "card 4111 1111 1111 1111"}])
