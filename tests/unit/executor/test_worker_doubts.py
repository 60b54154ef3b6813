"""A write in doubt: the task waits for an operator with what is known, and heeds an operator alone (I3)."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from services.executor.core.session.ledger import write_operator_brief
from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import DoubtResolutionKind, Role, TaskState, ToolClass, WriteStatus
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import CLERK, MANAGER, Stage, cancel, decision, keeps_silent, kills, message, schema
from tests.unit.executor_core.makers import call, entry

WAITS, DONE, FAILED = TaskState.INPUT_REQUIRED, TaskState.COMPLETED, TaskState.FAILED
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
    known = [entry.doubt_id for entry in stage.turns.writes.values()]
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
    timer = stage.timer
    subject: dict[str, object] = {"subject": timer.subject}
    base = {"turn_id": "turn-d", "task_id": "task-1", "kind": TurnKind.DEADLINE, "principal": CLERK}
    return Turn.model_validate({**base, "received_at": datetime.now(UTC), "data": subject})


async def in_doubt(times: int = 1, hours: float = 0) -> tuple[Stage, list[JsonObject]]:
    """A stage whose write is in doubt, so many hours later, and the calls that were sent."""
    stage = Stage()
    asked = swallows(stage, times)
    await stage.run()
    stage.turns.ahead = timedelta(hours=hours)
    return stage, asked


def listed(record: TaskRecord, name: str) -> list[dict[str, JsonValue]]:
    found = record.metadata[name]
    assert isinstance(found, list)
    return [item for item in found if isinstance(item, dict)]


@pytest.mark.promise("I3.doubt_waits", "I3.lost_reply")
async def test_a_doubt_waits_for_an_operator_with_what_is_known() -> None:
    stage, asked = await in_doubt()
    record = stage.turns.record
    (doubt,) = listed(record, "doubts")
    assert (record.state, record.metadata["escalated"], stage.statuses, len(asked)) == (WAITS, True, ["absent"], 1)
    assert (doubt["call_id"], doubt["tool"], doubt["arguments"]) == ("c1", "approve_claim", {"claim_id": "C-1"})
    assert doubt["before"] == doubt["after"] == {"id": "C-1", "amount": "120.50", "status": "open"}
    assert doubt["since"] is not None
    assert "c1 approve_claim" in (record.reason or "")
    assert "not repeated" in (record.answer or "")
    assert stage.turns.ends[-1].outcome is None


@pytest.mark.promise("I3.doubt_waits")
async def test_a_doubt_that_nobody_settles_in_time_ends_the_task_with_what_is_known() -> None:
    early, _ = await in_doubt()
    await early.ends(WAITS, turn=late(early))
    stage, asked = await in_doubt(hours=25)
    record = await stage.ends(FAILED, turn=late(stage), why="no operator said in time")
    assert (record.metadata["escalated"], len(asked), listed(record, "doubts")[0]["call_id"]) == (True, 1, "c1")
    assert stage.turns.ends[-1].outcome is not None


@pytest.mark.promise("I3.operator_decides")
@each_row(("waited_us", "state", "sent"), [(0, FAILED, 1), (2 * 3_600 * 1_000_000, DONE, 2)])
async def test_a_word_after_the_deadline_is_too_late_unless_it_was_accepted_in_time(
    waited_us: int, state: TaskState, sent: int
) -> None:
    stage, asked = await in_doubt(hours=25)
    work = stage.turns.work(word(stage, "retry"))._replace(waited_us=waited_us)
    await stage.worker.run(work, stage.turns)
    assert (stage.turns.record.state, len(asked)) == (state, sent)


@pytest.mark.promise("I3.operator_decides")
async def test_retry_sends_the_call_again_on_a_renewed_verdict_and_proves_it() -> None:
    stage, asked = await in_doubt()
    verdicts = len(stage.policy.asked)
    await stage.ends(DONE, turn=word(stage, "retry"))
    assert (stage.statuses, len(asked), len(stage.policy.asked) > verdicts) == (["verified"], 2, True)
    (write,) = stage.turns.writes.values()
    assert (write.attempt, [one.status.value for one in write.earlier]) == (2, ["absent"])


@pytest.mark.promise("I3.retry_looks_first")
async def test_retry_sends_nothing_if_a_read_shows_by_now_that_it_took_hold() -> None:
    stage, asked = await in_doubt()
    stage.claims.approve({"claim_id": "C-1"})  # the lost request was on its way all the time
    await stage.ends(DONE, turn=word(stage, "retry"), says="was not sent again")
    assert (stage.statuses, len(asked)) == (["verified"], 1)


@pytest.mark.promise("I3.operator_decides")
async def test_retry_is_sent_although_a_read_shows_what_the_operator_was_shown() -> None:
    stage, asked = Stage(), list[JsonObject]()

    def errs(given: JsonObject) -> "Json | ToolAnswer":
        asked.append(given)
        stage.claims.approve(given)
        return ToolAnswer("went wrong", is_error=True) if len(asked) == 1 else dict(stage.claims.rows["C-1"])

    stage.servers.add("approve_claim", errs, ToolClass.CHANGE)
    await stage.ends(WAITS)
    await stage.run(word(stage, "retry"))
    assert len(asked) == 2


@pytest.mark.promise("I3.operator_decides")
async def test_retry_is_not_sent_on_a_verdict_that_has_turned_to_no() -> None:
    stage, asked = await in_doubt()
    stage.policy.says = {"passed": False, "blocked": True}
    await stage.ends(TaskState.REJECTED, turn=word(stage, "retry"))
    assert len(asked) == 1


@pytest.mark.promise("I3.operator_decides")
async def test_a_retry_that_is_lost_again_is_a_new_doubt_that_the_old_word_does_not_settle() -> None:
    stage, asked = await in_doubt(times=2)
    first = word(stage, "retry")
    for turn in (first, first.model_copy(update={"turn_id": "turn-again"})):
        await stage.ends(WAITS, turn=turn)
        assert len(asked) == 2


@pytest.mark.promise("I3.operator_decides")
@each_row(
    ("said", "status", "end"),
    [("done", "unverified", DONE), ("skip", "skipped", FAILED), ("take-over", "absent", FAILED)],
)
async def test_without_a_retry_nothing_is_sent_and_who_said_what_is_in_the_metadata_and_in_the_ledger(
    said: str, status: str, end: TaskState
) -> None:
    """What was skipped or taken over is not done: the task that asked for it fails, and names it."""
    stage, asked = await in_doubt()
    second = word(stage, "retry", turn_id="turn-second")
    record = await stage.ends(end, turn=word(stage, said), says="olga")
    assert (stage.statuses, len(asked)) == ([status], 1)
    assert ("approve_claim" in (record.reason or "")) is (end is FAILED)
    if said == "take-over":
        assert record.metadata["escalated"] is True
        assert "olga" in (record.reason or "")
    (told,), (write,) = listed(record, "resolutions"), stage.turns.writes.values()
    assert (told["by"], told["resolution"], told["comment"]) == ("olga", said, "looked it up")
    assert [one.by.id for one in write.resolutions] == ["olga"]
    again = await stage.run(second)  # it comes too late, and changes nothing
    assert (again.state, again.answer, len(asked)) == (record.state, record.answer, 1)


@pytest.mark.promise("I3.only_an_operator")
@each_row("who", [CLERK, MANAGER])
@each_row("said", [one.value for one in DoubtResolutionKind])
async def test_no_word_of_anybody_else_has_any_effect(who: Principal, said: str) -> None:
    stage, asked = await in_doubt()
    await stage.ends(WAITS, turn=word(stage, said, by=who), why="does not have the role operator")
    assert (stage.statuses, len(asked)) == (["absent"], 1)


@pytest.mark.promise("I3.only_an_operator")
async def test_messages_and_decisions_do_not_end_the_wait_and_a_cancel_ends_it_with_what_is_known() -> None:
    stage, asked = await in_doubt()
    for turn in (message("done", "turn-8"), decision("approve", turn_id="turn-9")):
        await stage.ends(WAITS, turn=turn)
    record = await stage.ends(TaskState.CANCELED, turn=cancel(), says="not repeated")
    assert (stage.statuses, len(asked), listed(record, "doubts")[0]["call_id"]) == (["absent"], 1, "c1")


@pytest.mark.promise("I3.doubt_waits")
async def test_a_doubt_waits_although_no_tool_server_can_be_reached() -> None:
    """A successor that finds an open call and no tool server leaves it to a person, and does not end the task."""
    stage = Stage()
    stage.servers.add("approve_claim", kills, ToolClass.CHANGE)
    with pytest.raises(Died):
        await stage.run()
    stage.servers.go_down("office")
    await stage.ends(WAITS, attempts=2, says="nothing could be read")
    assert stage.statuses == ["in_doubt"]


@pytest.mark.promise("I3.kill_at_every_step")
@each_row("said", [one.value for one in DoubtResolutionKind])
async def test_dying_at_any_step_of_an_operators_turn_leads_to_the_same_end(said: str) -> None:
    whole, _ = await in_doubt()
    before = whole.turns.stored
    end = await whole.run(word(whole, said))
    for step in range(before, whole.turns.stored):
        stage, asked = await in_doubt()
        turn = word(stage, said)
        await stage.dies(step, turn)
        record = await stage.run(turn, attempts=2)
        assert (record.state, stage.statuses) == (end.state, whole.statuses), step
        assert len(asked) == (2 if said == "retry" else 1), step


@pytest.mark.promise("I3.refusal_survives")
async def test_dying_between_a_refusal_and_its_read_back_keeps_the_servers_words() -> None:
    stage, reads = Stage(), list[JsonObject]()

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
    await stage.ends(FAILED, attempts=2, why="over the limit")
    assert stage.statuses == ["refused"]


@pytest.mark.promise("I3.retry_looks_first")
async def test_a_retry_is_asked_about_once_more_where_a_read_shows_the_write_that_none_could_show_before() -> None:
    """The server was not readable when the call was lost, and applied it after the operator had looked."""
    stage, is_away, reads = Stage(), True, list[JsonObject]()

    def get(given: JsonObject) -> Json:
        reads.append(given)
        return keeps_silent(given) if is_away and len(reads) > 1 else stage.claims.get(given)

    stage.servers.add("get_claim", get, ToolClass.READ, schema("claim_id"))
    asked = swallows(stage)
    await stage.run()
    assert stage.statuses == ["in_doubt"]
    is_away = False
    stage.claims.approve({"claim_id": "C-1"})
    await stage.ends(WAITS, turn=word(stage, "retry"))
    assert (stage.statuses, len(asked)) == (["in_doubt"], 1)
    await stage.ends(DONE, turn=word(stage, "done", turn_id="turn-s"))
    assert (stage.statuses, len(asked)) == (["unverified"], 1)


_SILENT = entry(WriteStatus.IN_DOUBT, of=call({"id": "I-1"}, tool="pay_invoice")).model_copy(
    update={
        "sending_at": datetime(2026, 4, 1, 12, 0, 5, tzinfo=UTC),
        "open_until": datetime(2026, 4, 1, 12, 0, 41, tzinfo=UTC),
    }
)


@pytest.mark.promise("doubt.late_application")
def test_an_operator_is_told_that_a_silent_server_may_apply_the_call_later() -> None:
    told = write_operator_brief([_SILENT])
    assert "sent 12:00:05, waited for until 12:00:41 UTC" in told
    assert "may apply it later: look there before you say retry" in told
