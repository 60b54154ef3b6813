"""``python -m services.gateway``: serves clients until SIGTERM, then finishes what it has begun."""

import argparse
import signal
import sys
from collections.abc import Sequence

import uvicorn
from pydantic import ValidationError

from services.gateway.bootstrap import build
from services.gateway.settings import Settings
from shared.infra.process import configure_logging, tune_gc

_GRACE_SECONDS = 10
_VARIABLES = {"host": "HOST", "port": "PORT", "card_url": "PURPLE_AGENT_CARD_URL"}


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    given = {key: value for key, value in vars(_options(arguments)).items() if value is not None}
    try:
        settings = Settings(**{_VARIABLES[key].lower(): value for key, value in given.items()})
    except ValidationError as error:
        sys.stderr.write(f"{_sentence(error)}\n")
        return 2
    configure_logging("gateway")
    _serve(settings)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m services.gateway", description="The A2A gateway.")
    parser.add_argument("--host", help="address to bind (HOST)")
    parser.add_argument("--port", help="port to bind (PORT, 9010)")
    parser.add_argument("--card-url", help="public URL that the agent card names (PURPLE_AGENT_CARD_URL)")
    return parser.parse_args(arguments)


def _sentence(error: ValidationError) -> str:
    wrong = error.errors(include_url=False)[0]
    if not wrong["loc"]:
        return wrong["msg"]
    name = str(wrong["loc"][0]).upper()
    if wrong["type"] == "missing":
        return f"{name} is not set: the gateway needs it to start."
    return f"{name} cannot be used: {wrong['msg']}, got {wrong['input']!r}."


def _serve(settings: Settings) -> None:
    config = uvicorn.Config(
        build(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal again once it has stopped: by then there is nothing left to end.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, lambda *_: None)
    tune_gc()
    uvicorn.Server(config).run()


if __name__ == "__main__":
    sys.exit(main())
