"""A verdict that is renewed counts for what it says, although it names the same policy, context and plan."""

import pytest

from shared.domain.words import TaskState
from tests.unit.executor.stage import Stage, decision


@pytest.mark.promise("I2.no_verdict_no_write")
async def test_a_renewed_verdict_that_asks_for_a_person_is_heeded() -> None:
    """Both verdicts have the same hashes; the first one let the plan pass by itself."""
    stage = Stage()
    stage.age_verdicts()
    stage.policy.says_later = {"passed": False, "escalate": True, "escalation_level": "manager"}
    asked = await stage.run()
    assert (asked.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    done = await stage.run(decision("approve"))
    assert (done.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])
