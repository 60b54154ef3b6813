"""Commands, and the request of seed 000, against a stack: what is sent and shown, and an agent that is measured."""

import re
from pathlib import Path

import pytest

from cli.up import EXAMPLE_TASK
from shared.contracts.assessment.results import Assessment
from shared.domain.exact_json import JsonObject, loads_object
from tests.e2e.commands import call_purple, run_purple
from tests.e2e.one_stack.two_replicas import TwoReplicas
from tests.e2e.whole_stack import WholeStack
from tests.integration.gateway_stage import at

SEED_000: JsonObject = {
    "jsonrpc": "2.0",
    "method": "tasks/send",
    "id": "task-123",
    "params": {
        "id": "task-123",
        "message": {
            "role": "user",
            "parts": [{"text": "Process the expense claim for EMP-447, $2,340 for team offsite..."}],
        },
    },
}


@pytest.mark.asyncio(loop_scope="package")
@pytest.mark.promise("a2a.seed_request")
async def test_the_request_of_seed_000_gets_its_text(stack: WholeStack) -> None:
    answer = loads_object((await stack.http.post("/", json=SEED_000)).text)
    assert str(at(answer, "result.artifacts.0.parts.0.text")).strip()


@pytest.mark.asyncio(loop_scope="package")
@pytest.mark.promise("cli.send")
async def test_a_task_that_is_sent_shows_its_states_as_they_happen(stack: WholeStack) -> None:
    sent = await call_purple("send", EXAMPLE_TASK, "--url", stack.stack.get_url("gateway"))
    assert sent.code == 0, sent.err
    assert "EXP-1002" in sent.out
    assert re.search(r"ASSESS.*COMPLETE", sent.err, re.DOTALL)


@pytest.mark.promise("participant.whole", "participant.whole_turn")
def test_an_assessor_measures_the_stack_and_ends_by_itself_with_a_result(pair: TwoReplicas, tmp_path: Path) -> None:
    """A short one; whole ones, and what dies in the middle of them, take longer."""
    asked = ("--scenario", "inbox_triage", "--agent", pair.url, "--max-turns", "1", "--dir", str(tmp_path), "--json")
    done = run_purple("assess", *asked)
    assert done.code == 0, done.err
    (run,) = Assessment.model_validate_json(done.out).runs
    assert (run.results.status, run.results.turns_taken) == ("completed", 1)
    assert {entry.kind for entry in run.results.action_log} >= {"read"}
    assert [update.get("error_message") for update in run.updates if "error_message" in update] == []
