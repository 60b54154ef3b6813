"""The port to what each tenant spends in a day, under the caps of its record."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from typing_extensions import override

from shared.contracts.tenant import TenantRecord
from shared.domain.model_price import NANOS_PER_DOLLAR


class Charge(NamedTuple):
    """The cost of one call in tokens (output, and input that no cache held) and nano-dollars.

    ``name`` is unique in the tenant. ``is_reserved``: the highest cost of the call was reserved before it.
    """

    name: str
    tokens: int
    nanos: int
    is_reserved: bool = False


class DayCaps(NamedTuple):
    """What a tenant may use in one day; None means unlimited."""

    tokens: int | None = None
    nanos: int | None = None


def read_daily_caps(tenant: TenantRecord) -> DayCaps | None:
    """The tenant's daily caps; None if it has none."""
    if tenant.tokens_per_day is None and tenant.dollars_per_day is None:
        return None
    money = tenant.dollars_per_day
    return DayCaps(tenant.tokens_per_day, None if money is None else int(money * NANOS_PER_DOLLAR))


class DailySpend(Protocol):
    """What each tenant spends by day, over all processes. Every method may raise ``StoreUnavailable``."""

    async def reserve(
        self, tenant: str, day: str, charge: Charge, caps: DayCaps, settled: Sequence[Charge] = ()
    ) -> bool:
        """Reserves the charge; False if it does not fit under the caps together with everything spent and reserved.

        May be repeated. ``settled``: charges of earlier calls, which the same step counts first.
        """

    async def settle_charges(self, tenant: str, day: str, charges: Sequence[Charge]) -> None:
        """Counts what calls cost. A reserved charge replaces its reservation, and counts only if that still exists."""


class UnlimitedSpend(DailySpend):
    @override
    async def reserve(
        self, tenant: str, day: str, charge: Charge, caps: DayCaps, settled: Sequence[Charge] = ()
    ) -> bool:
        return True

    async def settle_charges(self, tenant: str, day: str, charges: Sequence[Charge]) -> None: ...
