"""``/console/live``: tells open pages that something changed. They then ask for what they show, as anybody would."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from hashlib import sha256

import structlog
from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.desk import ends_task
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.kept_alive import SSE_BEAT, KeptAlive
from services.gateway.ports import StoreUnavailable
from shared.contracts.task import TaskRecord

log = structlog.get_logger()
LOOK_SECONDS = 1.5


class LiveStreams:
    """News of a task end with it; those of the inbox go on until the reader leaves or may no longer look."""

    def __init__(self, room: Room) -> None:
        self._room = room

    async def inbox(self, request: Request, visitor: Visitor) -> Response:
        return KeptAlive(self._inbox(request, visitor), "text/event-stream", SSE_BEAT)

    async def task(self, request: Request, visitor: Visitor) -> Response:
        record = await self._room.desks.tasks.read(request.path_params["task_id"], visitor.caller)
        after = request.headers.get("last-event-id") or "0"
        return KeptAlive(self._task(record, after), "text/event-stream", SSE_BEAT)

    async def _inbox(self, request: Request, visitor: Visitor) -> AsyncGenerator[bytes, None]:
        seen = ""
        while True:
            try:
                if await self._room.gate.visitor(request) is None:
                    yield _frame("out", {})
                    return
                questions = await self._room.glance.waiting(visitor.caller)
                count = await self._room.glance.count(visitor.caller)
                now = sha256("\n".join(one.approval.model_dump_json() for one in questions).encode()).hexdigest()[:16]
                if now != seen:
                    yield _frame("changed", {"count": count, "version": now})
                seen = now
            except StoreUnavailable as fault:  # the page keeps what it shows; the next look may do
                log.warning("console_look_failed", error=str(fault))
            await asyncio.sleep(LOOK_SECONDS)

    async def _task(self, record: TaskRecord, after: str) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(self._room.desks.tasks.watch(record, after)) as events:
                async for stream_id, event in events:
                    yield _frame("changed", {"kind": event.kind}, stream_id)
                    if ends_task(event):
                        yield _frame("over", {})
                        return
        except StoreUnavailable as fault:  # the browser comes back by itself, and goes on after the last id
            log.warning("console_watch_failed", task_id=record.task_id, error=str(fault))


def _frame(kind: str, data: dict[str, str | int], stream_id: str = "") -> bytes:
    first = f"id: {stream_id}\n" if stream_id else ""
    return f"{first}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
