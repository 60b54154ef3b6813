"""``python -m services.executor``: carries out turns until SIGTERM. ``bench-queue`` measures the queue."""

import asyncio
import sys

from pydantic import ValidationError

from services.executor.adapters.file_tenants import BadTenantFile
from services.executor.bootstrap import carry_out_turns
from services.executor.settings import Settings
from shared.infra.process import configure_logging
from shared.infra.redis import VolatileRedis
from shared.ports.store import StoreUnavailable

_CANNOT_START = 2


def main(arguments: list[str]) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting or a server that cannot be used."""
    if arguments and arguments[0] == "bench-queue":
        from services.executor.bench.queue import bench_queue  # only whoever measures needs it

        return bench_queue(arguments[1:])
    try:
        settings = Settings()
    except ValidationError as error:
        return _refuse(_sentence(error))
    configure_logging("executor")
    try:
        asyncio.run(carry_out_turns(settings))
    except (BadTenantFile, VolatileRedis) as error:
        return _refuse(str(error))
    except StoreUnavailable as error:
        return _refuse(f"REDIS_URL cannot be used: {error}")
    return 0


def _sentence(error: ValidationError) -> str:
    wrong = error.errors(include_url=False, include_input=False)[0]
    if not wrong["loc"]:
        return f"{wrong['msg'].removeprefix('Value error, ')}."
    name = str(wrong["loc"][0]).upper()
    return f"{name} is not set." if wrong["type"] == "missing" else f"{name} cannot be used: {wrong['msg']}."


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return _CANNOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
