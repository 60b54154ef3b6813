"""What an optional part of the executor is given, and what it puts into the ports of the worker."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeAlias

from redis.asyncio import Redis

from services.executor.core.session.context import Ports
from services.executor.settings import ExecutorSettings


@dataclass(frozen=True)
class ExecutorPartHost:
    """The executor as a part sees it. ``state``: the Redis of durable state."""

    settings: ExecutorSettings
    state: Redis


EquipPorts: TypeAlias = Callable[[Ports], Ports]
# Entered when the executor starts, and left when no session runs any more.
BuildPart: TypeAlias = Callable[[ExecutorPartHost], AbstractAsyncContextManager[EquipPorts]]
