"""What model calls cost a tenant."""

from typing import NamedTuple, Protocol


class Charge(NamedTuple):
    """Fresh tokens and nano-dollars of one call; ``name`` is unique in the tenant."""

    name: str
    tokens: int
    nanos: int


class DayCaps(NamedTuple):
    """What a tenant may use in one day; None is no limit."""

    tokens: int | None = None
    nanos: int | None = None


class DailySpend(Protocol):
    """What each tenant spends by day, over all executors. Both may raise ``StoreUnavailable``."""

    async def reserve(self, tenant: str, day: str, charge: Charge, caps: DayCaps) -> bool:
        """Set the charge aside if it fits under the caps, with all that is spent and set aside; repeat it freely."""
        ...

    async def settle(self, tenant: str, day: str, charge: Charge, *, reserved: bool) -> None:
        """Count what the call did cost. ``reserved``: in place of what was set aside, and only if it still is."""
        ...
