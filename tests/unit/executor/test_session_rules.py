"""Rules about tools over one breath, one plan and one session: what was called counts wherever it was called."""

import asyncio

import pytest

from services.executor.core.session.ledger import select_calls_to_remember
from services.executor.core.turn.session_run import build_given_up_end, settle_open_writes_unread
from services.executor.ports.tools import ToolAnswer, ToolSilent
from services.executor.ports.turns import SessionCall
from shared.contracts import policy
from shared.contracts.allowance import Prohibition, ToolAllowance, counts_against_limit
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.stage import (
    APPROVE,
    APPROVE_2,
    READ,
    READ_2,
    RealPolicy,
    RealRules,
    SaidPolicy,
    Stage,
    Use,
    decision,
    message,
    use,
)
from tests.unit.executor.test_worker_doubts import listed


class _OnceInAll(SaidPolicy):
    """Refuses a tool that was called before; takes its time to say so."""

    async def evaluate(self, request: policy.EvaluateRequest) -> policy.Verdict:
        verdict = await super().evaluate(request)
        await asyncio.sleep(0)
        made = {call.tool for call in request.history if counts_against_limit(call.outcome, successes_only=False)}
        refused = tuple(_once_only(call) for call in request.calls if call.tool in made)
        return verdict.model_copy(update={"refusals": refused, "passed": not refused})


def _once_only(call: policy.CallContext) -> policy.CallRefusal:
    return policy.CallRefusal(
        call_id=call.call_id, tool=call.tool, rule_id="ONCE", policy_id="p", kind="at_most", reason="once only"
    )


def _play(rule: policy.ToolRule, text: str = "Approve claim C-1 of 120.50") -> Stage:
    play = Stage(text)
    play.policy = _OnceInAll()
    play.set_rules(rule)
    return play


@pytest.mark.promise("tools.reads_under_rules")
async def test_two_reads_asked_for_in_one_breath_under_a_shared_limit_are_one_read() -> None:
    """Each call has a verdict of its own there; the second is asked for while the first is, and counts it."""
    play = _play(policy.ToolRule(id="ONCE", kind="at_most", tool="get_*"), "Which claims are open?")
    play.policy.allows = (ToolAllowance(tool="get_claim", ask=True),)
    play.only_asks()
    play.talk.rounds = [[READ, READ_2]]
    await play.run()
    assert play.servers.called("get_claim") == [READ[1]]


async def test_a_persons_yes_to_the_plan_is_the_confirmation_that_a_rule_wants() -> None:
    play = _play(policy.ToolRule(id="YES", kind="only_after_confirmation", tool="approve_claim", level="manager"))
    play.policy = RealPolicy()
    await play.ends(TaskState.INPUT_REQUIRED, [])

    await play.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))


def _silent(_: JsonObject) -> Json:
    raise ToolSilent("no answer")


@pytest.mark.promise("tools.once_beside_a_doubt")
async def test_a_write_in_doubt_counts_for_other_tasks_of_the_session() -> None:
    """The first task waits for an operator; the second may not make the call that may have been made."""
    rule = policy.ToolRule(id="ONCE", kind="at_most", tool="approve_claim")
    first = _play(rule)
    first.servers.add("approve_claim", _silent, ToolClass.CHANGE)
    first.servers.add("get_claim", lambda _: ToolAnswer({"error": "away"}, is_error=True), ToolClass.READ)
    waiting = await first.run()
    second = _play(rule)
    second.turns.record = second.turns.record.model_copy(update={"task_id": "task-2"})
    second.turns.remembered = await first.turns.read_session()
    refused = await second.run()
    assert (waiting.state, refused.state, second.claims.applied) == ("input-required", "failed", [])
    assert "ONCE: once only" in (refused.reason or "")
    assert (await second.turns.read_session()).calls == (
        SessionCall("approve_claim", "unknown", '{"claim_id":"C-1"}', open_task="task-1"),
    )


_ONCE = policy.ToolRule(id="ONCE", kind="at_most", tool="approve_claim", per=("claim_id",))


