"""The five_phase strategy: all reads named first and made at once, one synthesis, ARTIFACT as a request of its own."""

import asyncio

import pytest

from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import Tier
from tests.doubles.scripted_model import state_of, text_reply
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.deliberating import asked_in, five_phase, last_said_to, said_to
from tests.unit.executor.stage import APPROVE, READ, TASK

ANY: JsonObject = {"type": "object"}
DONE = "Claim C-1 of 120.50 is approved, and verified."


@pytest.mark.promise("strategy.five_phase")
async def test_it_names_its_reads_gathers_synthesizes_proposes_and_writes_its_artifact() -> None:
    stage = five_phase()
    stage.talk.rounds = [[READ], [("get_claim", {"claim_id": "C-2"})], [APPROVE]]
    stage.talk.helpers["artifact"] = text_reply(DONE)
    record = await stage.run()
    asked = [state_of(one) for one in stage.model.requests]
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert asked == ["", "", "", "ARTIFACT"]  # it takes the place of the conversation's last reply
    assert "Name now, in one reply, every other read" in said_to(stage.model.requests[1])
    assert "propose all writes in one reply" in said_to(stage.model.requests[2])
    assert str(record.answer).startswith(DONE)
    assert (record.metadata["strategy"], record.metadata["strategy_fell_back"]) == ("five_phase", None)


@pytest.mark.promise("strategy.five_phase.at_once")
async def test_reads_of_one_reply_are_under_way_at_once() -> None:
    """Each of the eight answers only when all eight have been asked for."""
    stage, everybody = five_phase(), asyncio.Barrier(8)

    async def meets(given: JsonObject) -> Json:
        async with asyncio.timeout(5):
            await everybody.wait()
        return {"number": given["number"]}

    stage.limits = stage.limits._replace(tool_seconds=5)
    stage.servers.add("get_row", meets, ToolClass.READ, ANY)
    stage.talk.rounds = [[READ], [("get_row", {"number": number}) for number in range(8)], [APPROVE]]
    record = await stage.run()
    assert (record.state, record.metadata["tool_calls"]) == (TaskState.COMPLETED, 10)


@pytest.mark.promise("strategy.tiers", "strategy.findings_in_plan")
async def test_its_artifact_is_haikus_and_sees_what_was_read_and_what_became_of_the_writes() -> None:
    stage = five_phase()
    stage.talk.helpers["artifact"] = text_reply(DONE)
    await stage.run()
    (asked,) = asked_in(stage, "ARTIFACT")
    assert (asked.tier, asked.tools) == (Tier.SMALL, ())
    for part in ('"status":"verified"', '"tool":"get_claim"', '"amount":"120.50"'):
        assert part in last_said_to(asked)


@pytest.mark.promise("strategy.five_phase")
@each_row(
    "artifact",
    text_reply(""),
    text_reply("Claim")._replace(stop_reason="max_tokens"),
    text_reply("C-1 of 99.90 is done."),
    nobody_answers,
)
async def test_without_a_usable_artifact_the_last_words_of_the_conversation_are_the_answer(artifact: object) -> None:
    stage = five_phase()
    stage.talk.helpers["artifact"] = artifact  # type: ignore[assignment]  # a reply, or what makes one
    record = await stage.ends(TaskState.COMPLETED)
    assert str(record.answer).startswith("Claim C-1 of 120.50 is approved.")
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("I9.exact_answers", "strategy.five_phase")
async def test_a_list_what_is_asked_besides_and_a_write_that_failed_are_answered_by_the_conversation() -> None:
    """The list to the byte."""
    listing, asking, failing = five_phase(), five_phase(f"{TASK}. What is its status?"), five_phase()
    listing.talk.form, listing.talk.answer = "list", '[ "C-1"]'
    listing.talk.helpers["artifact"] = text_reply('["C-1"]')
    asking.talk.parts = [(TASK, "do"), ("What is its status?", "find out")]
    locked = ToolAnswer("The claim is locked.", is_error=True)
    failing.servers.add("approve_claim", lambda _: locked, ToolClass.CHANGE, ANY)
    for stage in (listing, asking, failing):
        await stage.run()
        assert asked_in(stage, "ARTIFACT") == []
    assert listing.turns.record.answer == '[ "C-1"]'


@pytest.mark.promise("strategy.five_phase.insight")
async def test_its_insight_is_an_event_stored_with_the_end_of_the_turn() -> None:
    """Nothing of it is stored before, and nothing runs after."""
    stage = five_phase()
    await stage.run()
    end = stage.turns.ends[-1]
    (insight,) = (event.data for event in end.events if event.kind == "insight")
    assert (insight["reads"], insight["helpful_tools"], insight["writes"]) == (1, ["get_claim"], ["approve_claim"])
    assert not any(event.kind == "insight" for event in stage.turns.events[: -len(end.events)])


@pytest.mark.promise("strategy.same_replay")
@each_row("die_before", range(1, 18, 2))
async def test_a_run_that_dies_on_the_way_ends_the_same_and_is_replayed(die_before: int) -> None:
    stage = five_phase()
    await stage.survives(die_before)
    assert stage.claims.applied == ["C-1"]
    assert (await replayed(stage)).difference == ""
