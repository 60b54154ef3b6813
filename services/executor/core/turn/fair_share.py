"""Fair shares: how many sessions of one tenant run at once, in this process and over all executors.

In this process a tenant may take a further slot while it has fewer than nine times as many as are free: one tenant
alone fills nine tenths of the slots, and a tenant without a slot always gets one. Over all executors a tenant's cap
applies; a session over the cap is woken when another one of the tenant ends, or by the reaper.
"""

import asyncio
from collections import Counter
from typing import NamedTuple

import structlog

from services.executor.ports.policy import Tenants, UnknownTenant
from services.executor.ports.sessions import FreeSlotsByTenant, SessionWakes, SlotStore
from shared.ports.store import StoreUnavailable

_TENANT_SLOTS_PER_FREE_SLOT = 9  # that one tenant may have
_CAP_REACHED_SECONDS = 1.0  # for which a reached cap is believed to be, unless a session of the tenant ends here
log = structlog.get_logger()


class _CappedSlot(NamedTuple):
    cap: int
    had_slot: bool


class FairShareSlots:
    """The slots of this process, without which no session runs. To take one may raise ``StoreUnavailable``."""

    def __init__(self, store: SlotStore, tenants: Tenants, wakes: SessionWakes, slot_seconds: float) -> None:
        self._store, self._tenants, self._wakes = store, tenants, wakes
        self._slot_seconds = slot_seconds
        self._sessions_by_tenant: Counter[str] = Counter()
        self._with_slots: dict[tuple[str, str], _CappedSlot] = {}  # sessions of tenants with a cap
        self._cap_reached_until: dict[str, float] = {}  # by tenant whose cap was reached: until when that is believed

    def count_free_slots(self, free: int) -> FreeSlotsByTenant:
        """How many sessions of which tenants may be taken, with ``free`` slots free in this process."""
        now = asyncio.get_running_loop().time()
        self._cap_reached_until = {tenant: end for tenant, end in self._cap_reached_until.items() if end > now}
        shares = {
            tenant: compute_fair_slot_count(running, free) for tenant, running in self._sessions_by_tenant.items()
        }
        return FreeSlotsByTenant(
            free, compute_fair_slot_count(0, free), shares | dict.fromkeys(self._cap_reached_until, 0)
        )

    async def acquire(self, tenant: str, session_id: str) -> bool:
        """Whether the session got a slot. If not, its tenant's cap is reached, and it is woken when a slot is free."""
        self._sessions_by_tenant[tenant] += 1
        has_slot = False
        try:
            has_slot = await self._take_slot(tenant, session_id)
        finally:
            if not has_slot:
                self._subtract_session(tenant)
        if not has_slot:
            self._cap_reached_until[tenant] = asyncio.get_running_loop().time() + _CAP_REACHED_SECONDS
            await self._store.postpone_reaping(tenant, session_id)
        return has_slot

    async def release(self, tenant: str, session_id: str, *, has_run: bool = True) -> None:
        """Releases a slot of this process, and wakes the session that gets it. If the session has not run here, a slot
        that was taken for it before stays: another executor may be running it.
        """
        self._subtract_session(tenant)
        slot = self._with_slots.pop((tenant, session_id), None)
        if slot is not None and (has_run or not slot.had_slot):
            self._cap_reached_until.pop(tenant, None)
            for following in await self._store.release(tenant, session_id, slot.cap):
                await self._wakes.wake_ahead(tenant, following)

    async def keep_extending(self) -> None:
        """Extends this process's slots at intervals, until cancelled."""
        while True:
            await asyncio.sleep(self._slot_seconds / 3)
            try:
                await self._store.extend(sorted(self._with_slots), self._slot_seconds)
            except StoreUnavailable as error:
                log.warning("slots_not_kept", error=str(error))

    async def _take_slot(self, tenant: str, session_id: str) -> bool:
        try:
            cap = (await self._tenants.get(tenant)).max_running
        except UnknownTenant:  # its turns fail, each with the reason
            cap = None
        if cap is None:
            return True
        has_slot, to_wake, had_slot = await self._store.acquire(tenant, session_id, cap, self._slot_seconds)
        for following in to_wake:
            await self._wakes.wake_ahead(tenant, following)
        if has_slot:
            self._with_slots[tenant, session_id] = _CappedSlot(cap, had_slot)
        return has_slot

    def _subtract_session(self, tenant: str) -> None:
        self._sessions_by_tenant[tenant] -= 1
        if not self._sessions_by_tenant[tenant]:
            del self._sessions_by_tenant[tenant]


def compute_fair_slot_count(running: int, free: int) -> int:
    """How many free slots a tenant with ``running`` sessions may take. The last is kept for a tenant without any."""
    share = max(0, -(-(_TENANT_SLOTS_PER_FREE_SLOT * free - running) // (_TENANT_SLOTS_PER_FREE_SLOT + 1)))
    return max(0, min(share, free - 1)) if running or free > 1 else free
