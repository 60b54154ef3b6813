"""I7: what runs is what was approved, by someone who may, in time, on inputs that still hold; and what crosses it."""

import asyncio
from datetime import timedelta

import pytest
from typing_extensions import override

from services.executor.ports.services import PolicyUnavailable
from services.executor.ports.tools import ToolUnreachable
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.task import Principal, Turn
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role, TaskState, ToolClass
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import ScriptedModel, text_reply
from tests.doubles.scripted_talk import results_in
from tests.each_row import each_row
from tests.unit.executor.stage import (
    APPROVE,
    APPROVE_2,
    CLERK,
    READ,
    RealPolicy,
    Stage,
    cancel,
    deadline,
    decision,
    message,
    schema,
    use,
)
from tests.unit.executor.test_session_rules import asks_about_the_second_plan

WAITS, DONE, NO = TaskState.INPUT_REQUIRED, TaskState.COMPLETED, TaskState.REJECTED


class _AwayLater(RealPolicy):
    """A policy service that is away once the task's second plan is to be judged."""

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        if any(call.fields.get("claim_id") == "C-2" for call in request.calls):
            raise PolicyUnavailable("the policy service cannot be reached")
        return await super().evaluate(request)


class _EndlessModel(ScriptedModel):
    """Says when it is asked, and never answers."""

    def __init__(self, asked: asyncio.Event) -> None:
        super().__init__(lambda _: text_reply(""))
        self._asked = asked

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        self._asked.set()
        await asyncio.Event().wait()
        return await super().complete(request)


async def _waiting(hours: float = 0) -> Stage:
    """A task that waits for a manager, and so many hours later."""
    stage = Stage()
    stage.policy.says = {"requires_approval": True, "escalation_level": "manager"}
    await stage.ends(WAITS, [], says='approve_claim(claim_id="C-1")')
    stage.turns.ahead = timedelta(hours=hours)
    return stage


@pytest.mark.promise("I7.approval_over_two_turns")
async def test_an_approved_plan_is_carried_out_in_the_second_turn_and_a_second_decision_finds_the_task_ended() -> None:
    stage = await _waiting()
    end = stage.turns.ends[-1]
    assert (end.timer is not None, end.outcome) == (True, None)
    record = await stage.ends(DONE, ["C-1"], decision("approve"))
    assert record.metadata["approval"] == "approved by boss"
    await stage.ends(DONE, ["C-1"], decision("reject", turn_id="turn-3"))


@pytest.mark.promise("I7.expiry_means_no", "I7.needs_no_tools", "task.cancel")
@each_row("servers_are_down", [False, True])
@each_row(
    ("turn", "hours", "state", "why", "says"),
    (decision("reject"), 0, NO, "rejected by boss; nothing was written", ""),
    (deadline(), 25, NO, "no decision before", ""),
    (decision("approve"), 25, WAITS, "", ""),
    (deadline(), 0, WAITS, "", ""),
    (message("any news?", "turn-2"), 0, WAITS, "", "exactly 'approve' or 'reject'"),
    (cancel(), 0, TaskState.CANCELED, "", "canceled by clerk"),
)
async def test_what_is_no_yes_in_time_writes_nothing_and_needs_no_tool_server(
    turn: Turn, hours: float, state: TaskState, why: str, says: str, servers_are_down: bool
) -> None:
    stage = await _waiting(hours)
    if servers_are_down:
        stage.servers.go_down("office")
    await stage.ends(state, [], turn, why=why, says=says)


@pytest.mark.promise("I7.expiry_means_no")
async def test_a_yes_that_was_accepted_in_time_counts_although_it_is_heeded_after_the_deadline() -> None:
    stage = await _waiting(25)
    await stage.worker.run(stage.turns.work(decision("approve"))._replace(waited_us=7_200_000_000), stage.turns)
    assert (stage.turns.record.state, stage.claims.applied) == (DONE, ["C-1"])


async def test_a_task_whose_earlier_plan_wrote_does_not_say_that_nothing_was_written() -> None:
    """Its second plan is rejected or cannot be judged: who approves and who asked is told of the first one's write."""
    stage, unjudged = asks_about_the_second_plan(), asks_about_the_second_plan()
    waiting = await stage.run()
    rejected = await stage.run(decision("reject"))
    assert (rejected.state, rejected.reason) == (NO, "rejected by boss; nothing more was written")
    assert all('approve_claim {"claim_id":"C-1"}: verified' in (one.answer or "") for one in (waiting, rejected))
    unjudged.policy = _AwayLater()
    await unjudged.ends(TaskState.FAILED, ["C-1"], why="so nothing more was written")


