"""`purple` as people run it, with an environment in which nothing is configured: a process of its own, or this one."""

import asyncio
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from typer.testing import CliRunner

from cli.main import app

_CONFIGURED = (
    "ANTHROPIC_",
    "REDIS_URL",
    "QUEUE_REDIS_URL",
    "GREEN_AGENT_MCP_URL",
    "TENANT_FILE",
    "UNRULED_WRITES",
    "ALLOW_OPEN",
    "AUTHENTICATION",
    "PURPLE_",
    "AGENT_API_KEY",
)
NOTHING: Mapping[str, str] = MappingProxyType({})


class Done(NamedTuple):
    code: int
    out: str
    err: str


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_CONFIGURED)}


async def start_purple(*arguments: str, environ: Mapping[str, str] = NOTHING) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cli.main",
        *arguments,
        env={**bare_environment(), **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def purple(*arguments: str, seconds: float = 100.0, environ: Mapping[str, str] = NOTHING) -> Done:
    """Run it to its end, within a bound."""
    process = await start_purple(*arguments, environ=environ)
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.terminate()
        out, err = await process.communicate()
    return Done(process.returncode if process.returncode is not None else -1, out.decode(), err.decode())


def run_purple(*arguments: str, environ: Mapping[str, str] = NOTHING) -> Done:
    """The same command in this process, for what starts a stack or takes signals: from a test that is no coroutine.

    What it starts is forked from what the stacks of other tests were forked from.
    """
    unset = dict.fromkeys(os.environ.keys() - bare_environment().keys())
    done = CliRunner().invoke(app, arguments, env={**unset, **environ})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


async def call_purple(*arguments: str, environ: Mapping[str, str] = NOTHING) -> Done:
    """The same in a thread, for what takes no signals and starts no stack."""
    return await asyncio.to_thread(run_purple, *arguments, environ=environ)
