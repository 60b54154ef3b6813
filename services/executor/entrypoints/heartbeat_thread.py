"""Runs the heartbeat in a thread of its own, with an event loop and a connection of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractAsyncContextManager, suppress
from typing import NoReturn

from services.executor.core.session.context import run_with_companion
from services.executor.core.turn.heartbeat import LeaseKeeper, RunHeartbeat
from services.executor.ports.sessions import LeaseExtender

OpenLeases = Callable[[], AbstractAsyncContextManager[LeaseExtender]]


def make_heartbeat_in_thread(open_leases: OpenLeases) -> RunHeartbeat:
    """A heartbeat that runs in its own thread, so that a long calculation of a session does not delay it."""

    async def run(keeper: LeaseKeeper) -> NoReturn:
        stop = Future[None]()
        beating = asyncio.create_task(asyncio.to_thread(asyncio.run, _extend_until(stop, keeper, open_leases)))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(keeper.keep_recording_liveness())
                await asyncio.shield(beating)
                raise RuntimeError("the heartbeat ended by itself")
        finally:
            with suppress(InvalidStateError):  # the thread has ended, and its wait with it
                stop.set_result(None)
            await asyncio.wait([beating])

    return run


async def _extend_until(stop: Future[None], keeper: LeaseKeeper, open_leases: OpenLeases) -> None:
    """Extends the leases until ``stop`` has a result, which another thread may set."""

    async def wait() -> None:
        await asyncio.wrap_future(stop)

    async with open_leases() as leases:
        await run_with_companion(wait(), keeper.keep_extending(leases))
