"""What a client reads of a stream of server-sent events, as it comes over the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, cast

import httpx

from shared.domain.exact_json import Json, JsonObject, loads_object

PATIENCE = 60.0  # a busy machine may take long; nothing waits for it to be over


class SseEvent(NamedTuple):
    """One event, or the comments and fields between two; ``event_id`` and ``data`` are empty where it has none."""

    event_id: str
    data: str
    comments: tuple[str, ...] = ()
    retry: str = ""

    @property
    def result(self) -> JsonObject:
        """Of a JSON-RPC response."""
        return cast(JsonObject, loads_object(self.data)["result"])

    @property
    def told(self) -> tuple[str, JsonObject]:
        """Id and result, in which the order of keys says nothing: what events are compared by."""
        return self.event_id, self.result


class SseReader:
    """One response: the next event with ``next``, all that come until its end with ``rest``."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()

    async def next(self) -> SseEvent | None:
        """None at the end; raises httpx's error where the connection is cut, and ``TimeoutError``."""
        block: list[str] = []
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if not line and block:
                    return _event(block)
                block += [line] if line else []
        return _event(block) if block else None

    async def rest(self) -> list[SseEvent]:
        events: list[SseEvent] = []
        while (event := await self.next()) is not None:
            events.append(event)
        return events

    async def events(self) -> list[SseEvent]:
        """The rest without keep-alive comments and last words."""
        return [event for event in await self.rest() if event.data]


@asynccontextmanager
async def rpc_stream(
    http: httpx.AsyncClient, method: str, params: Json, last_event_id: str = "", version: str = ""
) -> AsyncIterator[SseReader]:
    """The stream that a JSON-RPC call opens."""
    headers = {"A2A-Version": version} if version else {}
    headers |= {"Last-Event-ID": last_event_id} if last_event_id else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with http.stream("POST", "/", json=body, headers=headers) as response:
        yield SseReader(response)


def _event(block: list[str]) -> SseEvent:
    fields: dict[str, str] = {}
    comments = []
    for line in block:
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")
        else:
            comments.append(value.strip())
    return SseEvent(fields.get("id", ""), fields.get("data", ""), tuple(comments), fields.get("retry", ""))
