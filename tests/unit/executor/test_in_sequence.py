"""Changes in sequence: the next one only after the one before it is verified."""

from datetime import UTC, datetime

import pytest

from services.executor.core.fsm.templates import TEMPLATES
from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import Resolution, Role, TaskState, ToolClass
from tests.doubles.scripted_model import json_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import CALL, Stage, message

OPERATOR = Principal(id="olga", roles=(Role.OPERATOR,))
TEXT = "Approve claims C-1 and C-2"


def _approves(claim: str, call_id: str, **more: Json) -> JsonObject:
    arguments = dumps({"claim_id": claim})
    read_back: JsonObject = {"tool": "get_claim", "arguments_json": arguments, "expect_json": '{"status":"approved"}'}
    return {**CALL, "call_id": call_id, "arguments_json": arguments, "read_back": read_back, **more}


FIRST = _approves("C-1", "c1", on_failure="continue")
SECOND = _approves("C-2", "c2", on_failure="continue")


async def _stage(process_type: str, answer: ToolAnswer | ToolSilent | None) -> Stage:
    """Two approvals in a plan that goes on after failures; the first one is answered so, and not done."""
    stage = await begun_as(TEMPLATES[process_type], FIRST, SECOND, text=TEXT)

    def approve(given: JsonObject) -> "Json | ToolAnswer":
        if given["claim_id"] == "C-2" or answer is None:
            return stage.claims.approve(given)
        if isinstance(answer, ToolSilent):
            raise answer
        return answer

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    return stage


NOT_DONE = ToolAnswer("no such claim", is_error=True, not_begun=True)


@pytest.mark.promise("mutate.sequence")
async def test_changes_that_are_verified_follow_each_other() -> None:
    stage = await _stage("hr_offboarding", None)
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1", "C-2"])
    assert stage.statuses == ["verified", "verified"]


@pytest.mark.promise("mutate.sequence")
async def test_nothing_follows_a_change_that_failed_although_the_plan_would_go_on() -> None:
    stage = await _stage("hr_offboarding", NOT_DONE)
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.FAILED, [])
    assert "c2: approve_claim was not called: this process goes step by step" in (record.reason or "")
    assert "c1 approve_claim before it is refused (the server refused: no such claim)" in (record.reason or "")


@pytest.mark.promise("mutate.sequence")
async def test_nothing_follows_a_change_that_its_proof_contradicts() -> None:
    stage = await _stage("hr_offboarding", ToolAnswer({"ok": True}))
    await stage.run()
    assert stage.claims.applied == []
    assert [call["claim_id"] for call in stage.servers.called("approve_claim")] == ["C-1"]


@pytest.mark.promise("mutate.sequence")
async def test_nothing_follows_a_change_of_which_no_answer_came() -> None:
    stage = await _stage("hr_offboarding", ToolSilent("cut off"))
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])


@pytest.mark.promise("mutate.sequence")
@pytest.mark.parametrize("word", [Resolution.DONE, Resolution.SKIP])
async def test_what_an_operator_says_of_a_change_in_doubt_lets_the_next_one_go_out(word: Resolution) -> None:
    stage = await _stage("hr_offboarding", ToolSilent("cut off"))
    await stage.run()
    (doubt,) = [entry.doubt for entry in stage.turns.writes.values()]
    said: dict[str, object] = {"doubt": doubt, "resolution": word.value}
    turn = {"turn_id": "turn-r", "task_id": "task-1", "kind": TurnKind.RESOLUTION, "principal": OPERATOR, "data": said}
    record = await stage.run(Turn.model_validate({**turn, "received_at": datetime.now(UTC)}))
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-2"])


@pytest.mark.promise("mutate.sequence")
async def test_a_plan_that_could_not_prove_a_change_before_the_next_is_asked_for_again() -> None:
    stage = await _stage("hr_offboarding", None)
    plans = [[{**FIRST, "read_back": None}, SECOND], [FIRST, SECOND]]
    stage.scripts["write_plan"] = lambda _request: json_reply({"calls": [*plans.pop(0)], "why_none": None})
    record = await stage.run()
    assert (record.state, stage.claims.applied, plans) == (TaskState.COMPLETED, ["C-1", "C-2"], [])


@pytest.mark.promise("mutate.sequence")
async def test_a_plan_that_would_stop_halfway_is_not_begun() -> None:
    stage = await _stage("hr_offboarding", None)
    unproved: list[Json] = [{**FIRST, "read_back": None}, SECOND]
    stage.scripts["write_plan"] = json_reply({"calls": unproved, "why_none": None})
    record = await stage.run()
    assert (record.state, record.metadata["escalated"], stage.claims.applied) == (TaskState.FAILED, True, [])
    assert "give a read_back to c1 approve_claim" in (record.reason or "")


@pytest.mark.promise("mutate.sequence")
async def test_dying_at_any_point_sends_each_change_once_and_in_its_turn() -> None:
    stage = await _stage("hr_offboarding", None)
    assert await run_with_deaths(stage, message(TEXT)) > 5
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1", "C-2"])


@pytest.mark.promise("mutate.sequence")
async def test_a_task_that_stopped_in_its_sequence_is_replayed_to_the_same_end() -> None:
    stage = await _stage("hr_offboarding", NOT_DONE)
    await stage.run()
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("mutate.sequence")
async def test_without_the_template_the_plan_goes_on_as_it_says() -> None:
    stage = await _stage("general", NOT_DONE)
    record = await stage.run()
    assert (record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-2"])
