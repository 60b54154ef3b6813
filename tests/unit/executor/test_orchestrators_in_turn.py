"""The list of orchestrators: who is not available before anything was planned is passed over, and it is said."""

import asyncio

import pytest

from services.executor.core.session.context import side_by_side
from shared.contracts.allowance import CallLimit, ToolAllowance
from shared.contracts.policy import CallRefusal, ToolRule
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import Strategy, TaskState
from tests.doubles.memory_turns import Died
from tests.doubles.mock_brainos import Round, answer, call, events
from tests.doubles.scripted_talk import results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import nobody_answers
from tests.unit.executor.orchestrated import BRAINOS, LOCAL, READ, WHOLE, OrchestratedStage, orchestrated
from tests.unit.executor.stage import cancel, decision

DOWN = Round(status=500)
SILENT = Round(silence=True)


@pytest.mark.promise("brainos.falls_to_next")
@each_row("before", [(), (events(READ),)])
@each_row("strategy", [Strategy.FSM, Strategy.FIVE_PHASE])
async def test_the_local_mind_takes_over_before_anything_is_planned(
    before: tuple[Round, ...], strategy: Strategy
) -> None:
    """As if nobody had thought before; the metadata say why."""
    async with orchestrated(*before, DOWN) as (stage, _):
        stage.limits = stage.limits._replace(strategies=(strategy,))
        record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert record.metadata["orchestrator"] == "local"
    passed_over = record.metadata["orchestrators_passed_over"]
    assert "BrainOS answered 500" in str(passed_over)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.falls_to_next")
async def test_what_was_read_by_then_counts_for_rules_about_reads() -> None:
    """The local model may not read again what a rule permits once."""
    async with orchestrated(events(READ), DOWN) as (stage, _):
        limit = CallLimit(rule_id="once", policy_id="p", reason="once a session", remaining=1)
        rule = ToolRule(id="once", kind="at_most", tool="get_claim")
        stage.policy.allows = (ToolAllowance(tool="get_claim", limits=(limit,)),)
        stage.set_rules(rule)
        stage.only_asks()
        record = await stage.run()
    assert record.metadata["orchestrator"] == "local"
    (refused,) = [result for result in results_in(stage.model.requests[1]) if result.is_error]
    assert "once a session" in refused.content
    assert len(stage.servers.called("get_claim")) == 1
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.falls_to_next", "brainos.unavailable")
async def test_where_the_local_model_is_away_brainos_takes_over_and_where_nobody_else_is_listed_the_task_fails() -> (
    None
):
    async with orchestrated(*WHOLE, by=(LOCAL, BRAINOS)) as (stage, _):
        stage.model = type(stage.model)(nobody_answers)
        record = await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert record.metadata["orchestrator"] == "brainos"
    assert "overloaded" in str(record.metadata["orchestrators_passed_over"])
    assert (await replayed(stage)).difference == ""
    async with orchestrated(DOWN, by=(BRAINOS,)) as (alone, _):
        record = await alone.ends(TaskState.FAILED, why="BrainOS answered 500")
    assert record.metadata["failed_part"] == "model"


@pytest.mark.promise("brainos.falls_to_next")
@each_row(
    "rounds",
    [
        (events(READ), events(call("notify_person", text="The limit is 999.99", amount="999.99")), DOWN),
        (SILENT,),
    ],
)
async def test_where_it_is_slow_or_its_calls_make_no_plan_and_it_is_away_the_local_model_plans(
    rounds: tuple[Round, ...],
) -> None:
    """Nothing had been planned yet."""
    async with orchestrated(*rounds, seconds=0.2) as (stage, _):
        record = await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert (record.metadata["orchestrator"], stage.claims.told) == ("local", [])
    why = "did not answer within 0.2 s" if len(rounds) == 1 else "BrainOS answered 500"
    assert why in str(record.metadata["orchestrators_passed_over"])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.falls_to_next")
