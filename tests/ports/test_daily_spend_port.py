"""``DailySpend``: what is set aside and spent never goes over the day's caps, however calls are repeated (I11)."""

import random

import pytest
from redis.asyncio import Redis

from shared.infra import keys
from shared.infra.daily_spend import RedisSpend
from shared.ports.daily_spend import Charge, DayCaps

pytestmark = pytest.mark.promise("budget.tenant_day")
DAY = "2026-03-01"
CAPS = DayCaps(tokens=100, nanos=1_000)


async def _counted(redis: Redis) -> tuple[int, int]:
    row = await redis.hgetall(keys.spend_key("acme", DAY))  # type: ignore[misc]  # redis-py's union with its sync client
    numbers = {name: int(value) for name, value in row.items() if not name.startswith("r:")}
    tokens = numbers.get("tokens", 0) + numbers.get("reserved_tokens", 0)
    return tokens, numbers.get("nanos", 0) + numbers.get("reserved_nanos", 0)


async def test_a_reservation_that_does_not_fit_is_refused(redis: Redis) -> None:
    """By either cap; what was refused is not set aside."""
    spend = RedisSpend(redis)
    fits = [
        await spend.reserve("acme", DAY, Charge("a", 60, 10), CAPS),
        await spend.reserve("acme", DAY, Charge("b", 41, 10), CAPS),
        await spend.reserve("acme", DAY, Charge("c", 1, 991), CAPS),
        await spend.reserve("acme", DAY, Charge("d", 40, 990), CAPS),
    ]
    assert fits == [True, False, False, True]
    assert await _counted(redis) == (100, 1_000)


async def test_what_is_told_twice_counts_once(redis: Redis) -> None:
    """A reservation, and the settlement that takes its place."""
    spend = RedisSpend(redis)
    for _ in range(2):
        assert await spend.reserve("acme", DAY, Charge("a", 60, 600), CAPS)
    for _ in range(2):
        await spend.settle_charges("acme", DAY, [Charge("a", 7, 70, is_reserved=True)])
    assert await _counted(redis) == (7, 70)


async def test_tenants_and_days_are_counted_apart(redis: Redis) -> None:
    """One tenant's spending is none of another's, nor of the next day's."""
    spend = RedisSpend(redis)
    await spend.settle_charges("acme", DAY, [Charge("a", 100, 0)])
    assert await spend.reserve("globex", DAY, Charge("a", 100, 0), CAPS)
    assert await spend.reserve("acme", "2026-03-02", Charge("a", 100, 0), CAPS)
    assert not await spend.reserve("acme", DAY, Charge("b", 1, 0), CAPS)


@pytest.mark.parametrize("seed", range(3))
async def test_the_caps_hold_whatever_is_asked_and_answered(redis: Redis, seed: int) -> None:
    """Two hundred calls, each billed no more than was set aside for it: nothing ever goes over."""
    chance, spend = random.Random(seed), RedisSpend(redis)  # noqa: S311  # no secret
    for _ in range(200):
        charge = Charge(f"call-{chance.randrange(40)}", chance.randrange(30), chance.randrange(300))
        if await spend.reserve("acme", DAY, charge, CAPS) and chance.random() < 0.9:
            await spend.settle_charges("acme", DAY, [charge._replace(tokens=0, nanos=0, is_reserved=True)])
        counted = await _counted(redis)
        assert counted[0] <= (CAPS.tokens or 0)
        assert counted[1] <= (CAPS.nanos or 0)