async def _next_task(first: Stage) -> TaskRecord:
    """The end of the session's next task, which makes the same call at the same servers."""
    second = _play(_ONCE)
    second.policy = RealPolicy()
    second.servers.add("approve_claim", first.claims.approve, ToolClass.CHANGE)
    second.turns.record = second.turns.record.model_copy(update={"task_id": "task-2"})
    second.turns.remembered = await first.turns.read_session()
    return await second.run()


def asks_about_the_second_plan() -> Stage:
    """A task that approves one claim in its first plan and asks a person about another in its second."""
    ask = policy.Rule(id="ASK", condition='claim_id == "C-2"', action="require_approval", level="manager")
    play = _play(_ONCE, "Approve claims C-1 and C-2")
    play.judge_by(ask, _ONCE)
    play.talk.rounds = [[READ, READ_2], [APPROVE], [APPROVE_2]]
    return play


@pytest.mark.promise("tools.once_only")
async def test_what_a_task_wrote_counts_for_others_of_its_session_while_it_waits_for_an_approval() -> None:
    first = asks_about_the_second_plan()
    waiting = await first.run()
    refused = await _next_task(first)
    assert (waiting.state, refused.state, first.claims.applied) == ("input-required", "failed", ["C-1"])
    assert [(one["tool"], one["status"]) for one in listed(waiting, "writes")] == [("approve_claim", "verified")]


@pytest.mark.promise("tools.once_beside_a_doubt")
@each_row("looked", [True, False])
async def test_what_a_task_wrote_counts_for_others_of_its_session_when_its_turn_is_given_up(looked: bool) -> None:
    first, turn = _play(_ONCE), message("Approve claim C-1 of 120.50")

    def dies(given: JsonObject) -> Json:
        first.claims.approve(given)
        raise Died

    first.servers.add("approve_claim", dies, ToolClass.CHANGE)
    with pytest.raises(Died):
        await first.run(turn)
    work = first.turns.work(turn, attempts=6)
    if looked:
        await first.worker.settle_open_writes(work, first.turns)
    await settle_open_writes_unread(work, first.turns, "nobody could read")
    end = await build_given_up_end(work, first.turns, 5)
    await first.turns.finish(end)
    refused = await _next_task(first)
    assert (end.record.state, refused.state) == ("failed" if looked else "input-required", "failed")
    assert first.claims.applied == ["C-1"]


async def test_a_tasks_own_calls_are_told_once_however_many_turns_it_has() -> None:
    """What it called before it waited does not stand beside its dossier, and is no open task's once it has ended."""
    play = _play(policy.ToolRule(id="ONCE", kind="at_most", tool="get_claim"))
    play.turns.remembered = play.turns.remembered._replace(
        calls=(SessionCall("get_claim", "succeeded", '{"claim_id":"C-1"}', open_task="task-1"),)
    )
    play.policy = SaidPolicy()
    await play.run(message(play.turns.record.request.text))
    binding = next(request for request in play.policy.asked if request.calls)
    assert [call.tool for call in binding.history] == ["get_claim"]
    assert (await play.turns.read_session()).calls == (SessionCall("get_claim", "succeeded", '{"claim_id":"C-1"}'),)


@pytest.mark.promise("tools.only_after")
async def test_a_read_that_answers_with_an_error_opens_no_way() -> None:
    """Many servers say so in the answer alone. It counts against a limit all the same."""
    play = _play(policy.ToolRule(id="LOOK", kind="only_after", tool="approve_claim", after=("get_claim",)))
    play.servers.add("get_claim", lambda _: {"found": False, "error": "no such claim"}, ToolClass.READ)
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert {(call.tool, call.outcome.value) for call in binding.history} == {("get_claim", "unknown")}


@pytest.mark.promise("tools.reads_under_rules")
async def test_a_tool_that_must_not_be_called_proves_no_write_either() -> None:
    """Nothing is read back, and the write is said to be unproved."""
    play = _play(policy.ToolRule(id="PRIVATE", kind="never", tool="get_claim"))
    bar = Prohibition(rule_id="PRIVATE", policy_id="p", reason="claims are not looked at")
    play.policy.allows = (ToolAllowance(tool="get_claim", bars=(bar,)),)
    record = await play.run()
    assert (record.state, play.claims.applied, play.statuses) == ("completed", ["C-1"], ["unverified"])
    assert play.servers.called("get_claim") == []


