"""Changes in sequence: the next one only after the one before it is verified."""

import pytest

from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.executor.ports.tools import ToolAnswer, ToolSilent
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import DoubtResolutionKind, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import Stage, message, use
from tests.unit.executor.test_worker_doubts import word as said_by_operator

pytestmark = pytest.mark.promise("mutate.sequence")

TEXT = "Approve claims C-1 and C-2"


FIRST, SECOND = use("approve_claim", 1, claim_id="C-1"), use("approve_claim", 2, claim_id="C-2")
NOT_DONE = ToolAnswer("no such claim", is_error=True, not_begun=True)
STEPWISE = "c2: approve_claim was not called: this process goes step by step"
DONE, FAILED = TaskState.COMPLETED, TaskState.FAILED


async def _stage(*answers: ToolAnswer | ToolSilent, kind: str = "hr_offboarding") -> Stage:
    """Two approvals, each a part of its own; the first one is answered so, and not done, and then it is."""
    stage, left = await begun_as(BUILT_IN_TEMPLATES[kind], FIRST, SECOND, text=TEXT), [*answers]
    stage.talk.parts = [("Approve claims C-1", "do"), ("C-2", "do")]

    def approve(given: JsonObject) -> "Json | ToolAnswer":
        if given["claim_id"] == "C-2" or not left:
            return stage.claims.approve(given)
        answer = left.pop(0)
        if isinstance(answer, ToolSilent):
            raise answer
        return answer

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    return stage


async def test_changes_that_are_verified_follow_each_other_whenever_the_process_dies() -> None:
    stage, dying = await _stage(), await _stage()
    await stage.ends(DONE, ["C-1", "C-2"])
    assert stage.statuses == ["verified", "verified"]
    assert await run_with_deaths(dying, message(TEXT)) > 3
    assert (dying.turns.record.state, dying.claims.applied) == (DONE, ["C-1", "C-2"])


@each_row(("answer", "says"), [(NOT_DONE, STEPWISE), (ToolAnswer({"ok": True}), "")])
async def test_nothing_follows_a_change_that_failed_or_is_contradicted_although_it_carries_out_another_part(
    answer: ToolAnswer, says: str
) -> None:
    """Nor does it in a further plan."""
    stage, further = await _stage(answer), await _stage(answer)
    record = await (stage.ends(FAILED, [], says=says) if says else stage.run())
    refused = "c1 approve_claim before it is refused (the server refused: no such claim)"
    assert not says or refused in (record.answer or "")
    further.talk.rounds.append([SECOND])
    await further.run()
    for one in (stage, further):
        assert (one.claims.applied, one.servers.called("approve_claim")) == ([], [{"claim_id": "C-1"}])
    assert not says or further.turns.record.state is FAILED


async def test_a_change_that_failed_may_be_made_good_in_a_further_plan_and_then_the_next_one_follows() -> None:
    stage = await _stage(NOT_DONE)
    stage.talk.rounds.append([FIRST, SECOND])
    await stage.ends(DONE, ["C-1", "C-2"])


@each_row(
    ("word", "end"), [(DoubtResolutionKind.DONE, DONE), (DoubtResolutionKind.SKIP, FAILED)]
)  # what was skipped is not done
async def test_what_an_operator_says_of_a_change_in_doubt_lets_the_next_one_go_out(
    word: DoubtResolutionKind, end: TaskState
) -> None:
    stage = await _stage(ToolSilent("cut off"))
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    await stage.ends(end, ["C-2"], said_by_operator(stage, word.value))


async def test_a_plan_that_would_stop_halfway_is_not_begun() -> None:
    stage = await _stage()
    stage.servers.remove("get_claim")
    stage.talk.rounds[0] = []
    record = await stage.ends(FAILED, [], why="no read can prove c1 approve_claim")
    assert record.metadata["escalated"] is True
