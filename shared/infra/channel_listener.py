"""One Redis subscription for all listeners of a process, and the loop of those that work whenever news come."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from types import TracebackType
from typing import Self

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from shared.infra.keys import KEEP_OPEN_CHANNEL
from shared.infra.lua import store_unavailable
from shared.ports.store import StoreUnavailable

_PING_AFTER_SECONDS = 5.0  # after so long without news the server is asked for a sign of life
_CONFIRM_SECONDS = 5.0
_RECONNECT_SECONDS = 0.2
LOOK_WITHOUT_NEWS_SECONDS = 30.0  # a look without news: should a message of the server be lost, or a replica die
_SHORTEST_PAUSE_SECONDS = 0.02  # between two looks: what comes in a burst is looked at together
_PAUSE_AFTER_FAILURE_SECONDS = 1.0

HandleMessage = Callable[[str | None], None]
OpenListener = Callable[[], AbstractAsyncContextManager[asyncio.Event]]

log = structlog.get_logger()


class ChannelListener:
    """Passes published messages on to listeners of their channels. An async context manager.

    If its connection is lost, it connects again, and tells every listener that messages may have been missed.
    """

    def __init__(self, redis: Redis, quiet_seconds: float = _PING_AFTER_SECONDS) -> None:
        self._redis = redis
        self._quiet_seconds = quiet_seconds
        self._pubsub: PubSub = redis.pubsub()
        self._listeners: dict[str, set[HandleMessage]] = {}
        self._confirmed: dict[str, asyncio.Event] = {}
        self._lock = asyncio.Lock()
        self._group = asyncio.TaskGroup()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._reader = self._group.create_task(self._keep_reading_messages())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.cancel()
        await self._group.__aexit__(kind, error, trace)
        await self._pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped

    @asynccontextmanager
    async def open_news_event(self, channel: str) -> AsyncIterator[asyncio.Event]:
        """Yields an event that is set whenever a message is published on the channel. Clear the event before you look
        for what is new.
        """
        news = asyncio.Event()

        def set_news(_: str | None) -> None:
            news.set()

        async with self.call_on_message(channel, set_news):
            yield news

    @asynccontextmanager
    async def call_on_message(self, channel: str, on_message: HandleMessage) -> AsyncIterator[None]:
        """In the context, calls ``on_message`` with each message on the channel; with None if some may be missed."""
        self._listeners.setdefault(channel, set()).add(on_message)
        try:
            await self._subscribe(channel)
            yield
        finally:
            await self._remove_listener(channel, on_message)

    async def _subscribe(self, channel: str) -> None:
        """Subscribes to the channel; returns when the server has confirmed it."""
        try:
            async with asyncio.timeout(_CONFIRM_SECONDS):
                await (await self._request_subscription(channel)).wait()
        except TimeoutError as error:
            raise store_unavailable(error) from error

    async def _request_subscription(self, channel: str) -> asyncio.Event:
        async with self._lock:
            confirmed = self._confirmed.get(channel)
            if confirmed is None:
                confirmed = self._confirmed[channel] = asyncio.Event()
                await self._send_subscription("SUBSCRIBE", channel)
            return confirmed

    async def _remove_listener(self, channel: str, on_message: HandleMessage) -> None:
        async with self._lock:
            self._listeners[channel].discard(on_message)
            if not self._listeners[channel]:
                del self._listeners[channel]
                self._confirmed.pop(channel, None)
                await self._send_subscription("UNSUBSCRIBE", channel)

    async def _send_subscription(self, word: str, channel: str) -> None:
        """Sends SUBSCRIBE or UNSUBSCRIBE. If the connection is lost, the reader subscribes again."""
        act = self._pubsub.subscribe if word == "SUBSCRIBE" else self._pubsub.unsubscribe
        try:
            await act(channel)
        except (RedisError, OSError) as error:
            log.warning("redis_subscription_not_changed", error=str(error))

    async def _keep_reading_messages(self) -> None:
        logged = ""
        while True:
            try:
                await self._connect()
                logged = ""
                await self._pass_messages_on()
            except (RedisError, OSError) as error:
                if logged != str(error):  # an outage is told once, not five times a second
                    logged = str(error)
                    log.warning("redis_subscription_lost", error=logged)
                await asyncio.sleep(_RECONNECT_SECONDS)

    async def _connect(self) -> None:
        """Subscribes to all channels on a new connection, under a lock."""
        async with asyncio.timeout(_CONFIRM_SECONDS), self._lock:
            await self._pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves it untyped
            self._pubsub = self._redis.pubsub()
            await self._pubsub.subscribe(KEEP_OPEN_CHANNEL, *self._listeners)

    async def _pass_messages_on(self) -> None:
        """Passes messages on until the connection is lost; raises the error.

        A silent server is pinged; raises ``ConnectionError`` if it does not answer that either.
        """
        awaits_ping = False
        while True:
            message = await self._pubsub.get_message(timeout=self._quiet_seconds)
            if message is None and awaits_ping:
                raise ConnectionError(f"nothing was heard for {2 * self._quiet_seconds} seconds")
            awaits_ping = message is None
            if message is None:
                await self._pubsub.ping()
            elif message["type"] in ("subscribe", "message"):
                self._tell_listeners(message["type"], str(message["channel"]), message["data"])

    def _tell_listeners(self, kind: str, channel: str, data: object) -> None:
        if kind == "subscribe" and channel in self._confirmed:
            self._confirmed[channel].set()
        for on_message in tuple(self._listeners.get(channel, ())):
            on_message(str(data) if kind == "message" else None)


async def keep_looking_when_due(
    listen: OpenListener, look: Callable[[asyncio.Event], Awaitable[float]], name: str
) -> None:
    """Calls ``look`` at once, whenever something becomes due, and after the seconds that it returns; for ever.

    ``listen``: opens an event that is set when something becomes due; ``look`` gets it. A failure is logged under
    ``name``, and ``look`` is called again after a second.
    """
    while True:
        try:
            async with listen() as news:
                while True:
                    news.clear()
                    pause = await look(news)
                    await asyncio.sleep(_SHORTEST_PAUSE_SECONDS)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(pause):
                            await news.wait()
        except StoreUnavailable as error:
            log.warning("background_loop_postponed", loop=name, error=str(error))
        except Exception:  # the outermost edge: what looks for news must not end the process
            log.exception("background_loop_failed", loop=name)
        await asyncio.sleep(_PAUSE_AFTER_FAILURE_SECONDS)