RECEIPT = use("get_receipt", claim_id="C-1")


def _then_reads(read: Use, rule: policy.ToolRule, *rules: policy.Rule) -> Stage:
    """A task that approves a claim and reads something afterwards, under the policy service's own rules."""
    play = _play(rule, "Approve claim C-1 of 120.50 and read its receipt")
    play.policy = RealRules()
    play.set_rules(*rules, rule)
    play.servers.add("get_receipt", lambda _: {"receipt_id": "R-1", "claim_id": "C-1"}, ToolClass.READ)
    play.talk.rounds = [[READ], [APPROVE], [read]]
    return play


@pytest.mark.promise("tools.only_after", "tools.reads_under_rules")
async def test_a_read_that_may_only_follow_a_write_is_made_after_it_and_a_limit_that_both_share_counts_the_write() -> (
    None
):
    after = policy.ToolRule(id="PAID", kind="only_after", tool="get_receipt", after=("approve_claim",))
    play, limited = _then_reads(RECEIPT, after), _then_reads(READ_2, _TWO)
    for one in (play, limited):
        await one.run()
        assert one.claims.applied == ["C-1"]
    assert play.servers.called("get_receipt") == [RECEIPT[1]]
    assert READ_2[1] not in limited.servers.called("get_claim")


_TWO = policy.ToolRule(id="TWO", kind="at_most", tool="*_claim", limit=2)


@pytest.mark.promise("tools.reads_under_rules")
async def test_what_others_of_the_session_called_while_a_task_waited_counts_for_its_reads() -> None:
    ask = policy.Rule(id="ASK", condition='tool == "approve_claim"', action="require_approval", level="manager")
    play = _then_reads(RECEIPT, policy.ToolRule(id="ONCE", kind="at_most", tool="get_receipt"), ask)
    waiting = await play.run()
    read = SessionCall("get_receipt", "succeeded", '{"claim_id":"C-2"}')
    play.turns.remembered = (await play.turns.read_session())._replace(calls=(read,))
    await play.run(decision("approve"))
    assert (waiting.state, play.claims.applied) == (TaskState.INPUT_REQUIRED, ["C-1"])
    assert play.servers.called("get_receipt") == []


@pytest.mark.promise("tools.once_only")
def test_many_reads_do_not_make_a_session_forget_a_write() -> None:
    """What a session remembers is bounded, and shared out between the tools."""
    write = SessionCall("approve_claim", "succeeded", '{"claim_id":"C-1"}')
    read = policy.PastCall(tool="get_claim", outcome=policy.CallOutcome.SUCCEEDED)
    kept = select_calls_to_remember((write,), [read] * 2_000, ("*",), "task-1", has_ended=True)
    assert (len(kept), kept[0]) == (500, write)


_RULES = {
    "at most 1 call of approve_claim with the same claim_id: once only": policy.ToolRule(
        id="T1", kind="at_most", tool="approve_claim", per=("claim_id",), reason="once only"
    ),
    "at most 3 successful calls of approve_*": policy.ToolRule(
        id="T2", kind="at_most", tool="approve_*", limit=3, counting="successes"
    ),
    "approve_claim only after get_claim or list_claims with the same claim_id": policy.ToolRule(
        id="T3", kind="only_after", tool="approve_claim", after=("get_claim", "list_claims"), per=("claim_id",)
    ),
    "approve_claim only when amount < 500": policy.ToolRule(
        id="T4", kind="only_when", tool="approve_claim", condition="amount < 500"
    ),
    "approve_claim only after confirmation by manager": policy.ToolRule(
        id="T5", kind="only_after_confirmation", tool="approve_claim", level="manager"
    ),
}


@each_row("said", _RULES)
async def test_a_rule_about_a_tool_stands_before_the_model_with_its_limit_and_what_has_to_agree(said: str) -> None:
    stage = Stage()
    others = tuple(
        policy.ToolRule(id=f"N{place}", kind="never", tool="get_claim", reason="x" * 200) for place in range(3)
    )
    stage.set_rules(*others, _RULES[said])
    await stage.run()
    assert f"- {said}" in texts_in(stage.model.requests[0])
