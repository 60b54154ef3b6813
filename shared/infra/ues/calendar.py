"""``/calendar``."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from shared.contracts.ues.actions import ActionDone
from shared.contracts.ues.calendar import CalendarState, EventsFound
from shared.infra.ues.line import Value, WorldLine, given_values


class CalendarEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def get_state(self) -> CalendarState:
        return await self._line.get(CalendarState, "/calendar/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._line.raw("/calendar/state", compact=True)

    async def query(
        self,
        *,
        calendar_ids: Sequence[str] | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        search: str | None = None,
        status: str | None = None,
        expand_recurring: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> EventsFound:
        asked = given_values(
            calendar_ids=calendar_ids,
            start=start,
            end=end,
            search=search,
            status=status,
            expand_recurring=expand_recurring,
            limit=limit,
            offset=offset,
            sort_by=sort_by,
            sort_order=sort_order,
        )
        return await self._line.ask(EventsFound, "/calendar/query", asked)

    async def create(self, *, title: str, start: datetime, end: datetime, **fields: Value | None) -> ActionDone:
        """``fields``: what else an appointment has (attendees, location, recurrence, ...), as the server names it."""
        event = given_values(title=title, start=start, end=end, **fields)
        return await self._line.post(ActionDone, "/calendar/create", event)

    async def update(self, event_id: str, **changes: Value | None) -> ActionDone:
        return await self._line.post(ActionDone, "/calendar/update", given_values(event_id=event_id, **changes))

    async def delete(
        self, event_id: str, recurrence_scope: str | None = None, recurrence_id: str | None = None
    ) -> ActionDone:
        which = given_values(event_id=event_id, recurrence_scope=recurrence_scope, recurrence_id=recurrence_id)
        return await self._line.post(ActionDone, "/calendar/delete", which)

    async def respond_to_event(
        self, event_id: str, attendee_email: str, response: str, comment: str | None = None
    ) -> ActionDone:
        """``response``: accepted, declined or tentative."""
        answer = given_values(event_id=event_id, attendee_email=attendee_email, response=response, comment=comment)
        return await self._line.post(ActionDone, "/calendar/respond", answer)