async def test_once_a_plan_stands_no_other_mind_plans_anew() -> None:
    """Whether it rests on what changed by the approval or was made: BrainOS is away when it is told so."""
    async with orchestrated(*WHOLE[:2], DOWN) as (stage, _):
        stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
        await stage.run()
        stage.claims.rows["C-1"]["amount"] = "130.00"
        await stage.ends(TaskState.FAILED, [], decision("approve"))
    async with orchestrated(*WHOLE[:2], DOWN) as (wrote, _):
        record = await wrote.ends(TaskState.FAILED, ["C-1"], why="BrainOS answered 500", says="approve_claim")
    assert "verified" in str(record.answer)
    assert stage.model.requests == wrote.model.requests == []
    assert (await replayed(wrote)).difference == ""


@pytest.mark.promise("brainos.gate")
async def test_a_plan_that_a_rule_refuses_is_made_anew_by_the_one_who_made_it() -> None:
    async with orchestrated(*WHOLE[:2], *[answer("Then nothing can be done.")] * 2) as (stage, brain):
        stage.policy.says, stage.policy.says_later = {"refusals": (_refusal(),)}, {}
        record = await stage.run()
    assert (record.metadata["orchestrator"], stage.claims.applied) == ("brainos", [])
    assert "never: not on Sundays" in str(brain.results[1])
    assert (record.answer or "").startswith("Then nothing can be done.")


@pytest.mark.promise("brainos.once")
@each_row("die_before", range(1, 16))
async def test_whoever_crashes_no_round_is_sent_twice_in_one_conversation(die_before: int) -> None:
    """The writes are made once. A round whose reply was lost begins a new conversation, which is told what was done."""
    async with orchestrated() as (stage, brain):
        brain.decides = _by_what_it_is_told
        await stage.survives(die_before)
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    sent = [(str(one.body["conversationId"]), str(one.body.get("toolResults"))) for one in brain.heard]
    assert len(set(sent)) == len(sent)
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.once")
async def test_a_round_whose_reply_was_lost_begins_a_new_conversation() -> None:
    """It is told the task and all that was called before, as at the beginning."""
    async with orchestrated() as (stage, brain):

        def dies_with_the_second(body: JsonObject) -> Round:
            stage.turns.die_before = 0 if len(brain.heard) == 2 else stage.turns.die_before
            return _by_what_it_is_told(body)

        brain.decides = dies_with_the_second
        with pytest.raises(Died):
            await stage.run()
        stage.turns.die_before = None
        await stage.run(attempts=2)
    ids = [str(one.body["conversationId"]) for one in brain.heard]
    assert ids == [ids[0], ids[0], *[f"{ids[0]}-2"] * 2]
    assert "get_claim" in str(brain.heard[2].body["extraParams"])
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("brainos.bounded")
async def test_a_cancel_ends_a_round_that_takes_long() -> None:
    async with orchestrated(SILENT, seconds=30) as (stage, brain):

        async def canceled() -> None:
            await brain.arrived.wait()
            stage.turns.cancel = cancel()

        async with asyncio.timeout(20):
            await side_by_side((_run(stage), canceled()))
    assert stage.turns.record.state is TaskState.CANCELED


async def _run(stage: OrchestratedStage) -> None:
    await stage.run()


def _by_what_it_is_told(body: JsonObject) -> Round:
    """One that forgets everything else: what it was told of its calls says what comes next."""
    context = dumps(body.get("extraParams")).partition("<so_far>")[2].replace("\\", "")
    known = dumps(body.get("toolResults")) + context
    if '"status":"verified"' in known:
        return WHOLE[2]
    return WHOLE[1 if "120.50" in known else 0]


def _refusal() -> CallRefusal:
    said = {"rule_id": "never", "policy_id": "p", "kind": "never", "reason": "not on Sundays"}
    return CallRefusal.model_validate({"call_id": "c1", "tool": "approve_claim", **said})
