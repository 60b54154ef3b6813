"""Somebody with good keys of one tenant who asks for the tasks of another: nobody may let them in."""

import asyncio
from collections.abc import Sequence

from cli.gateway.messages import Speaker
from tools.chaos.evidence import Crossing
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.load import Load
from tools.chaos.people import OPERATOR

_MOST = 6  # tasks at once: the newest
_SECONDS = 15.0


class Intruder:
    """``let_in``: what was shown or done. An operator's key is shown, which opens every task of its own tenant."""

    def __init__(self, gateways: GatewayCaller, load: Load, tenants: Sequence[str]) -> None:
        self._gateways = gateways
        self._load = load
        self._tenants = tuple(tenants)
        self.let_in: list[Crossing] = []

    async def try_all(self) -> int:
        """Look at the newest tasks, and cancel them, with another tenant's key; how often a gateway answered."""
        newest = [accepted for _, accepted in self._load.accepted_tasks()][-_MOST:]
        return sum(await asyncio.gather(*(self._try_task(task) for task in newest)))

    async def _try_task(self, task: AcceptedTask) -> int:
        other = self._tenants[(self._tenants.index(task.tenant) + 1) % len(self._tenants)]
        try:
            async with asyncio.timeout(_SECONDS):
                return sum([await self._is_answered(task, other, method) for method in ("tasks/get", "tasks/cancel")])
        except TimeoutError:  # no gateway answers
            return 0

    async def _is_answered(self, task: AcceptedTask, other: str, method: str) -> bool:
        speaker: Speaker = OPERATOR
        try:
            await self._gateways.ask_about_task(task.task_id, method, speaker, other)
        except RpcRefused:
            return True
        told = f"{method} with a key of tenant {other} was answered, and the task is of tenant {task.tenant}"
        self.let_in.append(Crossing(task.task_id, told))
        return True
