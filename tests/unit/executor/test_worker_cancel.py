"""A cancel that comes while a task writes."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.unit.executor.stage import APPROVE, Stage, cancel

pytestmark = pytest.mark.promise("task.cancel")


async def test_the_write_in_flight_is_settled_and_the_unsent_one_dropped() -> None:
    """The task ends canceled, and says what took hold."""
    stage = Stage("Approve claims C-1 and C-2")
    stage.talk.rounds[1:] = [[APPROVE, ("approve_claim", {"claim_id": "C-2"})]]

    def canceled_meanwhile(given: JsonObject) -> Json:
        stage.turns.cancel = cancel()
        return stage.claims.approve(given)

    stage.servers.add("approve_claim", canceled_meanwhile, ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.claims.applied, stage.statuses) == (TaskState.CANCELED, ["C-1"], ["verified"])
    assert '"C-1"' in str(record.answer)
    assert "verified" in str(record.answer)
    assert 'Left out:\n- approve_claim {"claim_id":"C-2"}' in str(record.answer)
