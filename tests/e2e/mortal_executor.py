"""Real executors that die by SIGKILL at a chosen step of a turn, forked from a process that has everything imported.

``python -m tests.e2e.mortal_executor COUNT``: that many at a time, each with the executor's own settings and room for
one session; ``STEP_LOG`` names the file of steps. One that was killed is replaced at once.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from typing_extensions import override

from services.executor.adapters.mcp_tools import McpTools
from services.executor.bootstrap import run_executor
from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import Prompts
from services.executor.core.turn.worker import Worker
from services.executor.ports.turns import TurnRunner, TurnStore, TurnWork
from services.executor.settings import ExecutorSettings
from shared.contracts.tenant import Connection
from shared.infra.process import configure_logging, make_parent_death_hook
from tests.e2e.fuse import FUSE, Fuse
from tests.e2e.fused_ports import fused_ports, fused_store


class MortalWorker(TurnRunner):
    """The real worker; every step of a turn passes the turn's fuse."""

    def __init__(self, ports: Ports, limits: Limits, prompts: Prompts) -> None:
        self._worker = Worker(fused_ports(ports), limits, prompts)
        self._log = Path(os.environ["STEP_LOG"])

    @override
    async def run(self, work: TurnWork, store: TurnStore) -> None:
        FUSE.set(Fuse(self._log, work.record.session_id, work.attempts))
        await self._worker.run(work, fused_store(store))

    @override
    async def settle_open_writes(self, work: TurnWork, store: TurnStore) -> None:
        await self._worker.settle_open_writes(work, store)


def main(arguments: Sequence[str]) -> None:
    settings = ExecutorSettings()
    configure_logging("mortal")
    asyncio.run(_warm_up(settings))
    gc.collect()
    gc.freeze()  # what every fork shares, none of them has to look through
    ends_with_us = make_parent_death_hook(signal.SIGKILL)
    for _ in range(int(arguments[0])):
        _fork(settings, ends_with_us)
    while True:
        _, status = os.wait()
        if os.WIFSIGNALED(status):
            _fork(settings, ends_with_us)


async def _warm_up(settings: ExecutorSettings) -> None:
    """What a first discovery prepares, every fork has."""
    async with McpTools() as mcp:
        await mcp.discover(Connection(id="default", url=settings.green_agent_mcp_url))


def _fork(settings: ExecutorSettings, ends_with_us: Callable[[], None]) -> None:
    if os.fork() == 0:
        ends_with_us()
        asyncio.run(run_executor(settings, MortalWorker))
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
