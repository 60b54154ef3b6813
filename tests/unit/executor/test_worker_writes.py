"""A write's whole life in the worker: verdict, intent, call, proof, and what is said of it."""

import time

import pytest
from typing_extensions import override

from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from services.executor.ports.turns import NOTHING, JournalBatch, Pulse
from shared.contracts.ledger import LedgerEntry
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import MemoryTurns
from tests.doubles.scripted_talk import results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage


async def test_a_write_is_applied_once_read_back_and_reported_as_verified() -> None:
    stage = Stage()
    stage.talk.process = "dispute_resolution"
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], says="verified")
    assert stage.statuses == ["verified"]
    assert record.metadata["states"] == [
        "DECOMPOSE", "ASSESS", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "COMPLETE",
    ]  # fmt: skip


async def test_an_ended_task_says_when_it_was_begun() -> None:
    """The store's clock goes on with each step."""
    record = await Stage().run()
    assert record.started_at is not None
    assert record.accepted_at <= record.started_at < record.updated_at


@pytest.mark.promise("I2.no_verdict_no_write")
@each_row("fails_from", [1, 2])
async def test_without_a_fresh_verdict_nothing_is_written(fails_from: int) -> None:
    """The first verdict is the binding one; an old one is renewed right before the first write."""
    stage = Stage()
    stage.age_verdicts()
    stage.policy.fails_from = fails_from
    await stage.ends(TaskState.FAILED, why="no policy verdict")
    assert stage.claims.applied == []


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_verdict_on_another_plan_counts_as_none() -> None:
    stage = Stage()
    stage.policy.says = {"plan_hash": "another"}
    await stage.ends(TaskState.FAILED, [])


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_verdict_that_turns_to_no_before_the_write_stops_it() -> None:
    stage = Stage()
    stage.age_verdicts()
    stage.policy.says_later = {"passed": False, "blocked": True}
    await stage.ends(TaskState.REJECTED, [])


async def test_a_blocked_plan_is_rejected_with_the_rule_as_reason_and_its_verdict_to_see() -> None:
    stage = Stage()
    stage.policy.says = {"passed": False, "blocked": True}
    record = await stage.ends(TaskState.REJECTED, [], why="blocked by policy")
    verdict = record.metadata["verdict"]
    assert isinstance(verdict, dict)
    assert (verdict["passed"], verdict["blocked"]) == (False, True)


@pytest.mark.promise("I4.unverified_is_said")
async def test_a_server_that_says_ok_and_changes_nothing_gives_an_unverified_write() -> None:
    stage = Stage()
    stage.servers.add("approve_claim", lambda given: {"status": "ok", "params": given}, ToolClass.CHANGE)
    record = await stage.run()
    assert stage.statuses == ["unverified"]
    assert "unverified" in (record.answer or "")


@pytest.mark.promise("I4.unread_errors")
@each_row("said", ["The request to the ledger timed out.", {"error": "HTTP 504: gateway timeout"}])
async def test_a_write_whose_server_says_that_its_time_ran_out_is_in_doubt_as_if_no_answer_had_come(said: Json) -> None:
    """What it asked for may be done later."""
    stage = Stage()
    stage.servers.add("approve_claim", lambda _: ToolAnswer(said, is_error=True), ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["absent"])
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("I4.unread_errors")
async def test_where_the_operator_says_that_errors_change_nothing_a_time_out_is_a_refusal() -> None:
    stage = Stage()
    stage.servers.add("approve_claim", lambda _: ToolAnswer("It timed out.", is_error=True), ToolClass.CHANGE)
    stage.set_catalogue(approve_claim=CatalogueEntry(errors_change_nothing=True))
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.FAILED, ["refused"])


async def test_a_refused_write_fails_the_task_with_the_servers_words() -> None:
    stage = Stage()
    refusal = ToolAnswer({"error": "CONSTRAINT_VIOLATION"}, is_error=True)
    stage.servers.add("approve_claim", lambda _: refusal, ToolClass.CHANGE)
    await stage.ends(TaskState.FAILED, why="CONSTRAINT_VIOLATION")
    assert stage.statuses == ["refused"]


@pytest.mark.promise("I4.unverified_is_said")
async def test_a_server_that_writes_and_then_answers_with_an_error_leaves_a_write_in_doubt() -> None:
    """ "Refused" would be untrue: the read-back shows the change. It is not repeated either."""
    stage = Stage()

    def applied_with_an_error(given: JsonObject) -> ToolAnswer:
        stage.claims.approve(given)
        return ToolAnswer({"error": "internal error"}, is_error=True)

    stage.servers.add("approve_claim", applied_with_an_error, ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.statuses) == (TaskState.INPUT_REQUIRED, ["C-1"], ["in_doubt"])
    assert record.metadata["escalated"] is True
    assert "the read-back shows it: status=approved" in (record.answer or "")
    assert "internal error" in (record.answer or "")


@pytest.mark.promise("I4.unread_errors")
@each_row(
    ("said", "not_begun", "refused"),
    [("internal error", False, False), ("internal error", True, True), ("CONSTRAINT_VIOLATION", False, True)],
)
async def test_an_error_that_no_read_could_check_is_a_refusal_only_if_protocol_or_reason_say_so(
    said: str, not_begun: bool, refused: bool
) -> None:
    stage = Stage()

    def refused_and_then_silent(_: JsonObject) -> ToolAnswer:
        stage.servers.add("get_claim", _never_answers, ToolClass.READ)
        return ToolAnswer({"error": said}, is_error=True, not_begun=not_begun)

    stage.servers.add("approve_claim", refused_and_then_silent, ToolClass.CHANGE)
    record = await stage.run()
    ends = ("refused", TaskState.FAILED) if refused else ("in_doubt", TaskState.INPUT_REQUIRED)
    assert (*stage.statuses, record.state) == ends
    assert said in (record.answer or "")


