"""Ready-made tasks and turns for tests of the durable state."""

from datetime import UTC, datetime
from uuid import uuid4

from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.words import A2aVersion

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ANNA = Principal(id="anna")


def a_record(session_id: str = "s1", task_id: str | None = None, principal: Principal = ANNA) -> TaskRecord:
    return TaskRecord(
        tenant="acme",
        task_id=task_id or f"t-{uuid4().hex[:8]}",
        session_id=session_id,
        dialect=A2aVersion.LEGACY,
        requester=principal,
        request=TaskRequest(text="approve expense 7"),
        accepted_at=NOON,
        updated_at=NOON,
    )


def a_turn(record: TaskRecord, kind: TurnKind = TurnKind.MESSAGE, text: str = "", by: Principal | None = None) -> Turn:
    return Turn(
        turn_id=f"turn-{uuid4().hex[:8]}",
        task_id=record.task_id,
        kind=kind,
        principal=by or record.requester,
        received_at=NOON,
        text=text,
    )
