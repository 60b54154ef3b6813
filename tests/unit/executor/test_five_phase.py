"""The five_phase strategy: all reads named first and made at once, one synthesis, ARTIFACT as a request of its own."""

import asyncio

import pytest

from services.executor.ports.models import ModelReply, ModelRequest, ModelUnavailable, Tier
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_model import state_of, text_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import asked_in, five_phase, last_said_to, said_to, survived
from tests.unit.executor.stage import APPROVE, READ

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
    assert asked[:5] == ["", "", "", "", "ARTIFACT"]
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


@pytest.mark.promise("strategy.tiers")
async def test_its_artifact_is_haikus_and_sees_what_became_of_the_writes() -> None:
    stage = five_phase()
    stage.talk.helpers["artifact"] = text_reply(DONE)
    await stage.run()
    (asked,) = asked_in(stage, "ARTIFACT")
    assert (asked.tier, asked.tools) == (Tier.HAIKU, ())
    assert '"status":"verified"' in last_said_to(asked)


@pytest.mark.promise("strategy.findings_in_plan")
async def test_the_artifact_sees_the_draft_and_what_was_read() -> None:
    stage = five_phase()
    await stage.run()
    (asked,) = asked_in(stage, "ARTIFACT")
    assert "Claim C-1 of 120.50 is approved." in last_said_to(asked)
    assert '"tool":"get_claim"' in last_said_to(asked)


def _away(_request: ModelRequest) -> ModelReply:
    raise ModelUnavailable("overloaded")


@pytest.mark.promise("strategy.five_phase")
@pytest.mark.parametrize(
    "artifact",
    [text_reply(""), text_reply("Claim")._replace(stop_reason="max_tokens"), _away],
    ids=("empty", "cut", "away"),
)
async def test_without_a_usable_artifact_the_last_words_of_the_conversation_are_the_answer(artifact: object) -> None:
    stage = five_phase()
    stage.talk.helpers["artifact"] = artifact  # type: ignore[assignment]  # a reply, or what makes one
    record = await stage.run()
    assert record.state is TaskState.COMPLETED
    assert str(record.answer).startswith("Claim C-1 of 120.50 is approved.")
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("I9.exact_answers")
@pytest.mark.parametrize(("artifact", "answer"), [('[ "C-1"]', '[ "C-1"]'), ("Only C-1.", '["C-1"]')])
async def test_an_artifact_that_is_no_list_takes_the_place_of_none(artifact: str, answer: str) -> None:
    stage = five_phase()
    stage.talk.form, stage.talk.answer = "list", '["C-1"]'
    stage.talk.helpers["artifact"] = text_reply(artifact)
    assert (await stage.run()).answer == answer


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
