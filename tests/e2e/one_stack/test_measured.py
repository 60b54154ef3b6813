"""The command that measures agents, against the stack as it stands behind its proxy."""

from pathlib import Path

import pytest

from shared.contracts.assessment.results import Assessment
from tests.e2e.commands import run_purple
from tests.e2e.one_stack.two_replicas import TwoReplicas


@pytest.mark.promise("participant.whole")
@pytest.mark.promise("participant.whole_turn")
def test_an_assessor_measures_the_stack_and_ends_by_itself_with_a_result(pair: TwoReplicas, tmp_path: Path) -> None:
    """A short one; whole ones, and what dies in the middle of them, take longer."""
    asked = ("--scenario", "inbox_triage", "--agent", pair.url, "--max-turns", "1", "--dir", str(tmp_path), "--json")
    done = run_purple("assess", *asked)
    assert done.code == 0, done.err
    (run,) = Assessment.model_validate_json(done.out).runs
    assert (run.results.status, run.results.turns_taken) == ("completed", 1)
    assert {entry.kind for entry in run.results.action_log} >= {"read"}
    assert [update.get("error_message") for update in run.updates if "error_message" in update] == []
