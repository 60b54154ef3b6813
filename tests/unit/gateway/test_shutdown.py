"""The waits that end when a replica's time to stop is over."""

import asyncio

import pytest

from services.gateway.edge.keep_alive import ShutdownState


@pytest.mark.promise("gateway.drains")
async def test_a_wait_whose_own_time_ends_in_the_same_moment_does_not_keep_the_others_from_ending() -> None:
    """The loop has run its time-out, and its task has not heard of it yet."""
    shutdown, loop = ShutdownState(), asyncio.get_running_loop()

    async def wait(seconds: float) -> bool:
        try:
            async with shutdown.limit_wait(seconds):
                await asyncio.Event().wait()
        except TimeoutError:
            return True
        return False

    waits = [asyncio.create_task(wait(3600)), asyncio.create_task(wait(0)), asyncio.create_task(wait(3600))]
    ended: asyncio.Future[None] = loop.create_future()

    def end_waits() -> None:
        try:
            shutdown.end_waits()
        except RuntimeError as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    loop.call_soon(lambda: loop.call_soon(end_waits))
    await ended
    assert await asyncio.wait_for(asyncio.gather(*waits), 5) == [True] * 3
