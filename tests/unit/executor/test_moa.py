"""The moa strategy in the worker: two drafts at once, consensus, and a synthesis where they diverge."""

import asyncio
from collections.abc import Callable

import pytest
from typing_extensions import override

from services.executor.core.spend.budget import Ceilings
from services.executor.core.spend.tariff import size_of
from services.executor.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, Tier, Usage
from shared.domain.exact_json import Json
from shared.domain.words import TaskState
from tests.doubles.scripted_model import ScriptedModel, json_reply, state_of, text_reply, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import FOUND, asked_in, moa, said_to, survived
from tests.unit.executor.stage import Stage

AGREED = "Claim C-1 of 120.50 is approved, since its receipt fits the amount and the budget has room."
REWORDED = "Claim C-1 of 120.50 is approved, since the receipt fits its amount and the budget has enough room."


def drafts(steady: ModelReply, doubting: ModelReply, merged: ModelReply) -> Callable[[ModelRequest], ModelReply]:
    """What each voice says, and what is made of both."""

    def script(request: ModelRequest) -> ModelReply:
        told = said_to(request)
        return steady if "# Draft: steady" in told else doubting if "# Draft: doubting" in told else merged

    return script


def findings(text: str, *values: Json) -> ModelReply:
    return json_reply({"values": list(values), "findings": text})


@pytest.mark.promise("strategy.moa")
async def test_drafts_that_agree_are_taken_without_a_third_opinion() -> None:
    stage = moa()
    stage.scripts["complete"] = drafts(text_reply(AGREED), text_reply(REWORDED), text_reply("merged"))
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert str(record.answer).startswith(REWORDED)
    assert [len(asked_in(stage, state)) for state in ("CONCLUDE", "COMPLETE")] == [2, 2]


@pytest.mark.promise("strategy.moa.two_drafts")
async def test_two_drafts_differ_by_framing_and_effort_and_by_nothing_else() -> None:
    stage = moa()
    await stage.run()
    for state in ("CONCLUDE", "COMPLETE"):
        first, second = asked_in(stage, state)[:2]
        assert (first.effort, second.effort) == ("low", "high")
        assert first.system[:2] == second.system[:2]
        assert first.system[2] != second.system[2]
        assert (first.messages, first.tools, first.tier) == (second.messages, second.tools, second.tier)


@pytest.mark.promise("strategy.moa.two_drafts")
async def test_both_drafts_are_under_way_at_once() -> None:
    """Each is answered only when the other one has been asked for, too."""
    stage = moa()
    meeting = _Meeting(stage.model)
    stage.model = meeting  # type: ignore[assignment]  # it answers as the stage's own does, and waits
    record = await stage.run()
    assert (record.state, meeting.met) == (TaskState.COMPLETED, 4)


