"""What a tenant's days have cost."""

from collections.abc import Sequence
from typing import Protocol

from services.gateway.ports.tenants import DaySpent


class Spending(Protocol):
    async def spent(self, tenant: str, dates: Sequence[str]) -> Sequence[DaySpent]:
        """One row for each of these days of the tenant's calendar, those without spending too.

        May raise ``StoreUnavailable``.
        """
        ...
