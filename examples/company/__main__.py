"""``python -m examples.company``: the example tool server over its own database, until SIGTERM."""

import signal
import sqlite3
import sys

import uvicorn
from pydantic import ValidationError
from pydantic_settings import CliApp
from starlette.applications import Starlette

from examples.company.faults import ToolFaults
from examples.company.opening import open_books
from examples.company.server import build_app
from examples.company.settings import CompanySettings
from shared.infra.process import configure_logging, freeze_startup_objects

_GRACE_SECONDS = 3


def main() -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting that cannot be used."""
    try:
        settings = CliApp.run(CompanySettings)
        faults = ToolFaults.from_table(ToolFaults.parse(settings.company_faults))
    except ValidationError as error:
        return _print_refusal(_describe_bad_setting(error))
    try:
        books = open_books(settings)
    except (OSError, sqlite3.Error) as error:
        return _print_refusal(f"DATABASE: {settings.database} cannot be opened: {error}.")
    configure_logging("company")
    _serve(build_app(books, faults, settings.allow_faults, settings.company_protocol), settings)
    return 0


def _print_refusal(sentence: str) -> int:
    sys.stderr.write(sentence + "\n")
    return 2


def _serve(app: Starlette, settings: CompanySettings) -> None:
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal again once it has stopped: by then there is nothing left to end.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, lambda *_: None)
    freeze_startup_objects()
    uvicorn.Server(config).run()


def _describe_bad_setting(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if error.title != CompanySettings.__name__:
        return ": ".join(["COMPANY_FAULTS", *map(str, first["loc"]), first["msg"]]) + "."
    name = str(first["loc"][0]).upper()
    return (
        f"{name} is missing: the path of the company's database." if name == "DATABASE" else f"{name}: {first['msg']}."
    )


if __name__ == "__main__":
    sys.exit(main())
