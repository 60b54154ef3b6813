"""Which gateway the next request goes to: round those whose ``/ready`` says yes, as a load balancer does it."""

import asyncio
from collections.abc import Sequence
from itertools import count

import httpx

PROBED_EVERY = 0.25
_TIMEOUT = httpx.Timeout(2.0)


class Balancer:
    """A target gets requests from its first good probe on until its first bad one. Nothing is tried again here."""

    def __init__(self, urls: Sequence[str], http: httpx.AsyncClient) -> None:
        self._urls = tuple(urls)
        self._http = http
        self._good = set(self._urls)
        self._turns = count()

    async def serve(self) -> None:
        """Probe until cancelled."""
        async with asyncio.TaskGroup() as group:
            for url in self._urls:
                group.create_task(self._watch(url))

    def choose(self) -> str | None:
        """None where nobody is ready."""
        good = [url for url in self._urls if url in self._good]
        return good[next(self._turns) % len(good)] if good else None

    async def _watch(self, url: str) -> None:
        while True:
            if await self._is_ready(url):
                self._good.add(url)
            else:
                self._good.discard(url)
            await asyncio.sleep(PROBED_EVERY)

    async def _is_ready(self, url: str) -> bool:
        try:
            return (await self._http.get(f"{url}/ready", timeout=_TIMEOUT)).is_success
        except httpx.TransportError:
            return False
