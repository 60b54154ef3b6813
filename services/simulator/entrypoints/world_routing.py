"""The outermost middleware: routes a request to its world, and logs it."""

import re
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.simulator.core.access_log import LoggedAccess
from services.simulator.core.hosted_world import DEFAULT, HostedWorld, WorldRegistry
from services.simulator.core.refusals import Missing
from services.simulator.entrypoints.request_context import RoutedRequest, store_entry

_INSIDE_PATTERN = re.compile(r"/worlds/([A-Za-z0-9][A-Za-z0-9_.:-]{0,99})(?=/)")
_LONGEST_PATH = 500  # of one that is noted
_UNNOTED = frozenset({"/health", "/ready"})


class WorldRouting:
    """Routes ``/worlds/{id}/...`` to that world, and every other path to the default one."""

    def __init__(self, app: ASGIApp, registry: WorldRegistry, authentication: bool) -> None:
        self._app = app
        self._registry = registry
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        inner, world_id = _world_in_path(scope)
        entry = RoutedRequest(self._registry, world_id, self._authentication)
        store_entry(inner, entry)
        if scope["type"] == "websocket" or scope["path"] in _UNNOTED:
            return await self._app(inner, receive, send)
        return await self._note_request(inner, receive, send, entry)

    async def _note_request(self, scope: Scope, receive: Receive, send: Send, entry: RoutedRequest) -> None:
        begun, status = perf_counter(), 500

        async def watch_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch_status)
        finally:
            self._note(scope, entry, status, (perf_counter() - begun) * 1000)

    def _note(self, scope: Scope, entry: RoutedRequest, status: int, took: float) -> None:
        hosted = self._find_world(entry.world_id)
        if hosted is None:
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))[:_LONGEST_PATH]
        key_id, name = (entry.caller.key_id, entry.caller.name) if entry.caller else (None, None)
        wall = self._registry.surroundings.now()
        hosted.log.record(LoggedAccess(wall, scope["method"], path, status, round(took, 3), key_id, name))

    def _find_world(self, world_id: str) -> HostedWorld | None:
        try:
            return self._registry.get(world_id)
        except Missing:
            return None


def _world_in_path(scope: Scope) -> tuple[Scope, str]:
    root = scope.get("root_path", "")
    match = _INSIDE_PATTERN.match(scope["path"].removeprefix(root))
    if match is None:
        return {**scope}, DEFAULT
    return {**scope, "root_path": root + match[0]}, match[1]
