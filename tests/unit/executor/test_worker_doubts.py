"""A write in doubt: the task waits for an operator with what is known, and heeds an operator alone (I3)."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Resolution, Role, TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import CLERK, MANAGER, Stage, cancel, decision, kills, message

OPERATOR = Principal(id="olga", roles=(Role.OPERATOR,))


def swallows(stage: Stage, times: int = 1) -> list[JsonObject]:
    """Lose so many calls of the write on their way, then let them through; what was asked for."""
    asked: list[JsonObject] = []

    def handler(given: JsonObject) -> Json:
        asked.append(given)
        if len(asked) <= times:
            raise ToolSilent("cut off")
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", handler, ToolClass.CHANGE)
    return asked


def word(
    stage: Stage, resolution: str, by: Principal = OPERATOR, turn_id: str = "turn-r", doubt: str | None = None
) -> Turn:
    known = [entry.doubt for entry in stage.turns.writes.values()]
    return Turn(
        turn_id=turn_id,
        task_id="task-1",
        kind=TurnKind.RESOLUTION,
        principal=by,
        received_at=datetime.now(UTC),
        text=resolution,
        data={"doubt": doubt or known[-1], "call_id": "c1", "resolution": resolution, "comment": "looked it up"},
    )


def late(stage: Stage) -> Turn:
    """The timer of the doubt as it comes due."""
    timer = stage.turns.ends[-1].timer
    assert timer is not None
    subject: dict[str, object] = {"subject": timer.subject}
    base = {"turn_id": "turn-d", "task_id": "task-1", "kind": TurnKind.DEADLINE, "principal": CLERK}
    return Turn.model_validate({**base, "received_at": datetime.now(UTC), "data": subject})


async def in_doubt(stage: Stage, times: int = 1) -> list[JsonObject]:
    asked = swallows(stage, times)
    await stage.run()
    return asked


def listed(record: TaskRecord, name: str) -> list[dict[str, JsonValue]]:
    found = record.metadata[name]
    assert isinstance(found, list)
    return [item for item in found if isinstance(item, dict)]


@pytest.mark.promise("I3.doubt_waits")
async def test_a_doubt_waits_for_an_operator_with_what_is_known() -> None:
    stage = Stage()
    await in_doubt(stage)
    record = stage.turns.record
    (doubt,) = listed(record, "doubts")
    assert (record.state, record.metadata["escalated"]) == (TaskState.INPUT_REQUIRED, True)
    assert (doubt["call_id"], doubt["tool"], doubt["arguments"]) == ("c1", "approve_claim", {"claim_id": "C-1"})
    assert doubt["before"] == doubt["after"] == {"id": "C-1", "amount": "120.50", "status": "open"}
    assert doubt["since"] is not None
    assert "c1 approve_claim" in (record.reason or "")
    assert stage.turns.ends[-1].outcome is None


@pytest.mark.promise("I3.doubt_waits")
async def test_a_doubt_that_nobody_settles_in_time_ends_the_task_with_what_is_known() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    stage.turns.ahead = timedelta(hours=25)
    record = await stage.run(late(stage))
    assert (record.state, record.metadata["escalated"], len(asked)) == (TaskState.FAILED, True, 1)
    assert "no operator said in time" in (record.reason or "")
    assert listed(record, "doubts")[0]["call_id"] == "c1"
    assert stage.turns.ends[-1].outcome is not None


async def test_a_word_after_the_deadline_is_too_late_whatever_it_says() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    stage.turns.ahead = timedelta(hours=25)
    record = await stage.run(word(stage, "retry"))
    assert (record.state, len(asked)) == (TaskState.FAILED, 1)


@pytest.mark.promise("I3.operator_decides")
async def test_a_word_that_was_accepted_in_time_counts_although_it_is_heeded_after_the_deadline() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    stage.turns.ahead = timedelta(hours=25)
    waited = 2 * 3_600 * 1_000_000
    work = stage.turns.work(word(stage, "retry"))._replace(waited_us=waited)
    await stage.worker.run(work, stage.turns)
    assert (stage.turns.record.state, len(asked)) == (TaskState.COMPLETED, 2)


async def test_a_deadline_that_comes_early_changes_nothing() -> None:
    stage = Stage()
    await in_doubt(stage)
    await stage.ends(TaskState.INPUT_REQUIRED, turn=late(stage))


@pytest.mark.promise("I3.operator_decides")
async def test_retry_sends_the_call_again_on_a_renewed_verdict_and_proves_it() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    verdicts = len(stage.policy.asked)
    record = await stage.run(word(stage, "retry"))
    assert (record.state, stage.statuses, len(asked)) == (TaskState.COMPLETED, ["verified"], 2)
    assert len(stage.policy.asked) > verdicts
    (entry,) = stage.turns.writes.values()
    assert (entry.attempt, [one.status.value for one in entry.earlier]) == (2, ["absent"])


@pytest.mark.promise("I3.retry_looks_first")
async def test_retry_sends_nothing_if_a_read_shows_by_now_that_it_took_hold() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    stage.claims.approve({"claim_id": "C-1"})  # the lost request was on its way all the time
    record = await stage.run(word(stage, "retry"))
    assert (record.state, stage.statuses, len(asked)) == (TaskState.COMPLETED, ["verified"], 1)
    assert "was not sent again" in (record.answer or "")


@pytest.mark.promise("I3.operator_decides")
async def test_retry_is_sent_although_a_read_shows_what_the_operator_was_shown() -> None:
    stage = Stage()
    asked: list[JsonObject] = []

    def errs(given: JsonObject) -> "Json | ToolAnswer":
        asked.append(given)
        stage.claims.approve(given)
        return ToolAnswer("went wrong", is_error=True) if len(asked) == 1 else dict(stage.claims.rows["C-1"])

    stage.servers.add("approve_claim", errs, ToolClass.CHANGE)
    assert (await stage.run()).state is TaskState.INPUT_REQUIRED
    await stage.run(word(stage, "retry"))
    assert len(asked) == 2


@pytest.mark.promise("I3.operator_decides")
async def test_retry_is_not_sent_on_a_verdict_that_has_turned_to_no() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    stage.policy.says = {"passed": False, "blocked": True}
    record = await stage.run(word(stage, "retry"))
    assert (record.state, len(asked)) == (TaskState.REJECTED, 1)


@pytest.mark.promise("I3.operator_decides")
async def test_a_retry_that_is_lost_again_is_a_new_doubt_that_the_old_word_does_not_settle() -> None:
    stage = Stage()
    asked = await in_doubt(stage, times=2)
    first = word(stage, "retry")
    record = await stage.run(first)
    assert (record.state, len(asked)) == (TaskState.INPUT_REQUIRED, 2)
    again = first.model_copy(update={"turn_id": "turn-again"})
    assert (await stage.run(again)).state is TaskState.INPUT_REQUIRED
    assert len(asked) == 2


@pytest.mark.promise("I3.operator_decides")
@each_row(
    ("said", "status", "end"), [("done", "unverified", TaskState.COMPLETED), ("skip", "skipped", TaskState.FAILED)]
)
async def test_done_and_skip_let_the_plan_go_on_without_sending_anything(
    said: str, status: str, end: TaskState
) -> None:
    """What was skipped is not done: the task that asked for it fails, and names it."""
    stage = Stage()
    asked = await in_doubt(stage)
    record = await stage.run(word(stage, said))
    assert (record.state, stage.statuses, len(asked)) == (end, [status], 1)
    assert "olga" in (record.answer or "")
    assert ("approve_claim" in (record.reason or "")) is (said == "skip")


@pytest.mark.promise("I3.operator_decides")
async def test_take_over_ends_the_task_with_everything_that_is_known() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    record = await stage.run(word(stage, "take-over"))
    assert (record.state, record.metadata["escalated"], len(asked)) == (TaskState.FAILED, True, 1)
    assert "olga" in (record.reason or "")
    assert "approve_claim" in (record.reason or "")


@pytest.mark.promise("I3.operator_decides")
async def test_who_decided_what_and_when_is_in_the_tasks_metadata_and_in_the_ledger() -> None:
    stage = Stage()
    await in_doubt(stage)
    record = await stage.run(word(stage, "done"))
    (said,) = listed(record, "resolutions")
    assert (said["by"], said["resolution"], said["comment"]) == ("olga", "done", "looked it up")
    (entry,) = stage.turns.writes.values()
    assert [one.by.id for one in entry.resolutions] == ["olga"]


@pytest.mark.promise("I3.only_an_operator")
@pytest.mark.parametrize("who", [CLERK, MANAGER], ids=["client", "approver"])
@pytest.mark.parametrize("said", [one.value for one in Resolution])
async def test_no_word_of_anybody_else_has_any_effect(who: Principal, said: str) -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    record = await stage.run(word(stage, said, by=who))
    assert (record.state, stage.statuses, len(asked)) == (TaskState.INPUT_REQUIRED, ["absent"], 1)
    assert "does not have the role operator" in (record.reason or "")


@pytest.mark.promise("I3.only_an_operator")
async def test_messages_and_decisions_do_not_end_the_wait() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    for turn in (message("done", "turn-8"), decision("approve", turn_id="turn-9")):
        record = await stage.run(turn)
        assert (record.state, stage.statuses, len(asked)) == (TaskState.INPUT_REQUIRED, ["absent"], 1)


async def test_a_second_word_comes_too_late_and_changes_nothing() -> None:
    stage = Stage()
    asked = await in_doubt(stage)
    second = word(stage, "retry", turn_id="turn-second")
    first = await stage.run(word(stage, "skip"))
    again = await stage.run(second)
    assert (again.state, again.answer, len(asked)) == (first.state, first.answer, 1)


async def test_a_cancel_ends_the_wait_with_what_is_known() -> None:
    stage = Stage()
    await in_doubt(stage)
    record = await stage.run(cancel())
    assert (record.state, stage.statuses) == (TaskState.CANCELED, ["absent"])
    assert listed(record, "doubts")[0]["call_id"] == "c1"
    assert "not repeated" in (record.answer or "")


@pytest.mark.promise("I3.doubt_waits")
async def test_a_doubt_waits_although_no_tool_server_can_be_reached() -> None:
    """A successor that finds an open call and no tool server leaves it to a person, and does not end the task."""
    stage = Stage()

    stage.servers.add("approve_claim", kills, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    stage.servers.go_down("office")
    record = await stage.run(attempts=2)
    assert (record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["in_doubt"])
    assert "nothing could be read" in (record.answer or "")


@pytest.mark.promise("I3.kill_at_every_step")
@each_row("said", [one.value for one in Resolution])
async def test_dying_at_any_step_of_an_operators_turn_leads_to_the_same_end(said: str) -> None:
    whole = Stage()
    await in_doubt(whole)
    before = whole.turns.stored
    end = await whole.run(word(whole, said))
    for step in range(before, whole.turns.stored):
        stage = Stage()
        asked = await in_doubt(stage)
        turn = word(stage, said)
        await stage.dies(step, turn)
        record = await stage.run(turn, attempts=2)
        assert (record.state, stage.statuses) == (end.state, whole.statuses), step
        assert len(asked) == (2 if said == "retry" else 1), step


@pytest.mark.promise("I3.refusal_survives")
async def test_dying_between_a_refusal_and_its_read_back_keeps_the_servers_words() -> None:
    stage = Stage()
    reads: list[JsonObject] = []

    def dies_on_the_read_after(given: JsonObject) -> Json:
        reads.append(given)
        if len(reads) == 3:  # the task's own read, the one before the call, the one after it
            raise Died
        return stage.claims.get(given)

    stage.servers.add("get_claim", dies_on_the_read_after)
    stage.servers.add("approve_claim", lambda _: ToolAnswer("over the limit", is_error=True), ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    assert stage.statuses == ["denied"]
    record = await stage.run(attempts=2)
    assert (record.state, stage.statuses) == (TaskState.FAILED, ["refused"])
    assert "over the limit" in (record.reason or "")


@pytest.mark.promise("I3.retry_looks_first")
async def test_a_retry_is_asked_about_once_more_where_a_read_shows_the_write_that_none_could_show_before() -> None:
    """The server was not readable when the call was lost, and applied it after the operator had looked."""
    stage, is_away, reads = Stage(), True, 0

    def get(given: JsonObject) -> Json:
        nonlocal reads
        reads += 1
        if is_away and reads > 1:  # the model's own read had its answer
            raise ToolSilent("cut off")
        return stage.claims.get(given)

    stage.servers.add("get_claim", get, ToolClass.READ, {"type": "object", "properties": {"claim_id": {}}})
    asked = await in_doubt(stage)
    assert stage.statuses == ["in_doubt"]

    is_away = False
    stage.claims.approve({"claim_id": "C-1"})
    record = await stage.run(word(stage, "retry"))
    assert (record.state, stage.statuses, len(asked)) == (TaskState.INPUT_REQUIRED, ["in_doubt"], 1)
    record = await stage.run(word(stage, "done", turn_id="turn-s"))
    assert (record.state, stage.statuses, len(asked)) == (TaskState.COMPLETED, ["unverified"], 1)
