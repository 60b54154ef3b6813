"""What waits for people, and what changed last, looked at once for all open pages of who see the same."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from services.gateway.core.approvals.desk import ApprovalDesk
from services.gateway.core.console.approvals import needs
from services.gateway.core.tasks.task_list import Query, TaskListDesk, owner_shown
from services.gateway.ports.approvals import Question
from services.gateway.ports.identity import Caller
from services.gateway.ports.learning import Statistics
from services.gateway.ports.tasks import StoreUnavailable

_FRESH = timedelta(seconds=1)
_MOST = 1000
_Sight = tuple[str, str | None]  # a tenant, and whose tasks and approvals are seen of it: one owner's, or all


class _Look:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at: datetime | None = None
        self.questions: Sequence[Question] = ()
        self.version = ""


class Glance:
    def __init__(
        self, desk: ApprovalDesk, lists: TaskListDesk, statistics: Statistics, clock: Callable[[], datetime]
    ) -> None:
        self._desk, self._lists, self._statistics, self.clock = desk, lists, statistics, clock
        self._looks: OrderedDict[_Sight, _Look] = OrderedDict()

    async def waiting(self, caller: Caller) -> Sequence[Question]:
        """What the caller may see waiting, no older than a second; raises ``StoreUnavailable``."""
        return (await self._look(caller)).questions

    async def version(self, caller: Caller) -> str:
        """A word that is another one whenever an approval or a task that the caller may see has changed, or something
        was learned.
        """
        return (await self._look(caller)).version

    async def _look(self, caller: Caller) -> _Look:
        sight = _sight_of(caller)
        look = self._looks.setdefault(sight, _Look())
        self._looks.move_to_end(sight)
        if len(self._looks) > _MOST:
            self._looks.popitem(last=False)
        async with look.lock:
            now = self.clock()
            if look.at is None or now - look.at > _FRESH:
                look.questions, newest = await self._desk.waiting(caller), await self._newest(caller)
                look.version, look.at = _version(look.questions, newest), now
        return look

    async def _newest(self, caller: Caller) -> str:
        found = await self._lists.tasks(Query(size=1), caller)
        learned = await self._learned(caller.tenant)
        told = [f"{one.task_id} {one.state} {one.updated_at}" for one in found.records]
        return " ".join([*told, str(found.total), learned])

    async def _learned(self, tenant: str) -> str:
        try:
            return str((await self._statistics.learning(tenant)).counts.get("events", 0))
        except StoreUnavailable:  # spoiled statistics are no reason to show no approvals
            return ""

    async def count(self, caller: Caller) -> int:
        """How many of them the caller can answer."""
        return len(needs(await self.waiting(caller), caller.principal, self.clock()))

    def forget(self, caller: Caller) -> None:
        """Look anew the next time: something was just answered."""
        self._looks.pop(_sight_of(caller), None)


def _sight_of(caller: Caller) -> _Sight:
    return caller.tenant, owner_shown(caller)


def _version(questions: Sequence[Question], newest: str) -> str:
    told = [newest, *(one.approval.model_dump_json() for one in questions)]
    return sha256("\n".join(told).encode()).hexdigest()[:16]
