"""States of tasks in the words of early 2025."""

import pytest

from services.gateway.features.tasks.views import legacy_view
from shared.domain.exact_json import plain
from shared.domain.words import TaskState
from tests.doubles.redis_tasks import a_record
from tests.integration.gateway_stage import at

_KNOWN = {"submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"}


@pytest.mark.promise("gateway.conformance_legacy")
@pytest.mark.parametrize("state", TaskState)
def test_a_state_is_one_that_the_early_protocol_knows(state: TaskState) -> None:
    """It has no word for a refusal, which is a failure there; the reason is told with it."""
    ended = a_record().model_copy(update={"state": state, "reason": "why"})
    shown = plain(legacy_view(ended, "t1", None, ""))
    told = at(shown, "status.state")
    assert told in _KNOWN
    assert told == ("failed" if state is TaskState.REJECTED else state.value)
    assert at(shown, "status.message.parts.0.text") == "why"
