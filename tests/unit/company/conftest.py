"""The company's books, on a database of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.company.books import CompanyBooks
from tests.company_stage import open_books


@pytest.fixture
def books(tmp_path: Path) -> Iterator[CompanyBooks]:
    opened = open_books(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "company.db"
