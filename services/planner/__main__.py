"""``python -m services.planner [--allow-faults]``: serves the Messages API by rules until SIGTERM."""

# ruff: noqa: E402  # the collector is set aside between the imports
import argparse
import gc
import sys
from collections.abc import Sequence

gc.disable()  # whatever is imported stays: looking for garbage in it costs a sixth of the start

from services.planner.bootstrap import build_planner
from services.planner.settings import PlannerSettings
from shared.infra.counted_app import count_requests
from shared.infra.main_server import serve_until_stopped
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer

gc.freeze()
gc.enable()


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    options = _build_parser().parse_args(arguments)
    try:
        settings = read_settings(PlannerSettings, **({"planner_allow_faults": True} if options.allow_faults else {}))
    except CannotStart as problem:
        return print_start_problem(problem)
    configure_logging("planner", settings.log_level, settings.log_format)
    with open_tracer(settings, "planner") as tracer:
        serve_until_stopped(
            trace_requests(count_requests(build_planner(settings), "planner"), tracer), settings.host, settings.port
        )
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = build_service_parser("planner", "Rule-based planner, not an LLM.")
    parser.add_argument("--allow-faults", action="store_true", help="let requests and POST /faults switch faults on")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
