"""``python -m services.learner`` learns from ended tasks until SIGTERM. ``report`` prints benchmark reports."""

# ruff: noqa: E402  # the collector is set aside between the imports
import gc
import sys
from collections.abc import Sequence

import uvloop

gc.disable()  # whatever is imported stays: looking for garbage in it costs a sixth of the start

from services.learner.bootstrap import run_learner
from services.learner.settings import LearnerSettings
from shared.infra.process import configure_logging
from shared.infra.redis import VolatileRedis
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.tracing import open_tracer
from shared.ports.store import StoreUnavailable

gc.freeze()
gc.enable()

_COMMANDS = {"report": "prints benchmark reports"}


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the service or ``report``; returns the exit code: 2 for a setting or a server that cannot be used."""
    if arguments and arguments[0] == "report":
        from services.learner.reporting import run_report_command  # imported by this command alone

        return run_report_command(arguments[1:])
    build_service_parser("learner", "Learns from ended tasks.", _COMMANDS).parse_args(arguments)
    try:
        settings = read_settings(LearnerSettings)
        configure_logging("learner", settings.log_level, settings.log_format)
        with open_tracer(settings, "learner") as tracer:
            uvloop.run(run_learner(settings, tracer))
    except (CannotStart, VolatileRedis) as problem:
        return print_start_problem(problem)
    except StoreUnavailable as error:
        return print_start_problem(CannotStart(f"REDIS_URL cannot be used: {error}"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
