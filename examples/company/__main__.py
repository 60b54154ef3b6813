"""``python -m examples.company``: the example tool server over its own database."""

import sys
from datetime import UTC, datetime

import uvicorn
from pydantic import ValidationError
from pydantic_settings import CliApp

from examples.company.books import Books
from examples.company.faults import Faults
from examples.company.seed import is_empty, plant, remove
from examples.company.server import build_app
from examples.company.settings import Settings

BAD_SETTINGS = 2


def main() -> None:
    try:
        settings = CliApp.run(Settings)
        faults = Faults(Faults.parse(settings.company_faults))
    except ValidationError as error:
        sys.stderr.write(_sentence(error) + "\n")
        sys.exit(BAD_SETTINGS)
    books = open_books(settings)
    app = build_app(books, faults, faults_may_change=settings.allow_faults)
    uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning", access_log=False)


def open_books(settings: Settings) -> Books:
    """The database as the settings ask for it: fresh, filled if empty, or as it is."""
    if settings.reset:
        remove(settings.database)
    settings.database.parent.mkdir(parents=True, exist_ok=True)
    books = Books(settings.database, lambda: datetime.now(UTC))
    if (settings.reset or settings.seed_data) and is_empty(books):
        plant(books)
    return books


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0]).upper() if first["loc"] else "COMPANY_FAULTS"
    return f"{name}: {first['msg']}."


if __name__ == "__main__":
    main()
