"""What an operator is told of a write in doubt before the word `retry`: since when nobody waits for its answer."""

from datetime import UTC, datetime

import pytest

from services.executor.core.session.ledger import brief_operator, describe_doubt
from services.gateway.features.console.views.tasks import doubts_of
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import i_json
from shared.domain.words import TaskState, ToolClass, WriteStatus
from tests.doubles.redis_tasks import a_record

pytestmark = pytest.mark.promise("doubt.late_application")

_CALL = PlannedCall(
    call_id="c1", connection_id="co", tool="pay_invoice", tool_class=ToolClass.CHANGE, arguments_json='{"id":"I-1"}'
)
_SILENT = LedgerEntry(
    key="t:h:c1",
    call=_CALL,
    arguments_json='{"id":"I-1"}',
    plan_hash="h",
    status=WriteStatus.IN_DOUBT,
    sending_at=datetime(2026, 4, 1, 12, 0, 5, tzinfo=UTC),
    open_until=datetime(2026, 4, 1, 12, 0, 41, tzinfo=UTC),
)


def test_an_operator_is_told_that_a_silent_server_may_apply_the_call_later() -> None:
    told = brief_operator([_SILENT])
    assert "sent 12:00:05, waited for until 12:00:41 UTC" in told
    assert "may apply it later: look there before you say retry" in told


def test_the_console_shows_until_when_an_operator_may_decide() -> None:
    until = datetime(2026, 4, 2, 12, 0, tzinfo=UTC)
    told = i_json(describe_doubt(_SILENT.model_copy(update={"decide_by": until})))
    record = a_record().model_copy(update={"state": TaskState.INPUT_REQUIRED, "metadata": {"doubts": [told]}})

    (doubt,) = doubts_of(record)

    assert (doubt.call_id, doubt.deadline) == ("c1", until)
