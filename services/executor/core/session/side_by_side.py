"""Runs independent steps at once, and raises their errors plainly."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Never, TypeVar, overload

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


async def side_by_side(steps: Iterable[Coroutine[object, Never, T]]) -> list[T]:
    """The results in order. If one raises, the others are cancelled and its error comes out as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(step) for step in steps]
    except BaseExceptionGroup as several:
        raise _first(several) from several
    return [task.result() for task in tasks]


async def run_beside(step: Coroutine[object, Never, T], companion: Coroutine[object, Never, object]) -> T:
    """The step's result. The companion is cancelled when the step has ended; what it raises before ends the step."""
    try:
        async with asyncio.TaskGroup() as group:
            beside, running = group.create_task(companion), group.create_task(step)
            running.add_done_callback(lambda _: beside.cancel())
    except BaseExceptionGroup as several:
        raise _first(several) from several
    return running.result()


@overload
async def run_together(first: Coroutine[object, Never, A], second: Coroutine[object, Never, B], /) -> tuple[A, B]: ...
@overload
async def run_together(
    first: Coroutine[object, Never, A], second: Coroutine[object, Never, B], third: Coroutine[object, Never, C], /
) -> tuple[A, B, C]: ...
async def run_together(*steps: Coroutine[object, Never, object]) -> tuple[object, ...]:
    """Runs steps of different kinds at once and returns their results; if one raises, the others are cancelled."""
    return tuple(await side_by_side(steps))


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
