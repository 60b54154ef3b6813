"""Clients that watch their task by a stream, and go on at another gateway when theirs says that it leaves."""

import asyncio
from collections.abc import AsyncIterator

import httpx
from httpx_sse import ServerSentEvent, SSEError, aconnect_sse

from tools.chaos.balancer import Balancer

_TIMEOUT = httpx.Timeout(30.0, connect=2.0)  # the gateway sends a comment every 15 seconds
_PAUSE = 0.1
_TURN_ENDS = "turn_finished"  # the kind of event with which a story of this turn may end


class Followers:
    """``told``: the ids of the events that each of them got, by task. ``moved``: how often one went on elsewhere."""

    def __init__(self, balancer: Balancer, http: httpx.AsyncClient) -> None:
        self._balancer, self._http = balancer, http
        self.told: dict[str, tuple[str, ...]] = {}
        self.broken: list[str] = []  # streams that were refused, or ended or were cut without a word
        self._newest: dict[str, str] = {}  # the kind of the latest event, by task
        self.moved = 0

    async def follow(self, task_id: str) -> None:
        """To the end of the turn, or until the stream breaks as it must not."""
        self.told[task_id] = ()
        while await self._read_until_parted(task_id):
            self.moved += 1
            await asyncio.sleep(_PAUSE)

    async def event_ids(self, task_id: str) -> tuple[str, ...]:
        """The whole story's ids, read at once."""
        return tuple([event.id async for event in self._read(task_id, "") if event.id])

    async def _read_until_parted(self, task_id: str) -> bool:
        """Read on; whether the gateway asked for a new connection."""
        last = self.told[task_id][-1:]
        asked = False
        try:
            async for event in self._read(task_id, "".join(last)):
                asked = asked or event.retry is not None
                if event.id and event.data:
                    self.told[task_id] += (event.id,)
                    self._newest[task_id] = event.event
        except (httpx.HTTPError, SSEError) as error:
            self.broken.append(f"task {task_id}, after {last or 'nothing'}: {type(error).__name__}: {error}")
            return asked
        if not asked and self._newest.get(task_id) != _TURN_ENDS:
            self.broken.append(f"task {task_id}, after {self.told[task_id][-1:] or 'nothing'}: it ended within a turn")
        return asked

    async def _read(self, task_id: str, last: str) -> AsyncIterator[ServerSentEvent]:
        url = f"{self._balancer.choose()}/tasks/{task_id}/events"
        headers = {"Last-Event-ID": last} if last else {}
        async with aconnect_sse(self._http, "GET", url, headers=headers, timeout=_TIMEOUT) as source:
            source.response.raise_for_status()
            async for event in source.aiter_sse():
                yield event
