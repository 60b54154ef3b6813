"""A step with a companion: the companion lives no longer than the step, and may end it."""

import asyncio

import pytest

from services.executor.core.session.context import run_with_companion


async def test_what_the_companion_raises_ends_the_step() -> None:
    async def raises() -> None:
        raise LookupError("stop")

    with pytest.raises(LookupError, match="stop"):
        await run_with_companion(asyncio.sleep(60), raises())


async def test_a_step_that_swallows_a_cancellation_is_cancelled_by_the_next() -> None:
    begun, swallowed = asyncio.Event(), asyncio.Event()

    async def swallows_one() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.set()
        await asyncio.Event().wait()

    waiting = asyncio.create_task(run_with_companion(swallows_one(), asyncio.Event().wait()))
    await begun.wait()
    waiting.cancel()
    await swallowed.wait()
    waiting.cancel()
    assert await asyncio.wait([waiting], timeout=5) == ({waiting}, set())
    assert waiting.cancelled()
