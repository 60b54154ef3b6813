"""The sandbox on pydantic-monty: an interpreter of its own, in processes without an environment, which are killed late.

Nothing of CPython runs in it: no modules of the host, no frames, no classes to walk. Its processes are started when
the first program is run, not before.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from services.executor.ports.sandbox import CodeFailed, Sandbox, SandboxUnavailable

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty, OSPolicy, ResourceLimits

RUN_SECONDS = 0.25
MEMORY_BYTES = 16_000_000
_KILL_SECONDS = 2.0  # when the interpreter does not keep its own limit
_WAIT_SECONDS = 10.0  # for a free process
_PROCESSES = 2
_LONGEST = 4_000  # characters of a result or a message; nothing may be printed
_RECURSION = 100
_LIMITS: "ResourceLimits" = {
    "max_feed_duration_secs": RUN_SECONDS,
    "max_memory": MEMORY_BYTES,
    "max_recursion_depth": _RECURSION,
    "max_suspensions": 1,
    "max_total_sleep_secs": 0.0,
}
_POLICY: "OSPolicy" = {"sleep": "zero", "random_start": {"seed": 0}}


class MontySandbox(Sandbox):
    """As an async context manager, since it has processes to end."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._pool: AsyncMonty | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def run(self, program: str, inputs: Sequence[str]) -> str:
        pool = await self._start_pool()
        from pydantic_monty import CollectString, MontyCrashedError, MontyError  # loaded by now

        try:
            async with pool.checkout(limits=_LIMITS, os_policy=_POLICY) as session:
                result = await session.feed_run(
                    program, inputs={"_inputs": list(inputs)}, print_callback=CollectString(0)
                )
        except (MontyCrashedError, TimeoutError, OSError) as error:
            raise _late_or_gone(error) from error
        except (MontyError, ValueError, TypeError) as error:
            raise CodeFailed(_short(error)) from error
        if not isinstance(result, str) or len(result) > _LONGEST:
            raise CodeFailed("it came to no decimal")
        return result

    async def _start_pool(self) -> "AsyncMonty":
        async with self._starting:
            if self._pool is None:
                try:
                    from pydantic_monty import AsyncMonty  # a few megabytes: only for those who run made tools

                    pool = AsyncMonty(
                        min_processes=1,
                        max_processes=_PROCESSES,
                        checkout_timeout=_WAIT_SECONDS,
                        request_timeout=_KILL_SECONDS,
                    )
                    self._pool = await self._stack.enter_async_context(pool)
                except (ImportError, OSError, RuntimeError) as error:
                    raise SandboxUnavailable(f"it cannot be started: {error}") from error
            return self._pool


def _late_or_gone(error: Exception) -> CodeFailed | SandboxUnavailable:
    if getattr(error, "timed_out", False):
        return CodeFailed("TimeoutError: it was stopped, since it did not end")
    return SandboxUnavailable(f"{type(error).__name__}: {str(error)[:200]}")


def _short(error: Exception) -> str:
    """The last line of what was raised: the kind of error and its limit, without the code around it."""
    lines = str(error).strip().splitlines()
    return (lines[-1] if lines else type(error).__name__)[:200]
