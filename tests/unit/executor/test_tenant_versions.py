"""A record that changes between two turns of one task: its policies stay those that the task began with."""

import pytest
from typing_extensions import override

from services.executor.ports.policy import Tenants
from shared.contracts.policy import Policy
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.words import TaskState
from tests.unit.executor.stage import Stage, decision, office

pytestmark = pytest.mark.promise("tenant.record_next_turn")


class Versions(Tenants):
    """Every version there was; ``now`` holds."""

    def __init__(self, *records: TenantRecord) -> None:
        self._records = {record.version: record for record in records}
        self.now = records[0]

    @override
    async def get(self, tenant: str) -> TenantRecord:
        return self.now

    @override
    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:
        return self.now.model_copy(update={"policies": self._records[version].policies})


def version(number: str, policy: str, url: str = "http://office") -> TenantRecord:
    connections = (Connection(id="office", url=url),)
    update = {"version": number, "policies": (Policy(id=policy, version=number),), "connections": connections}
    return office().model_copy(update={**update, "unruled_writes": "approve"})


async def test_a_task_that_waits_keeps_its_policies_and_takes_up_new_addresses() -> None:
    """The decision comes after the record was changed; a task that begins then has the new policies."""
    first, second = version("1", "old"), version("2", "new", "http://moved")
    play = Stage()
    tenants = Versions(first, second)
    play.tenants = tenants  # type: ignore[assignment]  # another double of the same port
    waiting = await play.run()
    asked_first = len(play.policy.asked)
    tenants.now = second
    done = await play.run(decision("approve"))
    policies = [
        {policy.id for policy in request.policies if not policy.id.startswith("process")}
        for request in play.policy.asked
    ]
    assert (waiting.state, done.state) == (TaskState.INPUT_REQUIRED, TaskState.COMPLETED)
    assert len(play.policy.asked) > asked_first > 0
    assert all(ids <= {"old"} for ids in policies)
    assert play.claims.applied == ["C-1"]
