"""A task that BrainOS thinks through: reads and wishes for writes in rounds, and everything else the machine's."""

import pytest

from shared.domain.words import TaskState
from shared.testing.mock_brainos import answer, call, events
from tests.unit.executor.orchestrated import orchestrated

READ, WRITE = call("get_claim", claim_id="C-1"), call("approve_claim", claim_id="C-1")
SAID = answer("C-1 of 120.50 is approved.")
WHOLE = (events(READ), events(WRITE), answer("I asked for it."), SAID)


@pytest.mark.promise("brainos.rounds")
async def test_it_reads_asks_for_a_write_and_answers_once_it_was_made() -> None:
    """Three rounds of thinking, one of answering; the write goes through plan, verdict, ledger and read-back."""
    async with orchestrated(*WHOLE) as (stage, brain):
        record = await stage.run()
    assert record.state is TaskState.COMPLETED
    assert (record.answer or "").startswith("C-1 of 120.50 is approved.\n\nWrites:\n- approve_claim")
    assert (stage.claims.applied, stage.statuses) == (["C-1"], ["verified"])
    assert record.metadata["orchestrator"] == "brainos"
    assert [heard.body["message"] for heard in brain.heard[1:]] == ["Tool results:"] * 3
    assert stage.model.requests == []
