"""What open pages of the console ask of the store, whoever looks at them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from services.gateway.features.approvals.service import Approvals, ApprovalService
from services.gateway.features.approvals.views import Question
from services.gateway.features.console.context import Glance
from services.gateway.features.identity.model import Caller
from services.gateway.features.learning.service import Learning, LearningHistory, LearningStatistics
from services.gateway.features.tasks.listing import ListPlace, Page, TaskLists, TaskListService, WantedTasks
from shared.contracts.task import Principal
from shared.domain.words import Role
from tests.unit.gateway.stream_stage import Played

pytestmark = pytest.mark.promise("console.looks")


class Store(TaskLists, Approvals, LearningStatistics):
    """``asked``: of which owner's tasks it was asked for a page, in order (None: of everybody's)."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    @override
    async def page(self, wanted: WantedTasks, size: int, after: ListPlace | None) -> Page:
        self.asked.append((wanted.tenant, wanted.owner))
        return Page((), None, 0)

    @override
    async def waiting(self, tenant: str) -> Sequence[Question]:
        return ()

    @override
    async def find(self, tenant: str, approval_id: str) -> Question | None:
        return None

    @override
    async def learning(self, tenant: str) -> Learning:
        return Learning()

    @override
    async def history(self, tenant: str) -> LearningHistory:
        return LearningHistory()


class Clock:
    now = datetime(2026, 1, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def _caller(name: str, role: Role, tenant: str = "acme") -> Caller:
    return Caller(tenant, Principal(id=name, roles=(role,), verified=True))


async def test_who_see_the_same_share_one_look_a_second() -> None:
    """However many approvers have their inbox open; a client's own tasks and another tenant are further looks."""
    store, clock = Store(), Clock()
    glance = Glance(ApprovalService(store, Played().desk(), clock), TaskListService(store), store, clock)
    crowd = [_caller(f"dana {number}", Role.APPROVER) for number in range(50)]
    others = [_caller("olga", Role.OPERATOR), _caller("anna", Role.CLIENT), _caller("gina", Role.APPROVER, "globex")]
    for caller in [*crowd, *others]:
        await glance.version(caller)
    clock.now += timedelta(seconds=2)
    await glance.version(crowd[0])

    assert store.asked == [("acme", None), ("acme", "anna"), ("globex", None), ("acme", None)]
