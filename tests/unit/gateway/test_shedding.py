"""While too much work waits, new messages are refused with a time after which they may come again."""

from datetime import UTC, datetime

import pytest
import structlog
from typing_extensions import override

from services.gateway.edge.errors import TooManyRequests
from services.gateway.features.tasks.guarded_tasks import GuardedTasks
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.words import Dialect
from shared.ports.meter import NoMeter
from shared.ports.tasks import Accepted, TooManyWait
from tests.doubles.gateway_doubles import MemoryTasks

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANNA = Principal(id="anna")


class FullTasks(MemoryTasks):
    @override
    async def accept(self, record: TaskRecord, turn: Turn, dedupe: str | None) -> Accepted:
        raise TooManyWait(7)


@pytest.mark.promise("gateway.sheds_load")
async def test_a_refusal_says_when_to_come_again_and_the_log_says_so_now_and_then() -> None:
    time = 100.0
    tasks = GuardedTasks(FullTasks(), NoMeter(), clock=lambda: time)
    record = TaskRecord(
        tenant="acme",
        task_id="t1",
        session_id="s1",
        dialect=Dialect.A2A_1_0,
        requester=ANNA,
        request=TaskRequest(text="x"),
        accepted_at=NOW,
        updated_at=NOW,
    )
    turn = Turn(turn_id="t1", task_id="t1", kind=TurnKind.MESSAGE, principal=ANNA, received_at=NOW)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(TooManyRequests) as caught:
                await tasks.accept(record, turn, None)
        time += 11.0
        with pytest.raises(TooManyRequests):
            await tasks.accept(record, turn, None)

    assert caught.value.wait == 5
    assert [(line["event"], line["waiting"]) for line in logs] == [("load_shedding", 7)] * 2
