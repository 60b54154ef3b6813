"""The moa strategy: the reply that first proposes or answers is drafted twice; of drafts that differ one is made."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from typing_extensions import override

from services.executor.core.conversation.strategies import do_texts_agree
from services.executor.core.session.budget import Ceilings, measure_request
from shared.domain.words import TaskState
from shared.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable, Usage
from tests.doubles.scripted_model import text_reply
from tests.doubles.scripted_talk import calls_reply
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import last_said_to, moa, said_to
from tests.unit.executor.stage import APPROVE, APPROVE_2, READ, TASK, Stage, use

AGREED = "Claim C-1 of 120.50 is approved, since its receipt fits the amount and the budget has room."
REWORDED = "Claim C-1 of 120.50 is approved, since the receipt fits its amount and the budget has enough room."


def _is_doubting(request: ModelRequest) -> bool:
    return request.effort == "high"


def _is_merging(request: ModelRequest) -> bool:
    return "<drafts>" in last_said_to(request)


def _with(
    stage: Stage, doubting: Callable[[ModelReply], ModelReply], merged: Callable[[ModelReply], ModelReply] | None = None
) -> Stage:
    """What the second voice, and whoever makes one of both, say in place of the usual reply."""

    def says(request: ModelRequest) -> ModelReply:
        usual = stage.talk(request)
        if _is_doubting(request):
            return doubting(usual)
        return merged(usual) if merged and _is_merging(request) else usual

    stage.thinks = says
    return stage


def _seconds(stage: Stage) -> list[ModelRequest]:
    return [one for one in stage.model.requests if _is_doubting(one)]


def _merges(stage: Stage) -> list[ModelRequest]:
    return [one for one in stage.model.requests if _is_merging(one)]


def _answers(text: str) -> Callable[[ModelReply], ModelReply]:
    """The usual calls, and this in place of an answer."""
    return lambda usual: usual if usual.tool_uses else text_reply(text)


def _leaving() -> Stage:
    """A task whose condition is not met: it proposes nothing, and its answer is what is drafted twice."""
    stage = moa(f"{TASK} if it is overdue")
    stage.talk.rounds = [[READ, use("leave_part", part=1, because="it is not overdue", ref="r1")]]
    stage.talk.answer = "Claim C-1 of 120.50 stays open: it is not overdue."
    return stage


@pytest.mark.promise("strategy.moa", "strategy.moa.two_drafts")
@each_row("begin", [moa, _leaving])
async def test_a_second_draft_is_asked_for_once_as_soon_as_a_reply_proposes_or_answers_and_no_third_where_they_agree(
    begin: Callable[[], Stage],
) -> None:
    """It differs by its framing at the end of the last message and by its effort, and by nothing else."""
    stage = _with(begin(), _answers(REWORDED))
    stage.talk.answer = AGREED
    record = await stage.ends(TaskState.COMPLETED)
    assert str(record.answer).startswith(AGREED)
    first, (second,) = [one for one in stage.model.requests if not _is_doubting(one)][1], _seconds(stage)
    assert _merges(stage) == []
    assert (first.system, first.tools, first.tier) == (second.system, second.tools, second.tier)
    assert first.messages[:-1] == second.messages[:-1]
    assert said_to(first) != said_to(second)


@pytest.mark.promise("strategy.moa.two_drafts")
async def test_a_task_that_took_a_reply_of_its_own_for_a_figure_or_a_part_has_no_second_draft() -> None:
    """No task takes more than one call beyond its work."""
    counted, parted = moa(), moa(f"{TASK}. Tell the clerk if it is overdue")
    counted.talk.rounds.insert(1, [use("calculate", name="sum", operation="sum", operands=["120.50"])])
    parted.talk.parts = [(TASK, "do"), ("Tell the clerk if it is overdue", "do")]
    left = use("leave_part", part=2, because="it is not overdue", ref="r1")
    parted.talk.rounds = [[READ], [use("approve_claim", 1, claim_id="C-1")], [left]]
    for stage in (counted, parted):
        await stage.ends(TaskState.COMPLETED, ["C-1"])
        assert _seconds(stage) == []


@pytest.mark.promise("strategy.moa.synthesis")
async def test_answers_that_diverge_become_one_made_of_both() -> None:
    other = "Claim C-1 of 210.50 stays open: it is not overdue."
    stage = _with(_leaving(), _answers(other), _answers("C-1 of 120.50 is not overdue."))
    record = await stage.run()
    (merged,) = _merges(stage)
    assert str(record.answer).startswith("C-1 of 120.50 is not overdue.")
    assert stage.talk.answer in last_said_to(merged)
    assert other in last_said_to(merged)


@pytest.mark.promise("strategy.moa.synthesis", "strategy.obeys_the_gate")
async def test_drafts_that_propose_other_writes_diverge_and_only_the_chosen_reply_is_carried_out() -> None:
    stage = _with(moa(), lambda usual: calls_reply([APPROVE_2], 9) if usual.tool_uses else usual)
    more = _with(moa(), lambda _: calls_reply([APPROVE_2, APPROVE], 9), lambda usual: usual)
    await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert len(_merges(stage)) == 1
    assert all("C-2" not in entry.arguments_json for entry in stage.turns.writes.values())
    assert "C-2" not in "".join(str(message) for message in stage.model.requests[-1].messages)
    await more.run()
    assert more.claims.applied == ["C-1"]


@pytest.mark.promise("I9.moa")
@each_row(
    ("steady", "doubting", "merged", "answer"),
    ('["C-1", "open"]', '["C-1", "open"]', "", '["C-1", "open"]'),
    ('["C-1", "open"]', '["C-1","open"]', '["open",  "C-1"]', '["open",  "C-1"]'),
    ('["C-1"]', "Only C-1.", '[ "C-1"]', '[ "C-1"]'),
)
async def test_a_list_is_agreed_to_the_byte_or_synthesized_and_never_touched(
    steady: str, doubting: str, merged: str, answer: str
) -> None:
    stage = _with(_leaving(), _answers(doubting), _answers(merged))
    stage.talk.form, stage.talk.answer = "list", steady
    assert (await stage.run()).answer == answer


@pytest.mark.promise("strategy.moa.budget")
@each_row("tokens", range(8_500, 40_000, 3_500))
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
        reply, size = await self._model.complete(request), measure_request(request)
        return reply._replace(usage=Usage(size.total, request.max_tokens))


@pytest.mark.promise("strategy.moa.one_away")
@each_row("is_away", [_is_doubting, _is_merging])
async def test_where_another_draft_cannot_be_had_the_first_one_is_taken(
    is_away: Callable[[ModelRequest], bool],
) -> None:
    """A replay goes the same way without asking anybody."""
    stage = moa()

    def says(request: ModelRequest) -> ModelReply:
        if is_away(request):
            raise ModelUnavailable("overloaded")
        usual = stage.talk(request)
        return usual if usual.tool_uses or not _is_doubting(request) else text_reply("Nothing was approved.")

    stage.thinks = says
    record = await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert str(record.answer).startswith(stage.talk.answer)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("strategy.same_replay")
@each_row("die_before", range(1, 24, 2))
async def test_a_run_that_dies_on_the_way_ends_the_same_and_is_replayed(die_before: int) -> None:
    stage = _with(moa(), _answers("no 7"), _answers("C-1 is approved."))
    await stage.survives(die_before)
    assert stage.claims.applied == ["C-1"]
    assert (await replayed(stage)).difference == ""


FIRST = "Claim EXP-7 of 1,200.00 is approved because the receipt fits its amount."


@pytest.mark.promise("strategy.moa.consensus")
@each_row(
    ("second", "agrees"),
    ("Claim EXP-7 of $1200 is approved, because its amount fits the receipt.", True),
    ("Claim EXP-7 of 1,300.00 is approved because the receipt fits its amount.", False),
    ("Claim EXP-8 of 1,200.00 is approved because the receipt fits its amount.", False),
    ("Claim EXP-7 of 1,200.00 is not approved because the receipt fits its amount.", False),
    ("EXP-7, 1,200.00: rejected, budget exhausted, manager informed.", False),
)
def test_most_words_and_every_figure_and_identifier_and_denial_must_agree(second: str, agrees: bool) -> None:
    assert do_texts_agree(FIRST, second) is agrees


@pytest.mark.promise("strategy.moa.consensus")
def test_seven_of_ten_words_are_enough_and_stop_words_count_for_nothing() -> None:
    same = "alpha beta gamma delta epsilon zeta eta"
    assert do_texts_agree(f"the {same} theta", f"of {same} iota kappa")
    assert not do_texts_agree(f"the {same} theta mu", f"of {same} iota kappa")


@given(st.text(max_size=60), st.text(max_size=60))
def test_consensus_does_not_depend_on_the_order(first: str, second: str) -> None:
    assert do_texts_agree(first, second) is do_texts_agree(second, first)
