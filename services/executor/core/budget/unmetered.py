"""A day without a meter: nothing is limited, nothing is counted."""

from collections.abc import Sequence

from typing_extensions import override

from services.executor.ports.spend import Charge, DailySpend, DayCaps


class Unmetered(DailySpend):
    @override
    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps, over: Sequence[Charge] = ()) -> bool:
        return True

    @override
    async def settle(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        return
