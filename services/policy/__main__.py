"""``python -m services.policy`` serves verdicts until SIGTERM, then finishes the requests in progress.

``check`` and ``backtest`` try a policy before it takes effect.
"""

# ruff: noqa: E402  # the collector is set aside between the imports
import gc
import sys
from collections.abc import Sequence

gc.disable()  # whatever is imported stays: looking for garbage in it costs a sixth of the start

from services.policy.entrypoints.commands import run_backtest_command, run_check_command
from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.infra.counted_app import CountedApp
from shared.infra.main_server import serve_until_stopped
from shared.infra.metrics import Metrics, MetricsPage
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer

gc.freeze()
gc.enable()

_COMMANDS = {
    "check": "tells what a policy means and what it decides",
    "backtest": "tells what a policy would have decided for archived plans",
}


def main(arguments: Sequence[str]) -> int:
    """Runs the service or a command; returns the exit code: 2 for a setting that cannot be used."""
    if arguments and arguments[0] == "check":
        return run_check_command(arguments[1:])
    if arguments and arguments[0] == "backtest":
        return _run_backtest(arguments[1:])
    build_service_parser("policy", "Gives verdicts over planned calls, without a model.", _COMMANDS).parse_args(
        arguments
    )
    try:
        settings = read_settings(PolicySettings)
    except CannotStart as problem:
        return print_start_problem(problem)
    configure_logging("policy", settings.log_level, settings.log_format)
    with open_tracer(settings, "policy") as tracer:
        metrics = Metrics("policy")
        app = CountedApp(build_application(settings.max_body_bytes, metrics), metrics, MetricsPage(metrics))
        serve_until_stopped(trace_requests(app, tracer), settings.host, settings.port)
    return 0


def _run_backtest(arguments: Sequence[str]) -> int:
    from shared.infra.archive_open import ArchiveSettings  # imports cryptography, which only the archive commands need

    try:
        archive = read_settings(ArchiveSettings).open_task_archive()
    except CannotStart as problem:
        return print_start_problem(problem)
    if archive is None:
        return print_start_problem(CannotStart("ARCHIVE_URL is not set: it names the archive of ended tasks."))
    return run_backtest_command(arguments, archive)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
