"""Runs the heartbeat in a thread of its own, with an event loop and a connection of its own."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from threading import Event, Thread
from typing import NoReturn

from services.executor.core.turn.heartbeat import LeaseKeeper, RunsHeartbeat
from services.executor.ports.sessions import ExtendsLeases

OpensLeases = Callable[[], AbstractAsyncContextManager[ExtendsLeases]]


def heartbeat_in_thread(open_leases: OpensLeases) -> RunsHeartbeat:
    """A heartbeat that runs in its own thread, so that a long calculation of a session does not delay it."""

    async def run(keeper: LeaseKeeper) -> NoReturn:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        thread = _HeartbeatThread(keeper, open_leases, lambda: loop.call_soon_threadsafe(ended.set))
        thread.start()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(keeper.show_liveness())
                await ended.wait()
                raise RuntimeError("the heartbeat ended by itself") from thread.problem
        finally:
            thread.stop()
            await asyncio.to_thread(thread.join)

    return run


class _HeartbeatThread(Thread):
    """The thread of the heartbeat. ``problem``: the error that ended it, if any."""

    def __init__(self, keeper: LeaseKeeper, open_leases: OpensLeases, ended: Callable[[], object]) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._keeper, self._open_leases, self._ended = keeper, open_leases, ended
        self._ready = Event()
        self._is_stopping = False
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._keep_extending())
        except BaseException as error:  # noqa: BLE001  # a thread's error is nobody's unless it is handed over
            self.problem = error
        finally:
            self._ready.set()
            if not self._is_stopping:
                self._ended()

    def stop(self) -> None:
        """Stops the heartbeat from another thread, which then calls ``join``."""
        self._ready.wait()
        self._is_stopping = True
        if self.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _keep_extending(self) -> None:
        self._loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("no task runs here")
        self._task = task
        self._ready.set()
        async with self._open_leases() as leases:
            await self._keeper.keep_extending(leases)
