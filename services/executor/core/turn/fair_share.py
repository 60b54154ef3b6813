"""Fair shares: how many sessions of one tenant are worked on at once, here and over all executors.

A session over its tenant's share waits without a lease. It is woken when one of the tenant's ends. A wake that is lost
is mended by the reaper, which looks at such a session again after half a minute.
"""

import asyncio
from collections import Counter, OrderedDict, defaultdict

import structlog
from typing_extensions import override

from services.executor.ports.policy import Tenants, UnknownTenant
from services.executor.ports.sessions import SessionSlots, SlotStore, Wakes
from shared.ports.store import StoreUnavailable

_KEPT_FREE = 10  # one in ten places of a process is for those tenants that do not fill the others

log = structlog.get_logger()


class Shares(SessionSlots):
    """One process's side. A tenant without a cap costs no round trip."""

    def __init__(self, store: SlotStore, tenants: Tenants, wakes: Wakes, capacity: int, seat_seconds: float) -> None:
        self._store, self._tenants, self._wakes = store, tenants, wakes
        self._most_here = capacity - capacity // _KEPT_FREE
        self._seat_seconds = seat_seconds
        self._here: Counter[str] = Counter()
        self._seated: set[tuple[str, str]] = set()  # sessions of tenants with a cap
        self._put_off: defaultdict[str, OrderedDict[str, None]] = defaultdict(OrderedDict)

    @override
    async def take(self, tenant: str, session_id: str) -> bool:
        if self._here[tenant] >= self._most_here:
            self._put_off[tenant][session_id] = None
            await self._store.put_off(tenant, session_id)
            return False
        self._here[tenant] += 1
        try:
            seated = await self._take_slot(tenant, session_id)
        except BaseException:
            self._here[tenant] -= 1
            raise
        if not seated:
            self._here[tenant] -= 1
            await self._store.put_off(tenant, session_id)
        return seated

    @override
    async def leave(self, tenant: str, session_id: str) -> None:
        self._here[tenant] -= 1
        following = self._next_here(tenant)
        if (tenant, session_id) in self._seated:
            self._seated.discard((tenant, session_id))
            following.append(await self._store.leave(tenant, session_id))
        for waiting in dict.fromkeys(following):
            if waiting is not None:
                await self._wakes.wake(tenant, waiting)

    @override
    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self._seat_seconds / 3)
            try:
                await self._store.extend(sorted(self._seated), self._seat_seconds)
            except StoreUnavailable as error:
                log.warning("seats_not_kept", error=str(error))

    async def _take_slot(self, tenant: str, session_id: str) -> bool:
        cap = await self._cap(tenant)
        if cap is None:
            return True
        if not await self._store.take(tenant, session_id, cap, self._seat_seconds):
            return False
        self._seated.add((tenant, session_id))
        return True

    def _next_here(self, tenant: str) -> list[str | None]:
        """The session that this process has put off for longest, if any; a tenant with nothing here is forgotten."""
        put_off = self._put_off[tenant]
        following: list[str | None] = [put_off.popitem(last=False)[0]] if put_off else []
        if not self._here[tenant]:
            del self._here[tenant]
        if not put_off:
            del self._put_off[tenant]
        return following

    async def _cap(self, tenant: str) -> int | None:
        try:
            return (await self._tenants.get(tenant)).max_running
        except UnknownTenant:  # its turns fail, each with the reason
            return None


class FreeSlots(SessionSlots):
    """Everybody may sit: for whoever runs sessions without tenants' records."""

    @override
    async def take(self, tenant: str, session_id: str) -> bool:
        return True

    @override
    async def leave(self, tenant: str, session_id: str) -> None:
        return

    @override
    async def keep(self) -> None:
        await asyncio.Event().wait()
