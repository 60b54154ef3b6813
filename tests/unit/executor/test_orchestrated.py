"""A task that BrainOS thinks through: it reads and proposes in rounds, and everything else is the machine's."""

import pytest

from shared.domain.exact_json import dumps
from shared.domain.words import TaskState
from tests.doubles.mock_brainos import answer, call, events
from tests.unit.executor.archived import replayed
from tests.unit.executor.orchestrated import BRAINOS, READ, WHOLE, WRITE, orchestrated, understood
from tests.unit.executor.stage import decision


@pytest.mark.promise("brainos.rounds", "brainos.bounded")
async def test_it_reads_asks_for_a_write_is_told_what_became_of_each_call_and_answers_once_it_was_made() -> None:
    """Two rounds of calls, one of answering; the write goes through plan, verdict, ledger and read-back.

    Its rounds are paid by their length: characters / 4, the static prefix left out; no money is known of.
    """
    async with orchestrated(*WHOLE) as (stage, brain):
        record = await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert (record.answer or "").startswith("C-1 of 120.50 is approved.\n\nWrites:\n- approve_claim")
    assert (stage.statuses, record.metadata["orchestrator"]) == (["verified"], "brainos")
    assert [heard.body["message"] for heard in brain.heard[1:]] == ["Tool results:"] * 2
    assert stage.model.requests == []
    read, made = (dumps(results).replace("\\", "") for results in brain.results)
    assert '"amount":"120.50"' in read
    assert '"status":"verified"' in made
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert (spend["calls"], spend["dollars"], int(str(spend["tokens"])) > 100) == (3, "0", True)


@pytest.mark.promise("brainos.rounds", "brainos.gate")
async def test_a_list_that_it_answers_passes_through_to_the_byte_and_a_task_that_only_asks_has_no_write() -> None:
    asks, listed = understood(("amount of C-1", "find out"), form="list"), answer('["C-1",  "120.50"]')
    async with orchestrated(events(asks, READ), listed, text="List the amount of C-1") as (stage, _):
        record = await stage.ends(TaskState.COMPLETED)
    assert record.answer == '["C-1",  "120.50"]'
    text = "What is the amount of C-1?"
    rounds = (events(understood((text, "find out")), READ), events(WRITE), answer("120.50"))
    async with orchestrated(*rounds, text=text) as (stage, brain):
        record = await stage.ends(TaskState.COMPLETED, [])
    assert "only asks" in dumps(brain.results[1])
    assert record.answer == "120.50\n\nNothing was written or sent."


@pytest.mark.promise("brainos.gate")
async def test_a_tool_that_nobody_has_is_refused_and_the_conversation_goes_on() -> None:
    asks = understood(("What is there on Mars?", "find out"))
    rounds = (events(asks, call("teleport", to="Mars")), *[answer("There is no such thing.")] * 2)
    async with orchestrated(*rounds, text="What is there on Mars?") as (stage, brain):
        record = await stage.run()
    assert "There is no tool named" in dumps(brain.results[0])
    assert (record.state, record.metadata["orchestrator"]) == (TaskState.COMPLETED, "brainos")
    assert record.answer == "There is no such thing.\n\nNothing was read for this answer."


@pytest.mark.promise("brainos.gate")
async def test_arguments_that_do_not_fit_reach_no_server() -> None:
    """Of a read and of a write alike: it is told why, and may ask again."""
    wrong = (events(call("get_claim", claim="C-1")), events(call("approve_claim", claim="C-1")))
    async with orchestrated(*wrong, *WHOLE) as (stage, brain):
        record = await stage.run()
    assert ["do not fit" in dumps(results) for results in brain.results[:2]] == [True, True]
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("brainos.gate")
async def test_a_write_that_is_asked_for_twice_is_made_once() -> None:
    """While it waits for the task's other part, and after it was made."""
    first, second = "Approve claim C-1 of 120.50", "tell the clerk"
    write = call("approve_claim", claim_id="C-1", _call={"part": 1})
    told = call("notify_person", text="C-1 is approved", _call={"part": 2})
    asks = understood((first, "do"), (second, "do"))
    rounds = (events(asks, READ), events(write), events(write), events(told), events(write), answer("Both are done."))
    async with orchestrated(*rounds, text=f"{first} and {second}") as (stage, brain):
        record = await stage.run()
    assert "it will be made once" in dumps(brain.results[2])
    assert (record.state, stage.claims.applied, len(stage.claims.told)) == (TaskState.COMPLETED, ["C-1"], 1)


