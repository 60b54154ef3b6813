"""``/console/webhooks``: which of the tenant's webhooks and notices fail, and why."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room


class WebhookPage:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def shown(self, request: Request, visitor: Visitor) -> Response:
        failing = await self._room.desks.webhooks.failing(visitor.caller)
        return await self._room.page(request, "webhooks.html", visitor, failing=failing)
