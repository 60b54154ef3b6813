"""Reads each watched event stream once for each process, however many callers watch it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from shared.infra.channel_listener import ChannelListener
from shared.infra.event_pages import EventRow, read_event_page
from shared.infra.lua import Scripts
from shared.infra.stored_tasks import parse_task_events
from shared.ports.tasks import EventsLost, parse_stream_id

EVENTS_PER_PAGE = 128  # entries of one read, and how many of the newest events a watched stream has in memory
_FIRST_STREAM_ID = (0, 0)


def _parse_published_events(message: str) -> list[EventRow] | None:
    """The events in a published message; None for one of another version: its events must be read from the stream."""
    entry_id, _, entry = message.partition("\n")
    try:
        return [EventRow(*row) for row in parse_task_events(entry_id, entry)]
    except ValueError:  # the watcher that reads it gets the error
        return None


ReadEvents = Callable[[str, str], Awaitable[list[EventRow]]]


class EventFeed:
    """The newest events of one task's stream in memory, shared by all who watch the stream.

    Events arrive in published messages. If messages were missed or carry no event, the first watcher to notice reads
    the stream for all.
    """

    def __init__(self, stream: str, live: ChannelListener, read: ReadEvents) -> None:
        self.watchers = 0
        self._stream = stream
        self._live = live
        self._read_events_after = read
        self._rows: deque[EventRow] = deque(maxlen=EVENTS_PER_PAGE)
        self._since = self._until = ""  # the rows are all that lie between these ids
        self._reads = 0
        self._is_behind = True  # there may be events that were not heard
        self._news = asyncio.Event()  # set, and replaced, at each message
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._listens = False

    async def open(self) -> None:
        async with self._lock:
            if not self._listens:
                await self._stack.enter_async_context(self._live.call_on_message(self._stream, self._add_pushed_rows))
                self._listens = True

    async def close(self) -> None:
        await self._stack.aclose()

    async def await_events_after(self, stream_id: str) -> list[EventRow]:
        """The events after that id; waits until there are any. Raises ``EventsLost``."""
        while True:
            news = self._news
            await self._read_newer_events(stream_id)
            reads = self._reads
            rows = self._list_rows_after(stream_id)
            if rows is None:
                rows = await self._read_events_after(self._stream, stream_id)
            if rows:
                return rows
            if reads == self._reads:  # else somebody has read on meanwhile
                await news.wait()

    def _add_pushed_rows(self, message: str | None) -> None:
        rows = _parse_published_events(message) if message else None
        if rows is None or self._is_behind or not self._until or self._lock.locked():
            self._is_behind = True
        else:
            for row in rows:
                if row.parsed_id > parse_stream_id(self._until):
                    self._append_row(row)
        self._wake_readers()

    def _wake_readers(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _append_row(self, row: EventRow) -> None:
        if len(self._rows) == EVENTS_PER_PAGE:
            self._since = self._rows[0].stream_id
        self._rows.append(row)
        self._until = row.stream_id

    async def _read_newer_events(self, stream_id: str) -> None:
        """Reads the events since the last read from the stream, unless all came as messages."""
        async with self._lock:
            if not self._until:
                self._drop_rows_and_restart_at(stream_id)
            if not self._is_behind:
                return
            try:
                await self._read_page()
            except EventsLost:  # the feed was cut off for long; this watcher may be further than it
                self._drop_rows_and_restart_at(stream_id)
                await self._read_page()

    def _drop_rows_and_restart_at(self, stream_id: str) -> None:
        self._rows.clear()
        self._since = self._until = stream_id
        self._is_behind = True

    async def _read_page(self) -> None:
        self._is_behind = False
        try:
            rows = await self._read_events_after(self._stream, self._until)
        except BaseException:
            self._is_behind = True
            self._wake_readers()  # the next reader does it
            raise
        self._reads += 1
        self._is_behind |= len(rows) >= EVENTS_PER_PAGE
        for row in rows:
            self._append_row(row)

    def _list_rows_after(self, stream_id: str) -> list[EventRow] | None:
        """The events after that id; None if the oldest of them are no longer in memory."""
        position = parse_stream_id(stream_id)
        if position < parse_stream_id(self._since):
            return None
        return [row for row in self._rows if row.parsed_id > position]


class EventFeeds:
    """The feeds of the streams that are watched now; each is open while somebody watches it."""

    def __init__(self, live: ChannelListener, scripts: Scripts) -> None:
        self._live, self._scripts = live, scripts
        self._feeds: dict[str, EventFeed] = {}

    @asynccontextmanager
    async def open_feed(self, stream: str) -> AsyncIterator[EventFeed]:
        """Yields the stream's feed, which all its watchers share."""
        feed = self._feeds.get(stream)
        if feed is None:
            feed = self._feeds[stream] = EventFeed(stream, self._live, self._read_events_after)
        feed.watchers += 1
        try:
            await feed.open()
            yield feed
        finally:
            feed.watchers -= 1
            if not feed.watchers:
                del self._feeds[stream]
                await feed.close()

    async def _read_events_after(self, stream: str, after: str) -> list[EventRow]:
        """One page of events after an id.

        Raises ``EventsLost`` if events after it were dropped, but not for the start.
        """
        page = await read_event_page(self._scripts, stream, after=after, most_entries=EVENTS_PER_PAGE)
        if (
            page.oldest
            and not page.has_all_events
            and _FIRST_STREAM_ID < parse_stream_id(after) < parse_stream_id(page.oldest)
        ):
            raise EventsLost(after)
        return page.rows
