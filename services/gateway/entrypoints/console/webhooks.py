"""``/console/webhooks``: which of the tenant's webhooks and notices fail, and why."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.console.tabs import OPERATIONS, WEBHOOKS, tabs_of


class WebhookPage:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def shown(self, request: Request, visitor: Visitor) -> Response:
        failing = await self._room.desks.webhooks.failing(visitor.caller)
        tabs = tabs_of((*OPERATIONS, WEBHOOKS), visitor)
        return await self._room.page(request, "webhooks.html", visitor, tabs=tabs, failing=failing)