class _Meeting(Model):
    """Lets a draft be answered when both have been asked for."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._pair = asyncio.Barrier(2)
        self.met = 0

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.effort is not None:
            async with asyncio.timeout(5):
                await self._pair.wait()
            self.met += 1
        return await self._model.complete(request)


@pytest.mark.promise("strategy.moa.synthesis")
async def test_answers_that_diverge_are_synthesized_by_sonnet_from_both() -> None:
    stage = moa()
    other = "Claim C-1 of 210.50 is approved."
    stage.scripts["complete"] = drafts(text_reply(AGREED), text_reply(other), text_reply("C-1 is approved: 120.50."))
    record = await stage.run()
    merged = asked_in(stage, "COMPLETE")[2]
    assert str(record.answer).startswith("C-1 is approved: 120.50.")
    assert merged.tier is Tier.SONNET
    assert AGREED in said_to(merged)
    assert other in said_to(merged)


@pytest.mark.promise("strategy.moa.synthesis")
async def test_conclusions_that_diverge_are_synthesized_by_sonnet_before_the_plan() -> None:
    stage = moa()
    yes, no = "C-1 is open and may be approved.", "C-1 is open and may not be approved."
    stage.scripts["conclude"] = drafts(findings(yes), findings(no), findings("C-1 may be approved: nothing bars it."))
    await stage.run()
    merged = asked_in(stage, "CONCLUDE")[2]
    assert merged.tier is Tier.SONNET
    assert no in said_to(merged)
    assert "nothing bars it" in said_to(asked_in(stage, "WRITE PLAN")[0])


@pytest.mark.promise("strategy.moa.synthesis")
async def test_drafts_that_come_to_different_figures_diverge_whatever_their_words() -> None:
    stage = moa()
    amount: Json = {"source": "result", "ref": "f1", "path": "amount", "literal": ""}
    once: Json = {"name": "total", "operation": "sum", "operands": [amount], "value": "120.5"}
    twice: Json = {"name": "total", "operation": "sum", "operands": [amount, amount], "value": "241"}
    stage.scripts["conclude"] = drafts(findings("fine", once), findings("fine", twice), findings("fine", once))
    record = await stage.run()
    assert len(asked_in(stage, "CONCLUDE")) == 3
    assert record.metadata["values"] == {"total": "120.5"}


@pytest.mark.promise("strategy.audited")
async def test_a_draft_whose_figures_fail_the_audit_twice_is_no_draft() -> None:
    stage = moa()
    wrong: Json = {"name": "total", "operation": "sum", "operands": [], "value": "999"}
    stage.scripts["conclude"] = drafts(findings("999", wrong), json_reply(FOUND), json_reply(FOUND))
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert [one.tier for one in asked_in(stage, "CONCLUDE")][-1] is Tier.SONNET


@pytest.mark.promise("strategy.audited")
async def test_where_both_drafts_fail_the_audit_the_task_escalates() -> None:
    stage = moa()
    wrong: Json = {"name": "total", "operation": "sum", "operands": [], "value": "999"}
    stage.scripts["conclude"] = findings("999", wrong)
    record = await stage.run()
    assert (record.metadata["escalated"], stage.claims.applied) == (True, [])


@pytest.mark.promise("I9.moa")
@pytest.mark.parametrize(
    ("steady", "doubting", "answer"),
    [
        ('["C-1", "C-2"]', '["C-1", "C-2"]', '["C-1", "C-2"]'),
        ('["C-1", "C-2"]', '["C-1","C-2"]', '["C-2",  "C-1"]'),
        ('```json\n["C-1"]\n```', '["C-1"]', '["C-1"]'),
        ('["C-1"]', "Only C-1.", '[ "C-1"]'),
    ],
)
async def test_a_list_is_agreed_to_the_byte_or_synthesized_and_never_touched(
    steady: str, doubting: str, answer: str
) -> None:
    stage = _lists(moa("List the open claims as a bare JSON list, and approve none."))
    stage.scripts["complete"] = drafts(text_reply(steady), text_reply(doubting), text_reply(answer))
    record = await stage.run()
    assert record.answer == answer
    assert len(asked_in(stage, "COMPLETE")) == (2 if steady.strip("`json\n") == doubting else 3)


def _lists(stage: Stage) -> Stage:
    stage.scripts["decompose"] = json_reply({"needs": [], "entities": [], "answer_format": "list"})
    stage.scripts["write_plan"] = json_reply({"calls": [], "why_none": "nothing is to be written"})
    return stage


@pytest.mark.promise("strategy.tiers")
async def test_its_drafts_are_haikus_and_its_plan_sonnets() -> None:
    stage = moa()
    await stage.run()
    tiers = {state_of(one): one.tier for one in stage.model.requests}
    assert (tiers["CONCLUDE"], tiers["COMPLETE"], tiers["WRITE PLAN"]) == (Tier.HAIKU, Tier.HAIKU, Tier.SONNET)


@pytest.mark.promise("strategy.obeys_the_gate")
@pytest.mark.parametrize("state", ["conclude", "complete"])
async def test_a_draft_that_asks_for_a_write_gets_nothing(state: str) -> None:
    stage = moa()
    usual = stage.scripts[state]
    sly = tool_reply(("approve_claim", {"claim_id": "C-2"}), text="C-2 is approved.")

    def script(request: ModelRequest) -> ModelReply:
        first = len(request.messages) == 1 and "# Draft: doubting" in said_to(request)
        return sly if first else usual if isinstance(usual, ModelReply) else usual(request)

    stage.scripts[state] = script
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert all(tool.name != "approve_claim" for one in stage.model.requests for tool in one.tools)


@pytest.mark.promise("strategy.moa.budget")
async def test_where_the_budget_has_no_room_for_two_drafts_one_is_made() -> None:
    stage = moa()
    stage.limits = stage.limits._replace(ceilings=Ceilings(tokens=8_300))
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert len(asked_in(stage, "COMPLETE")) == 1


@pytest.mark.promise("strategy.moa.budget")
@pytest.mark.parametrize("tokens", range(8_500, 40_000, 3_500))
async def test_two_drafts_of_the_greatest_length_stay_within_the_ceiling(tokens: int) -> None:
    stage = moa()
    stage.limits = stage.limits._replace(ceilings=Ceilings(tokens=tokens))
    stage.model = _Verbose(stage.model)  # type: ignore[assignment]  # it answers as the stage's own does
    record = await stage.run()
    spend = record.metadata["spend"]
    assert isinstance(spend, dict)
    assert int(str(spend["tokens"])) + int(str(spend["set_aside_tokens"])) <= tokens
    assert record.state in (TaskState.COMPLETED, TaskState.FAILED)
    assert (await replayed(stage)).difference == ""


class _Verbose(Model):
    """Uses every token that it is allowed."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        reply, size = await self._model.complete(request), size_of(request)
        return reply._replace(usage=Usage(size.prefix + size.messages, request.max_tokens))


