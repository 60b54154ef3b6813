"""Clients that look at tasks all the time, so that a moment at which requests fail is met by one."""

import asyncio
from itertools import count

from tools.chaos.gateway_caller import GatewayCaller, RpcRefused
from tools.chaos.load import CLERK, Load

VISITORS = 3
_PAUSE = 0.04


class Visitors:
    def __init__(self, doors: GatewayCaller, load: Load) -> None:
        self._doors, self._load = doors, load

    async def serve(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(VISITORS):
                group.create_task(self._visit(number))

    async def _visit(self, first: int) -> None:
        for turn in count(first):
            known = [accepted.task_id for _, accepted in self._load.accepted_tasks()]
            if known:
                await self._look(known[turn % len(known)])
            await asyncio.sleep(_PAUSE)

    async def _look(self, task_id: str) -> None:
        try:
            await self._doors.view(task_id, CLERK)
        except RpcRefused as refusal:  # a task that was accepted is shown
            self._doors.failed.append(f"task {task_id} is not shown: {refusal}")
