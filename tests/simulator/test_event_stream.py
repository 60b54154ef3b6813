"""``/events/stream``."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message

from services.simulator.core.records import JsonObject
from services.simulator.entrypoints.event_stream import EventSubscription
from tests.simulator.stage import ADMIN, Stage
from tests.simulator.writing import later, schedule

pytestmark = pytest.mark.promise("simulator.events")


class Listener:
    """A websocket without a network."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[Message] = asyncio.Queue()
        self.heard: asyncio.Queue[Message] = asyncio.Queue()

    async def hear(self) -> Message:
        return await asyncio.wait_for(self.heard.get(), 10)

    async def message(self) -> JsonObject:
        heard: JsonObject = json.loads((await self.hear())["text"])
        return heard


@asynccontextmanager
async def listening(stage: Stage, path: str, query: str = "", key: str = "") -> AsyncIterator[Listener]:
    listener = Listener()
    headers = [(b"x-api-key", key.encode())] if key else []
    scope = {"type": "websocket", "path": path, "root_path": "", "query_string": query.encode(), "headers": headers}
    listener.said.put_nowait({"type": "websocket.connect"})

    async def serve() -> None:
        await stage.app(scope, listener.said.get, listener.heard.put)

    async with asyncio.TaskGroup() as group:
        group.create_task(serve())
        assert (await listener.hear())["type"] == "websocket.accept"
        yield listener
        listener.said.put_nowait({"type": "websocket.disconnect", "code": 1000})


@pytest.mark.parametrize("by_query", [True, False])
async def test_a_listener_hears_what_becomes_of_each_event(running: Stage, by_query: bool) -> None:
    event_id = await schedule(running, 10)
    await running.post("/events", {**later(20, "x"), "data": {"operation": "throw", "note_id": "none"}})
    query, key = (f"api_key={ADMIN}", "") if by_query else ("", ADMIN)

    async with listening(running, "/events/stream", query, key) as listener:
        await running.post("/simulator/time/advance", {"seconds": 60})
        first, second = await listener.message(), await listener.message()

    assert (first["type"], first["lost"], second["type"]) == ("event.executed", 0, "event.failed")
    event = first["event"]
    assert isinstance(event, dict)
    assert (event["event_id"], event["status"]) == (event_id, "executed")


async def test_a_listener_that_left_is_forgotten(running: Stage) -> None:
    before = len(running.world.observers)

    async with listening(running, "/events/stream", key=ADMIN):
        assert len(running.world.observers) == before + 1

    assert len(running.world.observers) == before


async def test_a_listener_hears_its_own_world(running: Stage) -> None:
    await running.post("/worlds", {"world_id": "other"}, expect=201)
    await running.post("/worlds/other/simulation/start", {})
    await running.post("/worlds/other/events", later(5, "there"))
    await schedule(running, 10)

    async with listening(running, "/worlds/other/events/stream", key=ADMIN) as listener:
        await running.post("/simulator/time/advance", {"seconds": 60})
        await running.post("/worlds/other/simulator/time/advance", {"seconds": 60})
        heard = await listener.message()

    assert "there" in str(heard)


@pytest.mark.promise("simulator.permissions")
async def test_nobody_listens_who_may_not_list_events(running: Stage) -> None:
    key = await running.key("email:*")

    for secret, code in (("", 4401), ("wrong", 4401), (key.secret, 4403)):
        async with listening(running, "/events/stream", key=secret) as listener:
            assert (await listener.hear())["code"] == code


async def test_a_slow_listener_is_told_what_it_lost(running: Stage) -> None:
    slow = EventSubscription()
    running.world.observers.append(slow.add)
    for _ in range(1003):
        running.world.act("notes", {"operation": "write", "text": "x"}, None)

    assert [(await slow.next())["lost"] for _ in range(2)] == [3, 0]
