"""What came into the world since somebody last looked."""

from dataclasses import dataclass
from datetime import datetime

from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.ues.modalities import CalendarEvent, Email, SmsMessage


@dataclass(frozen=True)
class NewMessages:
    """Mails and texts in the order in which they came, whoever sent them; appointments that were not there before."""

    emails: tuple[Email, ...] = ()
    sms_messages: tuple[SmsMessage, ...] = ()
    calendar_events: tuple[CalendarEvent, ...] = ()

    def __len__(self) -> int:
        return len(self.emails) + len(self.sms_messages) + len(self.calendar_events)


class NewMessageCollector:
    """Collects what came into the world since the last look; shows nothing twice, even if it came at that very
    moment.
    """

    def __init__(self, client: SimulatedWorld) -> None:
        self._client = client
        self._since: datetime | None = None
        self._seen: set[str] = set()

    async def initialize(self, current_time: datetime) -> None:
        """Remembers what is there now, so that it does not count as new."""
        self._since = current_time
        self._seen.update((await self._client.calendar.get_state()).events)
        await self.collect(current_time)

    async def collect(self, new_time: datetime) -> NewMessages:
        """What came since the last look, which from now on was at ``new_time``."""
        mails = await self._client.email.query(received_after=self._since, sort_order="asc")
        texts = await self._client.sms.query(sent_after=self._since, sort_order="asc")
        calendar = await self._client.calendar.get_state()
        self._since = new_time
        return NewMessages(
            tuple(mail for mail in mails.emails if mail.folder != "drafts" and self._record_as_seen(mail.message_id)),
            tuple(text for text in texts.messages if self._record_as_seen(text.message_id)),
            tuple(
                event
                for key, event in calendar.events.items()
                if event.deleted_at is None and self._record_as_seen(key)
            ),
        )

    def _record_as_seen(self, key: str) -> bool:
        """Returns whether the id was not seen before."""
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new
