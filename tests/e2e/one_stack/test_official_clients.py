"""The official A2A clients of today and of the 0.3 line against a whole stack: a question, answered exactly."""

import json
from pathlib import Path

import pytest
from a2a.types import a2a_pb2 as pb

from tests.contracts.sdk_of_0_3 import PYTHON, make_environment, run
from tests.e2e.one_stack.two_replicas import TwoReplicas, official_client

pytestmark = pytest.mark.asyncio(loop_scope="package")
QUESTION = "Which expenses of EMP-447 are still pending? Answer with a JSON list of expense ids."
ANSWER = '["EXP-1001"]'
SCRIPT = Path(__file__).parents[2] / "contracts" / "question_of_0_3.py"


@pytest.mark.long  # at two replicas it is in the suite
@pytest.mark.promise("gateway.a2a_1_0")
async def test_the_client_of_today_sends_a_message_and_reads_the_task(pair: TwoReplicas) -> None:
    message = pb.Message(message_id="q1", role=pb.Role.ROLE_USER, parts=[pb.Part(text=QUESTION)])
    async with official_client(pair, streaming=False) as client:
        replies = [reply async for reply in client.send_message(pb.SendMessageRequest(message=message))]
        task = await client.get_task(pb.GetTaskRequest(id=replies[-1].task.id))
    assert task.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].text == ANSWER


@pytest.mark.long  # at two replicas, with a scripted worker, it is in the suite
@pytest.mark.promise("gateway.a2a_0_3")
async def test_the_client_of_the_0_3_line_sends_a_message_and_reads_the_task(pair: TwoReplicas) -> None:
    if reason := await make_environment():
        pytest.skip(f"the 0.3 SDK could not be installed: {reason}")
    code, out = await run(PYTHON, SCRIPT, pair.url, QUESTION)
    assert code == 0, out
    assert json.loads(out) == {"state": "completed", "text": ANSWER}
