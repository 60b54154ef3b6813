"""``python -m services.simulator [--host H] [--port P] [--admin-key-file F]``: serves worlds until SIGTERM."""

import argparse
import sys
from collections.abc import Sequence

from services.simulator.bootstrap import build
from services.simulator.settings import SimulatorSettings
from shared.infra.counted_app import count_requests
from shared.infra.main_server import serve_until_stopped
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    options = vars(_build_parser().parse_args(arguments))
    try:
        settings = read_settings(
            SimulatorSettings, **{name: value for name, value in options.items() if value is not None}
        )
        app = build(settings)
    except (CannotStart, OSError) as problem:
        return print_start_problem(problem)
    configure_logging("simulator", settings.log_level, settings.log_format)
    with open_tracer(settings, "simulator") as tracer:
        serve_until_stopped(
            trace_requests(count_requests(app, "simulator"), tracer), settings.host, settings.port, has_websockets=True
        )
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = build_service_parser("simulator", "Simulated worlds of a user.")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--admin-key", dest="ues_admin_key", help="better given as UES_ADMIN_KEY: others see arguments")
    parser.add_argument("--admin-key-file", dest="ues_admin_key_file")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
