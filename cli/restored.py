"""`purple restored`: record that Redis was restored from a backup, so that no write made since then is repeated."""

import asyncio
import os
from typing import Annotated, cast

import typer
from redis.exceptions import RedisError

from cli.console import CommandError, find_own_command_name, out, print_json
from cli.stack.registry import find_stack_environ
from shared.domain.exact_json import dumps
from shared.infra import keys
from shared.infra.redis import connect
from shared.infra.redis_address import parse_redis_address

_TIMEOUT_SECONDS = 15.0


def restored(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """Record in the Redis at REDIS_URL that it was restored from a backup. Run this before any service connects.

    Writes of turns accepted before now that the backup has no record of are then not sent: they count as in doubt, and
    an operator decides on each (`purple task resolve`). The command may be run again.

    Examples:

      REDIS_URL=redis://... purple restored
    """
    moment = asyncio.run(record_restore(os.environ.get("REDIS_URL", "")))
    if as_json:
        print_json(dumps({"restored_us": moment}))
    else:
        out.print(
            "Noted. Writes of turns accepted before now are in doubt unless the backup knows them: purple task resolve"
        )


async def record_restore(url: str) -> int:
    """Record that the Redis at ``url`` was restored; returns the time of it, in microseconds by the server's clock.

    Raises ``CommandError``.
    """
    try:
        address = parse_redis_address(url)
    except ValueError as error:
        fault = "cannot be used" if url else "is not set"
        raise CommandError(f"REDIS_URL {fault}: it names the restored server.", _describe_running_redis(), 2) from error
    if address.kind == "cluster":
        raise CommandError(
            "On a cluster restores are not heeded: stop every tenant and look at each open task.", code=2
        )
    redis = connect(url)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            seconds, microseconds = cast("tuple[int, int]", await redis.time())
            moment = seconds * 1_000_000 + microseconds
            await redis.hset(keys.SERVER_LINEAGE_KEY, "restored", str(moment))  # type: ignore[misc]  # sync or async
    except (RedisError, OSError, TimeoutError) as error:
        raise CommandError(f"REDIS_URL does not answer ({type(error).__name__}).", code=2) from error
    finally:
        await redis.aclose()
    return moment


def _describe_running_redis() -> str:
    """Where the Redis of the stack that runs here is; empty if none does. It is not meant unless somebody says so."""
    url = find_stack_environ().get("REDIS_URL")
    return f"That of the stack that runs here: REDIS_URL={url} {find_own_command_name()} restored" if url else ""
