"""The demo's hold on the company that it started: its database, and the switches that make it misbehave."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from cli.console import Complaint
from cli.demo.books import Books
from shared.infra.tls import trusted_certificates

TIMEOUT = httpx.Timeout(10.0, connect=5.0)
HEALTHY = "{}"


@dataclass(frozen=True)
class Company:
    """Raises ``Complaint`` if the company cannot be told to misbehave."""

    url: str
    database: Path

    def books(self) -> Books:
        return Books.read(self.database)

    @asynccontextmanager
    async def misbehaving(self, faults: str) -> AsyncIterator[None]:
        """Within this context the company has these faults (a JSON object); without any, it is left alone."""
        if not faults:
            yield
            return
        async with httpx.AsyncClient(trust_env=False, timeout=TIMEOUT, verify=trusted_certificates()) as http:
            await self._switch(http, faults)
            try:
                yield
            finally:
                await self._switch(http, HEALTHY)

    async def _switch(self, http: httpx.AsyncClient, faults: str) -> None:
        try:
            answer = await http.post(f"{self.url}/faults", content=faults)
        except httpx.TransportError as error:
            raise Complaint(f"The example company at {self.url} does not answer ({type(error).__name__}).") from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise Complaint(
                f"The example company at {self.url} cannot be told to misbehave: ALLOW_FAULTS=true lets it."
            )
        if not answer.is_success:
            raise Complaint(f"The example company refused the faults {faults}: {answer.status_code} {answer.text}")