@pytest.mark.promise("I7.who_may_decide")
@each_row(
    ("who", "why"),
    (CLERK.model_copy(update={"roles": (Role.APPROVER,), "levels": ("manager",)}), "asked for this"),
    (Principal(id="bystander"), "role approver"),
    (Principal(id="boss", roles=(Role.APPROVER,), levels=("hr",)), "level manager"),
)
async def test_a_decision_by_someone_who_may_not_make_it_does_not_count(who: Principal, why: str) -> None:
    stage = await _waiting()
    await stage.ends(WAITS, [], decision("approve", who), why=why)
    await stage.ends(DONE, ["C-1"], decision("approve", turn_id="turn-3"))


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_inputs_that_changed_since_the_approval_reopen_the_gate() -> None:
    """A yes to the earlier question does not answer the new one."""
    stage = await _waiting()
    first = stage.turns.record.metadata["approval_id"]
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.ends(WAITS, [], decision("approve"), says="changed")
    assert "not made" in results_in(stage.model.requests[-2])[-1].content
    assert "999.00" in results_in(stage.model.requests[-1])[-1].content
    late = decision("approve", turn_id="late").model_copy(
        update={"data": {"decision": "approve", "approval_id": first}}
    )
    await stage.ends(WAITS, [], late, why="earlier question")
    await stage.ends(DONE, ["C-1"], decision("approve", turn_id="turn-3"))


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_a_value_that_stands_nowhere_any_more_reopens_the_gate_though_the_question_has_it() -> None:
    """The question lists the calls, and is no source of what stands in them."""
    stage, payee = Stage("Pay claim C-1 of 120.50"), {"id": "P-1", "iban": "NL91ABNA0417164300"}
    stage.policy = RealPolicy()
    stage.change_tenant(unruled_writes="approve")
    stage.servers.add("get_payee", lambda _: {"payee": {**payee}})
    stage.servers.add("pay_claim", stage.claims.approve, ToolClass.CHANGE, schema("claim_id", "iban"))
    stage.talk.rounds = [[READ, use("get_payee")], [use("pay_claim", claim_id="C-1", iban=payee["iban"])]]
    await stage.ends(WAITS, [], says=payee["iban"])
    payee["iban"] = "NL02ABNA0123456789"
    await stage.ends(TaskState.FAILED, [], decision("approve"), why="not made")  # nothing new is proposed
    told = [one.content for request in stage.model.requests for one in results_in(request)]
    assert any("what the plan rests on changed since it was approved: iban" in one for one in told)


@pytest.mark.promise("I7.changed_inputs_reopen")
async def test_inputs_that_change_while_the_worker_is_dead_reopen_the_gate() -> None:
    stage, reads = await _waiting(), list[JsonObject]()

    def dies_at_the_second(given: JsonObject) -> Json:
        reads.append(given)
        if len(reads) == 2:  # the inputs have been read again, the write has not begun
            raise Died
        return stage.claims.get(given)

    stage.servers.add("get_claim", dies_at_the_second)
    with pytest.raises(Died):
        await stage.run(decision("approve"))
    stage.servers.add("get_claim", stage.claims.get)
    stage.claims.rows["C-1"]["amount"] = "999.00"
    await stage.ends(WAITS, [], decision("approve"), attempts=2)


@pytest.mark.promise("I7.tenant_asks", "launcher.unruled_writes")
async def test_a_tenant_may_want_an_approval_for_every_write_without_a_rule() -> None:
    stage = Stage()
    stage.change_tenant(unruled_writes="approve")
    await stage.ends(WAITS, [], says="no rule applies to approve_claim")


@pytest.mark.promise("I7.approval_over_two_turns")
async def test_a_yes_counts_although_the_worker_died_over_a_message_before_it() -> None:
    stage = await _waiting()
    await stage.dies(stage.turns.stored, message("any news?", "turn-m"))
    await stage.ends(DONE, ["C-1"], decision("approve"))


@pytest.mark.promise("I1.gate_in_every_state")
async def test_a_read_that_has_become_a_write_is_not_repeated_as_a_read() -> None:
    stage = await _waiting()
    stage.servers.add("get_claim", stage.claims.get, ToolClass.CHANGE)
    await stage.ends(TaskState.FAILED, [], decision("approve"))
    assert stage.servers.called("get_claim") == [READ[1]]


@pytest.mark.promise("task.cancel")
async def test_a_running_task_stops_before_its_next_call() -> None:
    stage = Stage()
    stage.turns.cancel = cancel()
    await stage.ends(TaskState.CANCELED, [])
    assert stage.model.requests == []


@pytest.mark.promise("task.cancel")
async def test_a_cancel_need_not_wait_for_a_model_that_thinks_for_ever() -> None:
    stage, asked = Stage(), asyncio.Event()
    stage.model = _EndlessModel(asked)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        running = group.create_task(stage.run())
        await asked.wait()
        stage.turns.cancel = cancel()
    assert (running.result().state, stage.claims.applied) == (TaskState.CANCELED, [])


@pytest.mark.promise("task.cancel")
async def test_of_a_task_that_is_canceled_the_write_in_flight_is_settled_and_the_unsent_one_dropped() -> None:
    """The task ends canceled, and says what took hold."""
    stage = Stage("Approve claims C-1 and C-2", [READ], [APPROVE, APPROVE_2])

    def canceled_meanwhile(given: JsonObject) -> Json:
        stage.turns.cancel = cancel()
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", canceled_meanwhile, ToolClass.CHANGE)
    record = await stage.ends(TaskState.CANCELED, ["C-1"], says='Left out:\n- approve_claim {"claim_id":"C-2"}')
    assert stage.statuses == ["verified"]
    assert all(word in str(record.answer) for word in ('"C-1"', "verified"))


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_write_that_provably_was_not_sent_is_judged_anew_after_a_crash() -> None:
    stage = Stage()

    def unreachable(_: JsonObject) -> Json:
        stage.turns.die_before = stage.turns.stored + 1  # that it was not sent is stored, and then it is over
        raise ToolUnreachable("connection refused")

    stage.servers.add("approve_claim", unreachable, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    stage.turns.die_before = None
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE)
    stage.policy.says = {"passed": False, "blocked": True}
    await stage.ends(NO, [], attempts=2)
