"""The example company served in the test's own event loop, on a free port."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from examples.company.books import CompanyBooks
from examples.company.faults import ToolFault, ToolFaults
from examples.company.protocols import ToolProtocol
from examples.company.seed import fill_books
from examples.company.server import build_app
from shared.contracts.tenant import Connection
from tests.serving import serving

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


class Company(NamedTuple):
    url: str
    database: Path
    faults: ToolFaults

    @property
    def connection(self) -> Connection:
        return Connection(id="company", url=self.url)


def open_books(folder: Path, now: datetime = NOON, name: str = "company.db") -> CompanyBooks:
    """Freshly planted books in a folder, in place of any of that name, with a clock that stands still."""
    file = folder / name
    for rest in ("-wal", "-shm"):
        Path(f"{file}{rest}").unlink(missing_ok=True)
    file.write_bytes(_planted(now))
    return CompanyBooks(file, lambda: now)


@cache
def _planted(now: datetime) -> bytes:
    """The whole file: planting takes longer than most tests."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "company.db"
        books = CompanyBooks(file, lambda: now)
        fill_books(books)
        books.close()
        return file.read_bytes()


@asynccontextmanager
async def company(
    folder: Path, faults: ToolFaults | Mapping[str, ToolFault] | None = None, protocol: ToolProtocol = ToolProtocol.MCP
) -> AsyncIterator[Company]:
    """A running company with the example data."""
    misbehaviour = faults if isinstance(faults, ToolFaults) else ToolFaults(faults or {})
    app = build_app(open_books(folder), misbehaviour, faults_may_change=True, protocol=protocol)
    async with serving(app) as url:
        yield Company(url, folder / "company.db", misbehaviour)
