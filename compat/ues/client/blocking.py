"""The client without ``await``."""

import inspect
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ues.client.asynchronous import AsyncUESClient


class UESClient:
    """``with UESClient(base_url=..., api_key=...) as ues: ues.email.get_state()``.

    It has what the other one has. Its requests run in a thread of their own, so it works inside of a running event
    loop too.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8000",
        timeout: float = 30.0,
        retry_enabled: bool = False,
        max_retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
        api_key: str | None = None,
    ) -> None:
        self._opened = start_blocking_portal()
        self._portal = self._opened.__enter__()
        self._client = AsyncUESClient(base_url, timeout, retry_enabled, max_retries, transport, api_key)
        self._is_closed = False

    def __getattr__(self, name: str) -> object:
        return _blocking(self._portal, getattr(self._client, name))

    def close(self) -> None:
        """Harmless the second time."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._portal.call(self._client.close)
        finally:
            self._opened.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _BlockingPart:
    """One part of the client, such as ``email``."""

    def __init__(self, portal: BlockingPortal, part: object) -> None:
        self._portal = portal
        self._part = part

    def __getattr__(self, name: str) -> object:
        return _blocking(self._portal, getattr(self._part, name))


def _blocking(portal: BlockingPortal, found: object) -> object:
    if inspect.iscoroutinefunction(found):
        return _call_in_portal(portal, found)
    return found if isinstance(found, str) else _BlockingPart(portal, found)


def _call_in_portal(portal: BlockingPortal, function: Callable[..., object]) -> Callable[..., object]:
    def call(*given: object, **named: object) -> object:
        return portal.call(partial(function, *given, **named))

    return call
