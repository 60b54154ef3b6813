"""What a participant is told of the world before it looks itself, and the world whole, as judges see it."""

from collections.abc import Mapping

from pydantic import JsonValue

from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.messages import (
    CalendarSummary,
    ChatSummary,
    EmailSummary,
    InitialStateSummary,
    SmsSummary,
)


async def summarize_world(world: SimulatedWorld) -> InitialStateSummary:
    mails, texts = await world.email.get_state(), await world.sms.get_state()
    calendar, chat = await world.calendar.get_state(), await world.chat.get_state()
    today = (await world.time.get_state()).current_time.date()
    return InitialStateSummary(
        email=EmailSummary(
            total_emails=mails.total_email_count,
            total_threads=len(mails.threads),
            unread=mails.unread_count,
            draft_count=mails.count_in_folder("drafts"),
        ),
        calendar=CalendarSummary(
            event_count=calendar.event_count,
            calendar_count=calendar.calendar_count,
            events_today=sum(event.start.date() == today for event in calendar.events.values()),
        ),
        sms=SmsSummary(
            total_messages=texts.total_message_count,
            total_conversations=texts.total_conversation_count,
            unread=texts.unread_count,
        ),
        chat=ChatSummary(total_messages=chat.total_message_count, conversation_count=chat.conversation_count),
    )


async def read_all_states(world: SimulatedWorld) -> Mapping[str, JsonValue]:
    """Every modality's state by its name."""
    state = await world.environment.get_state()
    states = state.get("modalities") if isinstance(state, dict) else None
    time = (await world.time.get_state()).model_dump(mode="json")
    return {**(states if isinstance(states, dict) else {}), "time": time}
