"""``python -m services.assessor [--host H] [--port P] ...``: measures agents until SIGTERM.

``check [SCENARIO ...]`` tells whether scenarios can be used; ``days`` writes some from a seed. Every option of the
service is a variable too, in capitals;
``AGENTBEATS_GREEN_`` before the name is read as well.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from services.assessor.bootstrap import build
from services.assessor.checking import check_scenarios
from services.assessor.core.days.generation import DIFFICULTIES
from services.assessor.generating import write_days
from services.assessor.settings import AssessorSettings, GreenAgentConfig, read_older_names
from shared.infra.counted_app import count_requests
from shared.infra.main_server import serve_until_stopped
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer
from shared.ports.simulator import SimulatorFailed

_COMMANDS = {"check": "tells whether scenarios can be used", "days": "writes scenarios from a seed"}


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    if arguments and arguments[0] == "check":
        return _run_check(arguments[1:])
    if arguments and arguments[0] == "days":
        return _run_days(arguments[1:])
    options = {name: value for name, value in vars(_build_parser().parse_args(arguments)).items() if value is not None}
    try:
        settings = read_settings(AssessorSettings, **{**read_older_names(), **options})
        with open_tracer(settings, "assessor") as tracer:
            app = build(settings, tracer=tracer)
            configure_logging("assessor", settings.log_level, settings.log_format)
            serve_until_stopped(trace_requests(count_requests(app, "assessor"), tracer), settings.host, settings.port)
    except CannotStart as problem:
        return print_start_problem(problem)
    return 0


def _run_check(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m services.assessor check", description="Tells whether scenarios can be used."
    )
    parser.add_argument("scenario", nargs="*", help="all of them, if none is named")
    parser.add_argument("--scenarios-dir", type=Path)
    options = parser.parse_args(arguments)
    folder_option = {"scenarios_dir": options.scenarios_dir} if options.scenarios_dir else {}
    try:
        config = read_settings(GreenAgentConfig, **{**read_older_names(), **folder_option})
        return asyncio.run(check_scenarios(config, options.scenario))
    except (CannotStart, SimulatorFailed) as problem:
        return print_start_problem(problem)


def _run_days(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m services.assessor days", description="Writes scenarios from a seed."
    )
    parser.add_argument("--seed", required=True, help="the same seed makes the same days")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--difficulty", choices=DIFFICULTIES, help="in turn, unless one is named")
    parser.add_argument("--scenarios-dir", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        return write_days(options.scenarios_dir, options.seed, options.count, options.difficulty)
    except FileExistsError as problem:
        return print_start_problem(
            CannotStart(f"There is {Path(problem.filename).parent} already; no day is written over.")
        )
    except OSError as problem:
        return print_start_problem(problem)


def _build_parser() -> argparse.ArgumentParser:
    parser = build_service_parser("assessor", "Measures agents in simulated worlds.", _COMMANDS)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--card-url", help="where clients reach this service from outside")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    parser.add_argument("--verbose-updates", action=argparse.BooleanOptionalAction)
    parser.add_argument("--ues-base-port", type=int)
    parser.add_argument("--scenarios-dir")
    parser.add_argument("--default-max-turns", type=int)
    parser.add_argument("--default-turn-timeout", type=float)
    parser.add_argument("--response-model", dest="response_generator_model")
    parser.add_argument("--summarization-model")
    parser.add_argument("--evaluation-model")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
