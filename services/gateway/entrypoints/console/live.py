"""``/console/live``: tells open pages that something changed. They then ask for what they show, as anybody would."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.tasks.desk import ends_task
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.edge.kept_alive import SSE_BEAT, KeptAlive
from services.gateway.ports.tasks import StoreUnavailable
from shared.contracts.task import TaskRecord
from shared.ports.tasks import EventsLost

log = structlog.get_logger()
LOOK_SECONDS = 1.5
_STREAM_ID = re.compile(r"\d{1,20}-\d{1,20}")


class LiveStreams:
    """News of a task end with it; those of the inbox go on until the reader leaves or may no longer look."""

    def __init__(self, room: Room) -> None:
        self._room = room

    async def inbox(self, request: Request, visitor: Visitor) -> Response:
        return KeptAlive(self._inbox(request, visitor), "text/event-stream", SSE_BEAT)

    async def task(self, request: Request, visitor: Visitor) -> Response:
        record = await self._room.desks.tasks.read(request.path_params["task_id"], visitor.caller)
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = after if _STREAM_ID.fullmatch(after) else "0"
        return KeptAlive(self._task(record, after), "text/event-stream", SSE_BEAT)

    async def _inbox(self, request: Request, visitor: Visitor) -> AsyncGenerator[bytes, None]:
        seen = request.query_params.get("seen", "")
        while True:
            try:
                if await self._room.gate.visitor(request) is None:
                    yield _frame("out", {})
                    return
                now = await self._room.glance.version(visitor.caller)
                if now != seen:
                    yield _frame("changed", {"version": now})
                seen = now
            except StoreUnavailable as fault:  # the page keeps what it shows; the next look may do
                log.warning("console_look_failed", error=str(fault))
            await asyncio.sleep(LOOK_SECONDS)

    async def _task(self, record: TaskRecord, after: str) -> AsyncGenerator[bytes, None]:
        """Ends where the store fails: the browser comes back by itself, and goes on after the last id."""
        try:
            while True:
                try:
                    async with aclosing(self._changes(record, after)) as changes:
                        async for change in changes:
                            yield change
                    return
                except EventsLost:  # from the same place it would be lost again: on with what is kept
                    after = "0"
        except StoreUnavailable as fault:
            log.warning("console_watch_failed", task_id=record.task_id, error=str(fault))

    async def _changes(self, record: TaskRecord, after: str) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._room.desks.tasks.watch(record, after)) as events:
            async for stream_id, event in events:
                yield _frame("changed", {"kind": event.kind}, stream_id)
                if ends_task(event):
                    yield _frame("over", {})
                    return


def _frame(kind: str, data: dict[str, str], stream_id: str = "") -> bytes:
    first = f"id: {stream_id}\n" if stream_id else ""
    return f"{first}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
