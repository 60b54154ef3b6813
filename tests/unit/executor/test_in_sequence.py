"""Changes in sequence: the next one only after the one before it is verified."""

from datetime import UTC, datetime

import pytest

from services.executor.core.states.machine import TEMPLATES
from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.contracts.task import Principal, Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Resolution, Role, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import Stage, message

pytestmark = pytest.mark.promise("mutate.sequence")

OPERATOR = Principal(id="olga", roles=(Role.OPERATOR,))
TEXT = "Approve claims C-1 and C-2"


FIRST: tuple[str, JsonObject] = ("approve_claim", {"claim_id": "C-1"})
SECOND: tuple[str, JsonObject] = ("approve_claim", {"claim_id": "C-2"})


async def _stage(process_type: str, answer: ToolAnswer | ToolSilent | None) -> Stage:
    """Two approvals, each a part of its own; the first one is answered so, and not done."""
    stage = await begun_as(TEMPLATES[process_type], text=TEXT)
    stage.talk.parts = [("Approve claims C-1", "do"), ("C-2", "do")]
    stage.talk.rounds[1:] = [[of_part(1, FIRST), of_part(2, SECOND)]]

    def approve(given: JsonObject) -> "Json | ToolAnswer":
        if given["claim_id"] == "C-2" or answer is None:
            return stage.claims.approve(given)
        if isinstance(answer, ToolSilent):
            raise answer
        return answer

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    return stage


def of_part(number: int, call: tuple[str, JsonObject]) -> tuple[str, JsonObject]:
    name, given = call
    return name, {**given, "_call": {"part": number}}


NOT_DONE = ToolAnswer("no such claim", is_error=True, not_begun=True)


async def test_changes_that_are_verified_follow_each_other() -> None:
    stage = await _stage("hr_offboarding", None)
    await stage.ends(TaskState.COMPLETED, ["C-1", "C-2"])
    assert stage.statuses == ["verified", "verified"]


async def test_nothing_follows_a_change_that_failed_although_it_carries_out_another_part() -> None:
    stage = await _stage("hr_offboarding", NOT_DONE)
    record = await stage.ends(TaskState.FAILED, [])
    assert "c2: approve_claim was not called: this process goes step by step" in (record.answer or "")
    assert "c1 approve_claim before it is refused (the server refused: no such claim)" in (record.answer or "")


async def test_nor_does_it_follow_in_a_further_plan() -> None:
    stage = await _stage("hr_offboarding", NOT_DONE)
    stage.talk.rounds.append([of_part(2, SECOND)])
    await stage.ends(TaskState.FAILED, [])
    assert [call["claim_id"] for call in stage.servers.called("approve_claim")] == ["C-1"]


async def test_a_change_that_failed_may_be_made_good_in_a_further_plan_and_then_the_next_one_follows() -> None:
    stage = await _stage("hr_offboarding", None)
    answers = [NOT_DONE]

    def approve(given: JsonObject) -> "Json | ToolAnswer":
        return answers.pop() if answers else stage.claims.approve(given)

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    stage.talk.rounds.append([of_part(1, FIRST), of_part(2, SECOND)])
    await stage.ends(TaskState.COMPLETED, ["C-1", "C-2"])


async def test_nothing_follows_a_change_that_its_proof_contradicts() -> None:
    stage = await _stage("hr_offboarding", ToolAnswer({"ok": True}))
    await stage.run()
    assert stage.claims.applied == []
    assert [call["claim_id"] for call in stage.servers.called("approve_claim")] == ["C-1"]


@each_row("word", [Resolution.DONE, Resolution.SKIP])
async def test_what_an_operator_says_of_a_change_in_doubt_lets_the_next_one_go_out(word: Resolution) -> None:
    stage = await _stage("hr_offboarding", ToolSilent("cut off"))
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    (doubt,) = [entry.doubt for entry in stage.turns.writes.values()]
    said: dict[str, object] = {"doubt": doubt, "resolution": word.value}
    turn = {"turn_id": "turn-r", "task_id": "task-1", "kind": TurnKind.RESOLUTION, "principal": OPERATOR, "data": said}
    record = await stage.run(Turn.model_validate({**turn, "received_at": datetime.now(UTC)}))
    end = TaskState.COMPLETED if word is Resolution.DONE else TaskState.FAILED  # what was skipped is not done
    assert (record.state, stage.claims.applied) == (end, ["C-2"])


async def test_a_plan_that_would_stop_halfway_is_not_begun() -> None:
    stage = await _stage("hr_offboarding", None)
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    record = await stage.run()
    assert (record.state, record.metadata["escalated"], stage.claims.applied) == (TaskState.FAILED, True, [])
    assert "no read can prove c1 approve_claim" in (record.reason or "")


async def test_dying_at_any_point_sends_each_change_once_and_in_its_turn() -> None:
    stage = await _stage("hr_offboarding", None)
    assert await run_with_deaths(stage, message(TEXT)) > 3
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1", "C-2"])


async def test_without_the_template_the_other_part_is_carried_out() -> None:
    stage = await _stage("general", NOT_DONE)
    record = await stage.ends(TaskState.FAILED, ["C-2"])
    assert "part 2" not in (record.reason or "")
