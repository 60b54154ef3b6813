"""What waits for somebody, looked at once for all of their open pages."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from services.gateway.core.approvals import ApprovalDesk
from services.gateway.core.console_approvals import needs
from services.gateway.ports import Caller, Question

_FRESH = timedelta(seconds=1)
_MOST = 1000


class _Look:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at: datetime | None = None
        self.questions: Sequence[Question] = ()


class Glance:
    def __init__(self, desk: ApprovalDesk, clock: Callable[[], datetime]) -> None:
        self._desk, self.clock = desk, clock
        self._looks: OrderedDict[Caller, _Look] = OrderedDict()

    async def waiting(self, caller: Caller) -> Sequence[Question]:
        """What the caller may see waiting, no older than a second; raises ``StoreUnavailable``."""
        look = self._looks.setdefault(caller, _Look())
        self._looks.move_to_end(caller)
        if len(self._looks) > _MOST:
            self._looks.popitem(last=False)
        async with look.lock:
            now = self.clock()
            if look.at is None or now - look.at > _FRESH:
                look.questions, look.at = await self._desk.waiting(caller), now
        return look.questions

    async def count(self, caller: Caller) -> int:
        """How many of them the caller can answer."""
        return len(needs(await self.waiting(caller), caller.principal, self.clock()))

    def forget(self, caller: Caller) -> None:
        """Look anew the next time: something was just answered."""
        self._looks.pop(caller, None)
