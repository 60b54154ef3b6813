"""``/events/stream`` over a websocket: what becomes of each event, as it happens."""

import asyncio
from typing import NoReturn

from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from services.simulator.core.events import WorldEvent
from services.simulator.core.keys import Forbidden
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import SimulatorRefusal
from services.simulator.core.written_events import event_as_json
from services.simulator.entrypoints.request_context import RequestContext, entry_of, open_context

router = APIRouter(prefix="/events", tags=["events"])
_PERMISSION = "events:list"
_MOST_WAITING = 1000
_CLOSED_BY = 4000  # and the HTTP status: 4401, 4403, 4404


class EventSubscription:
    """Events on their way to one listener. If it is too slow, the next message says how many it has ``lost``."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[WorldEvent] = asyncio.Queue(_MOST_WAITING)
        self._lost = 0

    def add(self, event: WorldEvent) -> None:
        if self._waiting.full():
            self._lost += 1
        else:
            self._waiting.put_nowait(event)

    async def next(self) -> JsonObject:
        """The next message, when there is one."""
        event = await self._waiting.get()
        lost, self._lost = self._lost, 0
        return {"type": f"event.{event.status.value}", "event": event_as_json(event), "lost": lost}


@router.websocket("/stream")
async def stream(websocket: WebSocket) -> None:
    """Streams each change of an event's status to the client.

    The key is read from the header, or from ``api_key`` in the query, since browsers send no headers here.
    """
    try:
        context = _authenticate(websocket)
    except SimulatorRefusal as refusal:
        await websocket.accept()
        return await websocket.close(_CLOSED_BY + refusal.status, str(refusal.detail))
    await websocket.accept()
    listening = EventSubscription()
    context.world.observers.append(listening.add)
    try:
        await _tell_until_closed(websocket, listening)
    finally:
        context.world.observers.remove(listening.add)


def _authenticate(websocket: WebSocket) -> RequestContext:
    secret = websocket.headers.get("x-api-key") or websocket.query_params.get("api_key")
    context = open_context(entry_of(websocket.scope), secret)
    if not context.caller.may(_PERMISSION):
        raise Forbidden(f"Permission denied. Required permission: {_PERMISSION}")
    return context


async def _tell_until_closed(websocket: WebSocket, listening: EventSubscription) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_send_messages(websocket, listening))
            group.create_task(_await_disconnect(websocket))
    except* WebSocketDisconnect:
        pass  # the listener left, as listeners do


async def _send_messages(websocket: WebSocket, listening: EventSubscription) -> NoReturn:
    while True:
        await websocket.send_json(await listening.next())


async def _await_disconnect(websocket: WebSocket) -> NoReturn:
    """Reads and ignores a listener's messages until it leaves; then raises ``WebSocketDisconnect``."""
    while True:
        await websocket.receive()
        if websocket.client_state.name == "DISCONNECTED":
            raise WebSocketDisconnect