@pytest.mark.promise("strategy.five_phase.insight")
async def test_whether_its_drafts_agreed_stands_in_the_outcome() -> None:
    stage = moa()
    stage.scripts["complete"] = drafts(text_reply("yes"), text_reply("no 7"), text_reply("C-1 is approved."))
    await stage.run()
    outcome = stage.turns.ends[-1].outcome
    assert outcome is not None
    assert outcome.details["insight"] == {"conclusions_agreed": True, "answer_agreed": False}


@pytest.mark.promise("strategy.moa.one_away")
@pytest.mark.parametrize("state", ["CONCLUDE", "COMPLETE"])
@pytest.mark.parametrize("voice", ["steady", "doubting"])
async def test_where_one_draft_cannot_be_had_the_other_one_is_taken(state: str, voice: str) -> None:
    """The metadata says so, and a replay goes the same way without asking anybody."""
    stage = moa()
    stage.scripts["complete"] = drafts(text_reply(AGREED), text_reply(REWORDED), text_reply("merged"))
    stage.model = _Away(stage.model, state, voice)  # type: ignore[assignment]  # it answers else as the stage's own
    record = await stage.run()
    named = {"CONCLUDE": "conclusions", "COMPLETE": "answer"}[state]
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert str(record.answer).startswith(AGREED if (state, voice) == ("COMPLETE", "doubting") else REWORDED)
    assert record.metadata["drafts_missing"] == {named: "the model did not answer: overloaded"}
    assert stage.turns.ends[-1].outcome is not None
    assert f"{named}_agreed" not in str(stage.turns.ends[-1].outcome.details["insight"])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("strategy.moa.one_away")
@pytest.mark.parametrize("state", ["CONCLUDE", "COMPLETE"])
async def test_where_no_draft_can_be_had_the_task_ends_as_without_a_model(state: str) -> None:
    stage = moa()
    stage.model = _Away(stage.model, state, "steady", "doubting")  # type: ignore[assignment]  # answers else as it
    record = await stage.run()
    assert (record.state, record.metadata["failed_part"]) == (TaskState.FAILED, "model")
    assert record.reason == "the model did not answer: overloaded"
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("strategy.moa.one_away")
@pytest.mark.parametrize("die_before", range(8, 24, 3))
async def test_a_draft_that_could_not_be_had_is_not_asked_for_again(die_before: int) -> None:
    """Whoever goes on with the run may find the model up again: what was decided stays decided."""
    stage = moa()
    away = _Away(stage.model, "CONCLUDE", "steady")
    stage.model = away  # type: ignore[assignment]  # it answers else as the stage's own
    await survived(stage, die_before)
    assert away.refused <= 2
    assert stage.claims.applied == ["C-1"]
    assert (await replayed(stage)).difference == ""


class _Away(Model):
    """Some voices are not to be had in a state."""

    def __init__(self, model: Model, state: str, *voices: str) -> None:
        self._model = model
        self._state = state
        self._voices = voices
        self.refused = 0

    @property
    def requests(self) -> list[ModelRequest]:
        return self._model.requests if isinstance(self._model, ScriptedModel) else []

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        if state_of(request) == self._state and any(f"# Draft: {one}" in said_to(request) for one in self._voices):
            self.refused += 1
            raise ModelUnavailable("overloaded")
        return await self._model.complete(request)


@pytest.mark.promise("strategy.same_replay")
@pytest.mark.parametrize("die_before", range(1, 24, 2))
async def test_a_run_that_dies_on_the_way_ends_the_same_and_is_replayed(die_before: int) -> None:
    stage = moa()
    stage.scripts["complete"] = drafts(text_reply("yes"), text_reply("no 7"), text_reply("C-1 is approved."))
    await survived(stage, die_before)
    assert stage.claims.applied == ["C-1"]
    assert (await replayed(stage)).difference == ""
