"""Questions that change nothing, asked again while who should answer is being replaced."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

PAUSES = (0.3, 0.8, 1.5, 3.0)  # seconds between attempts: who was killed is back by then, on a busy machine too
PATIENCE = 5.0  # seconds of attempts after which nothing is asked again: who answers slowly is not asked five times

T = TypeVar("T")


async def retry_patiently(
    ask: Callable[[], Awaitable[T]],
    unless: tuple[type[Exception], ...],
    pauses: tuple[float, ...] = PAUSES,
    patience: float = PATIENCE,
    never: tuple[type[Exception], ...] = (),
) -> T:
    """The answer, asked for again after each pause; the last error if there is none, or none in time.

    ``patience`` is of the attempts alone: who refuses at once is asked after every pause.
    """
    clock = asyncio.get_running_loop().time
    spent = 0.0
    for pause in pauses:
        began = clock()
        try:
            return await ask()
        except never:
            raise
        except unless:
            spent += clock() - began
            if spent + pause > patience:
                raise
        await asyncio.sleep(pause)
    return await ask()
