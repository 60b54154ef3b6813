"""``python -m services.executor`` runs the worker until SIGTERM. The subcommand ``tools`` lists a server's tools,
``connections`` tries a tenant's connections, and ``replay`` runs an archived task again.
"""

# ruff: noqa: E402  # the collector is set aside between the imports
import gc
import sys
from collections.abc import Sequence

import uvloop

gc.disable()  # whatever is imported stays: looking for garbage in it costs a quarter of the start

from services.executor.adapters.stored_tenants import BadTenantFile
from services.executor.bootstrap import run_executor
from services.executor.core.turn.worker import Worker
from services.executor.settings import ExecutorSettings
from shared.infra.process import configure_logging
from shared.infra.redis import VolatileRedis
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.tracing import open_tracer
from shared.ports.store import StoreUnavailable

gc.freeze()
gc.enable()

_COMMANDS = {
    "tools": "lists a server's tools as the worker sees them",
    "connections": "tries a tenant's connections",
    "replay": "runs an archived task again, in memory",
}


def main(arguments: Sequence[str]) -> int:
    """Runs the service or a subcommand; returns the exit code: 0 after an orderly stop, 2 for a setting or a server
    that cannot be used.
    """
    if arguments and arguments[0] == "tools":
        from services.executor.tool_listing import show_tools  # imported by this command alone

        return show_tools(arguments[1:])
    if arguments and arguments[0] == "connections":
        from services.executor.connection_trials import try_connections  # imported by this command alone

        return try_connections(arguments[1:])
    if arguments and arguments[0] == "replay":
        from services.executor.replaying import show_replay  # imported by this command alone

        return show_replay(arguments[1:], Worker)
    build_service_parser("executor", "Works on accepted tasks.", _COMMANDS).parse_args(arguments)
    try:
        settings = read_settings(ExecutorSettings)
        configure_logging("executor", settings.log_level, settings.log_format)
        with open_tracer(settings, "executor") as tracer:
            uvloop.run(run_executor(settings, Worker, tracer))
    except (CannotStart, BadTenantFile, VolatileRedis) as problem:
        return print_start_problem(problem)
    except StoreUnavailable as error:
        return print_start_problem(CannotStart(f"REDIS_URL cannot be used: {error}"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
