"""``/console/``: is it working, what needs me, what does it cost."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.room import Room


class OverviewPage:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def shown(self, request: Request, visitor: Visitor) -> Response:
        return await self._room.page(request, "overview.html", visitor)
