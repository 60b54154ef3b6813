"""A day without a meter: nothing is limited, nothing is counted."""

from typing_extensions import override

from services.executor.ports.spend import Charge, DailySpend, DayCaps


class Unmetered(DailySpend):
    @override
    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps) -> bool:
        return True

    @override
    async def settle(self, tenant: str, day: str, charge: Charge, *, reserved: bool) -> None:
        return