@pytest.mark.promise("I4.unread_errors")
@each_row(("known", "status"), [(False, "in_doubt"), (True, "refused")])
async def test_an_error_of_a_tool_without_a_read_back_is_a_refusal_if_the_operator_says_so(
    known: bool, status: str
) -> None:
    stage = Stage()
    stage.cannot_read()
    stage.servers.add("approve_claim", lambda _: ToolAnswer("it did not work", is_error=True), ToolClass.CHANGE)
    entry = CatalogueEntry(errors_change_nothing=known)
    stage.set_catalogue(approve_claim=entry)
    await stage.run()
    assert stage.statuses == [status]


def _never_answers(_: JsonObject) -> Json:
    raise ToolSilent("cut off")


@pytest.mark.promise("I3.lost_reply")
async def test_a_lost_reply_is_settled_by_reading_and_never_by_sending_again() -> None:
    stage = Stage()

    def applied_without_an_answer(given: JsonObject) -> Json:
        stage.claims.approve(given)
        raise ToolSilent("cut off")

    stage.servers.add("approve_claim", applied_without_an_answer, ToolClass.CHANGE)
    await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert stage.statuses == ["verified"]


@pytest.mark.promise("I3.unsent_is_safe")
async def test_a_call_that_never_connected_is_tried_again() -> None:
    stage = Stage()
    refused: list[int] = []

    def refuses_twice(given: JsonObject) -> Json:
        if len(refused) < 2:
            refused.append(1)
            raise ToolUnreachable("connection refused")
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", refuses_twice, ToolClass.CHANGE)
    await stage.ends(TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("I2.provenance")
async def test_a_model_that_is_told_what_has_no_source_may_propose_what_has_one() -> None:
    stage = Stage()
    stage.talk.rounds.insert(1, [("approve_claim", {"claim_id": "C-99"})])
    await stage.ends(TaskState.COMPLETED, ["C-1"])
    (refused,) = [result for result in results_in(stage.model.requests[-1]) if result.is_error]
    assert "C-99" in refused.content


class FreezingTurns(MemoryTurns):
    """A store after whose first stored intent the whole process stands still, as by a signal."""

    opened = 0

    @override
    async def open_write(self, entry: LedgerEntry, hold_seconds: float, beside: JournalBatch = NOTHING) -> Pulse:
        pulse = await super().open_write(entry, hold_seconds, beside)
        self.opened += 1
        if self.opened == 1:
            time.sleep(0.6)  # noqa: ASYNC251  # nothing else may run meanwhile
        return pulse


@pytest.mark.promise("I3.held_up")
async def test_a_process_that_froze_after_the_intent_does_not_send_late() -> None:
    """Others may have judged the write by then: it is recorded as unsent, and sent anew with an intent of its own."""
    stage = Stage()
    stage.turns = frozen = FreezingTurns(stage.turns.record)
    record = await stage.run()
    assert (record.state, stage.claims.applied, frozen.opened) == (TaskState.COMPLETED, ["C-1"], 2)


@pytest.mark.promise("tools.catalogue_pairs")
@each_row(("named", "status"), [("fetch_dossier", "verified"), (None, "unverified")])
async def test_a_write_whose_proof_nobody_could_guess_is_proved_as_the_catalogue_says(
    named: str | None, status: str
) -> None:
    stage = Stage()
    stage.cannot_read()
    about: JsonObject = {"type": "object", "properties": {"claim_id": {"type": "string"}, "depth": {"type": "integer"}}}
    stage.servers.add("fetch_dossier", stage.claims.get, input_schema=about)
    catalogue = {"approve_claim": CatalogueEntry(read_back=named)}
    stage.set_catalogue(**catalogue)

    record = await stage.run()

    assert (record.state, stage.statuses) == (TaskState.COMPLETED, [status])


def echoing(tool: str, given: JsonObject) -> Json:
    return {"status": "ok", "tool": tool, "params": given}


@pytest.mark.promise("tools.echoes")
async def test_a_read_that_only_repeats_the_call_is_no_source_of_a_figure() -> None:
    """Else a model could launder an invented amount through it."""
    stage = Stage("Set the limit")
    stage.servers.add("look_up_limit", lambda given: echoing("look_up_limit", given))
    stage.servers.add("set_limit", lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.talk.rounds = [[("look_up_limit", {"amount": "98765.00"})], *[[("set_limit", {"amount": "98765.00"})]] * 4]
    await stage.ends(TaskState.FAILED, why="98765.00 (amount) stands neither in the task nor in a result")
    assert stage.servers.called("set_limit") == []


@pytest.mark.promise("tools.echoes")
@each_row(("applies", "status"), [(True, "verified"), (False, "unverified")])
async def test_the_read_back_decides_and_not_the_echo(applies: bool, status: str) -> None:
    stage = Stage()

    def approve(given: JsonObject) -> Json:
        if applies:
            stage.claims.approve(given)
        return echoing("approve_claim", given)

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.COMPLETED, [status])
    assert stage.servers.called("approve_claim") == [{"claim_id": "C-1"}]
