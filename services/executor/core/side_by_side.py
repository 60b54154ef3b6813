"""Independent steps at once, with plain errors."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(steps: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. If one raises, the others are cancelled and its error comes out as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as several:
        raise _first(several) from several
    return [task.result() for task in tasks]


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
