"""Opens the company's books the way the settings ask for it."""

from datetime import UTC, datetime

from examples.company.books import CompanyBooks
from examples.company.seed import delete_database, fill_books, is_empty
from examples.company.settings import CompanySettings


def open_books(settings: CompanySettings) -> CompanyBooks:
    """The database: fresh and filled, filled if it is empty, or as it is."""
    if settings.reset:
        delete_database(settings.database)
    settings.database.parent.mkdir(parents=True, exist_ok=True)
    books = CompanyBooks(settings.database, lambda: datetime.now(UTC))
    if (settings.reset or settings.seed_data) and is_empty(books):
        fill_books(books)
    return books
