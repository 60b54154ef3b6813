"""Rules see a record as the task's own writes left it, in the same plan and in a later one."""

import pytest

from shared.contracts.policy import Rule
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_talk import Calls
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import READ_2, Stage, decision, schema, use

pytestmark = pytest.mark.promise("policy.own_writes")

LARGE = Rule(
    id="LARGE",
    condition='tool == "approve_claim" && amount > 500',
    action="require_approval",
    level="manager",
    reason="Large claims need a manager.",
)
TEXT = "Raise claim C-1 to 900, then approve it"
PARTS = ("Raise claim C-1 to 900", "approve it")
READ, RAISE, APPROVE = (
    use("get_claim", claim_id="C-1"),
    use("set_amount", 1, claim_id="C-1", new_amount=900),
    use("approve_claim", 2, claim_id="C-1"),
)


class RaisedStage(Stage):
    def __init__(self, *rounds: Calls, amount: str = "120.50") -> None:
        super().__init__(TEXT, [READ], *rounds, parts=PARTS, answer="C-1 was raised to 900.")
        self.claims.rows["C-1"]["amount"] = amount
        self.servers.add("set_amount", self._set, ToolClass.CHANGE, schema("claim_id", "new_amount:number"))
        self.judge_by(LARGE)

    def _set(self, given: JsonObject) -> Json:
        self.claims.rows["C-1"]["amount"] = "900.00"
        return {"ok": True}


@each_row("rounds", [[RAISE, APPROVE], [APPROVE]], [[RAISE], [READ_2], [APPROVE]], [[RAISE, APPROVE]])
async def test_a_record_that_the_task_itself_changed_is_judged_as_it_is_now(rounds: list[Calls]) -> None:
    stage = RaisedStage(*rounds)
    record = await stage.run()
    assert stage.claims.applied == []
    is_asked = len(rounds) > 1
    assert record.state is (TaskState.INPUT_REQUIRED if is_asked else TaskState.FAILED), record.reason
    assert "LARGE" in (str(record.reason) + stage.told)
    assert (await replayed(stage)).difference == ""
    if is_asked:
        await stage.ends(TaskState.COMPLETED, ["C-1"], turn=decision("approve"))
