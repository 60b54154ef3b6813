"""The calendars themselves."""

from typing import TypeAlias

from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.calendar_book import CalendarBook
from services.simulator.core.modalities.calendar_records import BLUE, CalendarRecord, Reminder
from services.simulator.core.modalities.fields import Name
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed

Reminders: TypeAlias = tuple[Reminder, ...]


class CreateCalendar(Action[CalendarBook]):
    calendar_id: Name | None = None
    name: Name
    color: Name = BLUE
    visible: bool = True
    default_reminders: Reminders = ()

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        calendar_id = self.calendar_id or moment.new_id("calendar")
        if calendar_id in tables.calendars:
            raise ActionFailed(f"There is a calendar {calendar_id} already")
        changes = self.model_dump() | {"calendar_id": calendar_id}
        tables.put_calendar(CalendarRecord(**changes, created_at=moment.now, updated_at=moment.now))
        return ActionOutcome(f"Calendar {calendar_id} created", (calendar_id,))


class _CalendarAction(Action[CalendarBook]):
    calendar_id: Name

    def require_calendar(self, book: CalendarBook) -> CalendarRecord:
        """The calendar that the action names; raises ``ActionFailed`` if there is none."""
        if self.calendar_id not in book.calendars:
            raise ActionFailed(f"There is no calendar {self.calendar_id}")
        return book.calendars[self.calendar_id]


class UpdateCalendar(_CalendarAction):
    """Changes a calendar; fields that are left out or null stay as they are."""

    name: Name | None = None
    color: Name | None = None
    visible: bool | None = None
    default_reminders: Reminders | None = None

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        names = ("name", "color", "visible", "default_reminders")
        changes = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        changed = self.require_calendar(tables).model_copy(update=changes | {"updated_at": moment.now})
        tables.put_calendar(changed)
        return ActionOutcome(f"Calendar {self.calendar_id} updated", (self.calendar_id,))


class DeleteCalendar(_CalendarAction):
    """Deletes a calendar with the events in it."""

    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        self.require_calendar(tables)
        if self.calendar_id == tables.settings.default_calendar_id:
            raise ActionFailed("The default calendar cannot be deleted")
        for event_id in sorted(tables.in_calendar[self.calendar_id], key=tables.events.position):
            if event_id in tables.events:
                tables.drop_event(tables.events[event_id])
        tables.calendars.remove(self.calendar_id)
        return ActionOutcome(f"Calendar {self.calendar_id} deleted", (self.calendar_id,))


class SetDefaultCalendar(_CalendarAction):
    @override
    def act(self, tables: CalendarBook, moment: EventMoment) -> ActionOutcome:
        self.require_calendar(tables)
        tables.set_up(tables.settings.model_copy(update={"default_calendar_id": self.calendar_id}))
        return ActionOutcome(f"Calendar {self.calendar_id} is the default", (self.calendar_id,))
