"""The calculators that a model writes: stored in state Redis, and run on pydantic-monty, which is no CPython.

Its interpreters run in processes of their own without environment variables; one that runs too long is killed.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Self, cast

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.ports.services import CodeFailed, MadeTools, Sandbox, SandboxUnavailable, Tenants
from shared.contracts.made_tool import MadeTool
from shared.contracts.tenant import TenantRecord
from shared.infra import keys
from shared.infra.lua import Scripts, bounded_redis_calls
from shared.ports.store import StoreUnavailable

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty, OSPolicy, ResourceLimits

RUN_SECONDS = 0.25
MEMORY_BYTES = 16_000_000
_KILL_SECONDS = 2.0  # when the interpreter does not keep its own limit
_WAIT_SECONDS = 10.0  # for a free process
_MOST_PROCESSES = 2
_LONGEST_OUTPUT = 4_000  # characters of a result or a message; nothing may be printed
_RECURSION_LIMIT = 100
_RESOURCE_LIMITS: "ResourceLimits" = {
    "max_feed_duration_secs": RUN_SECONDS,
    "max_memory": MEMORY_BYTES,
    "max_recursion_depth": _RECURSION_LIMIT,
    "max_suspensions": 1,
    "max_total_sleep_secs": 0.0,
}
_SANDBOX_OS_POLICY: "OSPolicy" = {"sleep": "zero", "random_start": {"seed": 0}}


class MontySandbox(Sandbox):
    """A sandbox of interpreter processes. Leaving this async context manager ends the processes."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._pool: AsyncMonty | None = None
        self._starting = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run(self, program: str, inputs: Sequence[str]) -> str:
        pool = await self._start_pool()
        from pydantic_monty import CollectString, MontyCrashedError, MontyError  # loaded by now

        try:
            async with pool.checkout(limits=_RESOURCE_LIMITS, os_policy=_SANDBOX_OS_POLICY) as session:
                result = await session.feed_run(
                    program, inputs={"_inputs": list(inputs)}, print_callback=CollectString(0)
                )
        except (MontyCrashedError, TimeoutError, OSError) as error:
            raise _translate_crash(error) from error
        except (MontyError, ValueError, TypeError) as error:
            raise CodeFailed(_shorten_error(error)) from error
        if not isinstance(result, str) or len(result) > _LONGEST_OUTPUT:
            raise CodeFailed("it came to no decimal")
        return result

    async def _start_pool(self) -> "AsyncMonty":
        async with self._starting:
            if self._pool is None:
                try:
                    from pydantic_monty import AsyncMonty  # a few megabytes: only for those who run made tools

                    pool = AsyncMonty(
                        min_processes=1,
                        max_processes=_MOST_PROCESSES,
                        checkout_timeout=_WAIT_SECONDS,
                        request_timeout=_KILL_SECONDS,
                    )
                    self._pool = await self._stack.enter_async_context(pool)
                except (ImportError, OSError, RuntimeError) as error:
                    raise SandboxUnavailable(f"it cannot be started: {error}") from error
            return self._pool


def _translate_crash(error: Exception) -> CodeFailed | SandboxUnavailable:
    if getattr(error, "timed_out", False):
        return CodeFailed("TimeoutError: it was stopped, since it did not end")
    return SandboxUnavailable(f"{type(error).__name__}: {str(error)[:200]}")


def _shorten_error(error: Exception) -> str:
    """The last line of the error's text, which names the kind of error and the limit that was broken."""
    lines = str(error).strip().splitlines()
    return (lines[-1] if lines else type(error).__name__)[:200]


_TIMEOUT_SECONDS = 1.0  # a task goes on without made tools rather than wait for them
_MOST_VERSIONS = 500

log = structlog.get_logger()


class RedisMadeTools(MadeTools):
    """The made tools of tenants, in Redis."""

    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis, patience=0)

    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        async with bounded_redis_calls(_TIMEOUT_SECONDS):
            rows = await self._scripts.execute("HVALS", keys.learned_keys(tenant).made)
        tools: list[MadeTool] = []
        for row in cast("list[str]", rows):
            try:
                tools.append(MadeTool.model_validate_json(row))
            except ValidationError as error:  # written by a version that this one cannot read: a tool less
                log.warning("made_tool_unreadable", tenant=tenant, errors=error.error_count())
        return tuple(sorted(tools, key=lambda tool: (tool.name, tool.version)))

    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        """Implements ``MadeTools.store_version``.

        Processes never overwrite each other's versions, since a version is only stored if it does not exist.
        """
        key = keys.learned_keys(tenant).made
        while True:
            tools = await self.list_versions(tenant)
            versions = [stored_tool for stored_tool in tools if stored_tool.name == tool.name]
            if versions and versions[-1].code_sha256 == tool.code_sha256 and versions[-1].removed_at is None:
                return versions[-1]
            new_version = tool.model_copy(update={"version": versions[-1].version + 1 if versions else 1})
            if len(tools) >= _MOST_VERSIONS:
                return new_version
            async with bounded_redis_calls(_TIMEOUT_SECONDS):
                field = keys.made_tool_field(new_version.name, new_version.version)
                is_added = await self._scripts.execute("HSETNX", key, field, new_version.model_dump_json())
            if is_added:
                return new_version


class TenantsWithToolMakingSwitch(Tenants):
    """Tenants' records, whose ``made_tools`` a switch of operators overrules; off if Redis cannot be read."""

    def __init__(self, tenants: Tenants, redis: Redis) -> None:
        self._tenants, self._scripts = tenants, Scripts(redis, patience=0)

    async def get(self, tenant: str) -> TenantRecord:
        return _apply_tool_making_switch(*await asyncio.gather(self._tenants.get(tenant), self._read_switch(tenant)))

    @override
    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:
        record = self._tenants.get_at_version(tenant, version)
        return _apply_tool_making_switch(*await asyncio.gather(record, self._read_switch(tenant)))

    async def _read_switch(self, tenant: str) -> str | None:
        key = keys.learned_keys(tenant).switches
        try:
            async with bounded_redis_calls(_TIMEOUT_SECONDS):
                switch = await self._scripts.execute("HGET", key, keys.MADE_TOOLS_SWITCH)
        except StoreUnavailable as error:
            log.warning("made_tools_switch_not_read", tenant=tenant, error=str(error))
            return "off"
        return None if switch is None else str(switch)


def _apply_tool_making_switch(record: TenantRecord, switch: str | None) -> TenantRecord:
    return record if switch is None else record.model_copy(update={"made_tools": switch == "on"})
