"""What an optional part of the executor gets, and what it adds to the worker's ports."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeAlias

from redis.asyncio import Redis

from services.executor.core.session.context import Ports
from services.executor.settings import ExecutorSettings


@dataclass(frozen=True)
class ExecutorPartHost:
    """What an optional part gets of the executor. ``state``: the Redis of durable state."""

    settings: ExecutorSettings
    state: Redis


EquipPorts: TypeAlias = Callable[[Ports], Ports]
# Entered when the executor starts, and left when no session runs any more.
OpenPart: TypeAlias = Callable[[ExecutorPartHost], AbstractAsyncContextManager[EquipPorts]]
