"""What model calls cost a tenant."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from typing_extensions import override

from services.executor.ports.turns import Charge


class DayCaps(NamedTuple):
    """What a tenant may use in one day; None is no limit."""

    tokens: int | None = None
    nanos: int | None = None


class DailySpend(Protocol):
    """What each tenant spends by day, over all executors. Both may raise ``StoreUnavailable``."""

    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps, over: Sequence[Charge] = ()) -> bool:
        """Set the charge aside if it fits under the caps, with all that is spent and set aside; repeat it freely.

        ``over`` is settled in the same step, before that.
        """
        ...

    async def settle(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        """Count what calls did cost: a reserved one in place of what was set aside, and only if it still is."""
        ...


class Unmetered(DailySpend):
    @override
    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps, over: Sequence[Charge] = ()) -> bool:
        return True

    @override
    async def settle(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        return
