"""Repeats questions that change nothing while the service that answers them is being replaced."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

RETRY_PAUSES = (0.3, 0.8, 1.5, 3.0)  # seconds between attempts: who was killed is back by then, on a busy machine too
RETRY_PATIENCE_SECONDS = 5.0  # of attempts; then nothing is asked again: who answers slowly is not asked five times


T = TypeVar("T")


async def retry_with_pauses(
    ask: Callable[[], Awaitable[T]],
    retry_on: tuple[type[Exception], ...],
    pauses: tuple[float, ...] = RETRY_PAUSES,
    patience: float = RETRY_PATIENCE_SECONDS,
    never: tuple[type[Exception], ...] = (),
) -> T:
    """The answer of ``ask``, which is repeated after each of ``pauses`` while it raises one of ``retry_on``.

    Errors in ``never`` are not retried. ``patience``: the total seconds that failed attempts and the next pause may
    take; if they would take longer, the error is raised.
    """
    clock = asyncio.get_running_loop().time
    spent = 0.0
    for pause in pauses:
        began = clock()
        try:
            return await ask()
        except never:
            raise
        except retry_on:
            spent += clock() - began
            if spent + pause > patience:
                raise
        await asyncio.sleep(pause)
    return await ask()