@pytest.mark.promise("brainos.gate")
async def test_a_write_may_use_what_an_earlier_one_gives_and_is_not_made_where_policy_blocks_it() -> None:
    told = call("notify_person", _call={"from": {"text": "1.status"}})
    async with orchestrated(events(READ), events(WRITE, told), answer("Done.")) as (stage, _):
        await stage.ends(TaskState.COMPLETED)
    assert stage.claims.told == [{"text": "approved"}]
    async with orchestrated(*WHOLE) as (stage, _):
        stage.policy.says = {"blocked": True, "passed": False}
        record = await stage.ends(TaskState.REJECTED, [])
    assert record.metadata["orchestrator"] == "brainos"


@pytest.mark.promise("brainos.gate")
async def test_a_figure_without_a_source_is_asked_for_anew_and_where_none_is_found_nothing_is_written() -> None:
    """What it says is no authority: the plan is made of what it then asks for, and of nothing before."""
    invented = events(call("notify_person", text="The limit is 999.99", amount="999.99"))
    sound = call("notify_person", text="C-1 of 120.50", amount="120.50")
    async with orchestrated(events(READ), invented, events(sound), answer("Told.")) as (stage, brain):
        await stage.ends(TaskState.COMPLETED)
    assert "amount 999.99 (amount) stands neither in the task nor in a result" in dumps(brain.results[1])
    assert stage.claims.told == [{"text": "C-1 of 120.50", "amount": "120.50"}]
    async with orchestrated(*[invented] * 4) as (stage, _):
        await stage.ends(TaskState.FAILED, why="999.99")
    assert stage.claims.told == []


@pytest.mark.promise("brainos.calculates")
async def test_a_figure_that_it_had_calculated_is_a_named_value_with_its_operands_and_from_nowhere_is_none() -> None:
    """Plain figures go in; where each comes from is found, and the value can be written."""
    twice = call("calculate", name="doubled", operation="sum", operands=["120.50", "7.00"])
    told, reads = call("notify_person", text="127.5 in all"), events(READ, call("get_claim", claim_id="C-2"))
    async with orchestrated(reads, events(twice), events(told), answer("."), answer("Done.")) as (stage, brain):
        record = await stage.ends(TaskState.COMPLETED)
    assert dumps(brain.results[1]) == '[{"name":"calculate","result":{"name":"doubled","value":"127.50"}}]'
    assert (record.metadata["values"], len(stage.claims.told)) == ({"doubled": "127.50"}, 1)
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
    assert (waiting.state, heard) == (TaskState.INPUT_REQUIRED, 2)
    assert (record.state, stage.claims.applied, len(brain.heard)) == (TaskState.COMPLETED, ["C-1"], 3)
    assert len({str(heard.body["conversationId"]) for heard in brain.heard}) == 1


@pytest.mark.promise("brainos.second_turn")
async def test_what_changed_while_a_person_decided_is_told_and_it_plans_anew() -> None:
    """The claim's amount is another one by then: nothing is written on the old yes, and the new plan is asked about."""
    async with orchestrated(*WHOLE[:2], *WHOLE) as (stage, brain):
        stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
        await stage.run()
        stage.claims.rows["C-1"]["amount"] = "130.00"
        asked = await stage.run(decision("approve"))
        record = await stage.run(decision("approve", turn_id="turn-3"))
    assert (asked.state, record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, TaskState.COMPLETED, ["C-1"])
    assert "changed since the plan was approved" in dumps(brain.results[1])
    assert "130.00" in dumps(brain.results[2])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.bounded")
async def test_one_that_comes_to_no_end_is_stopped() -> None:
    """It counts as not available; where nobody else is listed the task fails."""
    async with orchestrated(*[events(READ)] * 3, by=(BRAINOS,)) as (stage, brain):
        stage.limits = stage.limits._replace(iterations=3)
        record = await stage.run()
    assert (record.state, len(brain.heard)) == (TaskState.FAILED, 3)
    assert "without an end" in str(record.reason)


@pytest.mark.promise("brainos.masked")
async def test_what_the_guard_marks_is_kept_from_it_and_put_back_in_what_it_asks_for() -> None:
    text = "Tell the clerk about claim C-1, paid by card 4111 1111 1111 1111"
    secret = call("notify_person", text="card PROTECTED_CARD_1Z")
    async with orchestrated(events(READ), events(secret), answer("."), answer("Told."), text=text) as (stage, brain):
        record = await stage.run()
    assert "4111" not in "".join(dumps(heard.body) for heard in brain.heard)
    assert (record.state, stage.claims.told) == (TaskState.COMPLETED, [{"text": "card 4111 1111 1111 1111"}])
