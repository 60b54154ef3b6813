"""What a process computes and is held to, and what was written: both reach the learner with the task's outcome."""

import pytest

from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.redis import connect
from tests.processes.stage import Stage

_BREACH = (
    "Service level SLA-1404 is broken. Record the SLA credit for incident INC-1504 under SLA-1404, because the portal"
    " was down too long, and notify customer CUS-814 that the credit is recorded."
)


async def _outcome(redis_url: str, task: TaskRecord) -> TaskOutcome:
    redis = connect(redis_url)
    rows = await redis.xrange(keys.partition_keys_of(task.tenant, task.session_id).outcomes)
    await redis.aclose()
    found = [TaskOutcome.model_validate_json(fields["o"]) for _, fields in rows]
    return next(outcome for outcome in found if outcome.task_id == task.task_id)


@pytest.mark.promise("outcome.thresholds")
async def test_a_credit_as_computed_and_as_written_reaches_the_learner(stage: Stage, redis_url: str) -> None:
    """The limit of its process held: the credit is not over it, and nothing escalated."""
    task = await stage.send(_BREACH)
    assert task.state is TaskState.COMPLETED, task.reason
    told = [one for one in (await _outcome(redis_url, task)).thresholds if one.name == "sla_credit"]
    limit, figure = told
    assert (limit.sign, limit.predicted, limit.actual, limit.held) == (">", "10000", "224.00", True)
    assert (figure.predicted, figure.held) == ("224.00", True)
