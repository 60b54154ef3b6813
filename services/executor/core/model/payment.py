"""Pays for one model call: its cost is reserved before it, by the task and in the tenant's day, and settled after
it.
"""

from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from services.executor.core.session.budget import (
    BudgetShare,
    BudgetSpent,
    Ceilings,
    Reservation,
    Settlement,
    bill_reply,
    dollars,
    size_of,
)
from services.executor.core.session.endings import RunEnds, TenantStopped
from services.executor.core.session.journal import Journal
from services.executor.ports.turns import Charge, DailySpend, DayCaps, HandedOver
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import TenantRecord
from shared.domain.model_price import NANO
from shared.ports.models import ModelReply, ModelRequest


class Day(NamedTuple):
    """One day of a tenant, in its own time zone."""

    tenant: str
    date: str


class Payer(NamedTuple):
    """Who pays for a call: one task, within its own ceilings and its tenant's day."""

    journal: Journal
    daily: DailySpend
    ceilings: Ceilings
    record: TaskRecord
    tenant: TenantRecord


class Payment:
    """The payment of one call: ``reserve`` before it, ``cost`` when its reply is there. The tenant's day is told with a
    later call, or when the turn has ended.
    """

    def __init__(
        self,
        payer: Payer,
        key: str,
        request: ModelRequest,
        purse: BudgetShare,
        *,
        cheaper: bool = False,
        before: ModelRequest | None = None,
    ) -> None:
        """``cheaper``: the request is put to a lower tier than its state's. ``before``: the request, as it was sent, of
        the same history that was answered last.
        """
        self._payer, self._key, self._request, self._purse = payer, key, request, purse
        self._cheaper = cheaper
        self._size = size_of(request, before)
        self._ceilings = payer.ceilings
        self._day = Day(payer.record.tenant, day_of(payer.journal.now, payer.tenant))
        self._caps = caps_of(payer.tenant)
        self._reservation: Reservation | None = None

    @property
    def affordable(self) -> ModelRequest:
        """The request, with its answer limited to what was reserved for it."""
        return self._request._replace(max_tokens=self._reserved.max_tokens)

    async def reserve(self) -> None:
        """Reserves the cost of the call. Raises ``BudgetSpent``, or whatever says that this run may not go on; then
        nothing stays reserved.
        """
        price = self._ceilings.tariff.of_tier(self._request.tier)
        output, spending = self._request.max_tokens, self._payer.journal.spending
        self._reservation = spending.reserve(self._key, self._size, output, self._ceilings, price, self._purse)
        if self._caps and not await self._reserve_in_day(self._caps):
            spending.release(self._reserved.name)
            raise BudgetSpent(_day_is_spent(self._caps, self._day))
        try:
            await self._payer.journal.reserve(self._reserved)
        except (RunEnds, TenantStopped, HandedOver):  # the call is not made
            self._payer.journal.release(self._reserved)
            await self._give_back()
            raise

    def cost(self, reply: ModelReply) -> Settlement:
        """The settlement of what the reply cost, which counts from now on."""
        price = self._ceilings.tariff.price_of(reply.asked or reply.model)
        amount, doubt = bill_reply(reply, self._size, price, self._reserved.max_tokens)
        settlement = Settlement(
            self._reserved.name, amount, self._day.date, self._cheaper, doubt, self._caps is not None
        )
        self._payer.journal.spending.settle(settlement)
        return settlement

    async def _reserve_in_day(self, caps: DayCaps) -> bool:
        """Whether the call fits in the tenant's day, in which it is then reserved. The same step settles earlier calls
        of this run whose replies are stored.
        """
        counted = self._payer.journal.take_counted(self._day.date)
        over = [settlement.charge(self._payer.record.task_id) for settlement in counted]
        return await self._payer.daily.reserve(*self._day, self._charge(), caps, over)

    async def _give_back(self) -> None:
        if self._caps:
            nothing = self._charge()._replace(tokens=0, nanos=0, reserved=True)
            await self._payer.daily.settle(*self._day, [nothing])

    def _charge(self) -> Charge:
        amount = self._reserved.amount
        return Charge(f"{self._payer.record.task_id}:{self._reserved.name}", amount.tokens, amount.nanos)

    @property
    def _reserved(self) -> Reservation:
        if self._reservation is None:
            raise AssertionError("nothing was set aside for this call")
        return self._reservation


def day_of(now: datetime, tenant: TenantRecord) -> str:
    """The date in the tenant's time zone."""
    return now.astimezone(ZoneInfo(tenant.time_zone)).date().isoformat()


def caps_of(tenant: TenantRecord) -> DayCaps | None:
    """What the tenant may use in a day; None if nothing limits it."""
    if tenant.tokens_per_day is None and tenant.dollars_per_day is None:
        return None
    money = tenant.dollars_per_day
    return DayCaps(tenant.tokens_per_day, None if money is None else int(Decimal(money) * NANO))


def _day_is_spent(caps: DayCaps, day: Day) -> str:
    tokens = [] if caps.tokens is None else [f"{caps.tokens:,} tokens"]
    money = [] if caps.nanos is None else [f"{dollars(caps.nanos)} US dollars"]
    return (
        f"the tenant's budget of {' and '.join([*tokens, *money])} for {day.date} does not allow a further model call"
    )
