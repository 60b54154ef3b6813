"""``/console/learning``: is it getting better, and what does it go by; for operators also what it remembers."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.console.memory import Asked, accuracy_rows, cases, entities, facts, finding_words, read_page
from services.gateway.core.console.progress import direction, process_cards, quality
from services.gateway.entrypoints.console.gate import Visitor
from services.gateway.entrypoints.console.pictures import arms_chart, quality_chart
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.console.tabs import LEARNING, tabs_of
from shared.domain.words import Role

_LONGEST = 200
_CARDS = 24  # processes that are drawn, the most used ones


class LearningPages:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def progress(self, request: Request, visitor: Visitor) -> Response:
        """Numbers alone, so every caller of the tenant may see them."""
        desks, tenant = self._room.desks, visitor.caller.tenant
        learning, history = await desks.statistics.learning(tenant), await desks.statistics.history(tenant)
        cards = process_cards(learning.arms, history.arms)
        found = quality(history.quality)
        return await self._room.page(
            request,
            "learning.html",
            visitor,
            tabs=tabs_of(LEARNING, visitor),
            learning=learning,
            direction=direction(history.quality),
            quality=found,
            quality_drawn=quality_chart(found) if found else "",
            quality_small=quality_chart(found, small=True) if found else "",
            cards=[(card, arms_chart(card)) for card in cards[:_CARDS]],
            left_out=len(cards[_CARDS:]),
            accuracy=await self._accuracy(visitor),
        )

    async def cases(self, request: Request, visitor: Visitor) -> Response:
        found = cases(await self._room.desks.memory.cases(visitor.caller), _asked(request))
        return await self._room.page(request, "cases.html", visitor, tabs=tabs_of(LEARNING, visitor), found=found)

    async def facts(self, request: Request, visitor: Visitor) -> Response:
        remembered = await self._room.desks.memory.remembered(visitor.caller)
        found, took = facts(remembered.facts, _asked(request)), finding_words(remembered.finding)
        tabs = tabs_of(LEARNING, visitor)
        return await self._room.page(request, "facts.html", visitor, tabs=tabs, found=found, took=took)

    async def entities(self, request: Request, visitor: Visitor) -> Response:
        remembered = await self._room.desks.memory.remembered(visitor.caller)
        found = entities(remembered.things, _asked(request))
        return await self._room.page(request, "entities.html", visitor, tabs=tabs_of(LEARNING, visitor), found=found)

    async def _accuracy(self, visitor: Visitor) -> object:
        if not visitor.has(Role.OPERATOR):
            return ()
        return accuracy_rows((await self._room.desks.memory.remembered(visitor.caller)).accuracy)


def _asked(request: Request) -> Asked:
    query = request.query_params
    words, kind = query.get("q", "").strip()[:_LONGEST], query.get("kind", "")[:_LONGEST]
    return Asked(words, kind, read_page(query.get("page", "")))
