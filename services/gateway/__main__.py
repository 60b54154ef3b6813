"""``python -m services.gateway``: serves clients until SIGTERM, then finishes the requests under way."""

# ruff: noqa: E402  # the collector is set aside between the imports
import argparse
import gc
import sys
from collections.abc import Sequence

import structlog

gc.disable()  # whatever is imported stays: looking for garbage in it costs a sixth of the start

from services.gateway.bootstrap import build_app, build_shutdown_state
from services.gateway.first_key import FIRST_KEY_COMMAND, run_first_key_command
from services.gateway.settings import GatewaySettings
from shared.infra.counted_app import LoggedApp
from shared.infra.main_server import serve_until_stopped
from shared.infra.process import configure_logging
from shared.infra.starting import CannotStart, build_service_parser, print_start_problem, read_settings
from shared.infra.traced_app import trace_requests
from shared.infra.tracing import open_tracer

gc.freeze()
gc.enable()

log = structlog.get_logger()
_SETTING_BY_OPTION = {"host": "host", "port": "port", "card_url": "purple_agent_card_url"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gateway, or the command ``first-key``; returns the exit code: 2 for an invalid setting."""
    argv = sys.argv[1:] if arguments is None else arguments
    if list(argv[:1]) == [FIRST_KEY_COMMAND]:
        return run_first_key_command(argv[1:])
    options = vars(_parse_options(argv)).items()
    overrides = {_SETTING_BY_OPTION[name]: value for name, value in options if value is not None}
    try:
        settings = read_settings(GatewaySettings, **overrides)
    except CannotStart as problem:
        return print_start_problem(problem)
    configure_logging("gateway", settings.log_level, settings.log_format)
    if settings.profile == "production" and not settings.purple_agent_card_url:
        log.error("card_url_not_set", url=settings.card_url, set="PURPLE_AGENT_CARD_URL")
    shutdown = build_shutdown_state(settings)
    with open_tracer(settings, "gateway") as tracer:
        app = trace_requests(LoggedApp(build_app(settings, shutdown, tracer)), tracer)
        serve_until_stopped(app, settings.host, settings.port, shutdown)
    return 0


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = build_service_parser("gateway", "The A2A gateway.", {FIRST_KEY_COMMAND: "makes the first API key"})
    parser.add_argument("--host", help="address to bind (HOST)")
    parser.add_argument("--port", help="port to bind (PORT, 9010)")
    parser.add_argument("--card-url", help="public URL that the agent card names (PURPLE_AGENT_CARD_URL)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
