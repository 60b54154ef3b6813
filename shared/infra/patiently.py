"""Questions that change nothing, asked again while who should answer is being replaced."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PAUSES = (0.3, 0.8, 1.5)  # seconds between attempts: a process that was killed is back by then
PATIENCE = 5.0  # seconds after which nothing is asked again: who answers slowly is not asked four times

T = TypeVar("T")


async def patiently(
    ask: Callable[[], Awaitable[T]],
    unless: tuple[type[Exception], ...],
    pauses: tuple[float, ...] = PAUSES,
    patience: float = PATIENCE,
    never: tuple[type[Exception], ...] = (),
) -> T:
    """The answer, asked for again after each pause; the last error if there is none, or none in time."""
    clock = asyncio.get_running_loop().time
    until = clock() + patience
    for pause in pauses:
        try:
            return await ask()
        except never:
            raise
        except unless:
            if clock() + pause > until:
                raise
        await asyncio.sleep(pause)
    return await ask()
