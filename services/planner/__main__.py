"""``python -m services.planner [--allow-faults]``: serves the Messages API by rules until SIGTERM."""

import argparse
import signal
import sys

import uvicorn
from pydantic import ValidationError

from services.planner.bootstrap import build
from services.planner.settings import Settings
from shared.infra.process import configure_logging, tune_gc

_GRACE_SECONDS = 10


def main() -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    options = _parser().parse_args()
    try:
        settings = Settings()
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        sys.stderr.write(f"{str(wrong['loc'][0]).upper()}: {wrong['msg']}, got {wrong['input']!r}\n")
        return 2
    if options.allow_faults:
        settings = settings.model_copy(update={"planner_allow_faults": True})
    configure_logging("planner")
    _serve(settings)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.planner", description="Rule-based planner, not an LLM.")
    parser.add_argument("--allow-faults", action="store_true", help="let requests and POST /faults switch faults on")
    return parser


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
