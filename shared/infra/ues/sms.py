"""``/sms``."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from shared.contracts.ues.modalities import ActionDone, SmsFound, SmsState
from shared.infra.ues.line import WorldEndpoints, given_values


class SmsEndpoints(WorldEndpoints):
    async def get_state(self) -> SmsState:
        return await self._line.get(SmsState, "/sms/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._line.get_json("/sms/state", compact=True)

    async def query(
        self,
        *,
        thread_id: str | None = None,
        from_number: str | None = None,
        to_number: str | None = None,
        body_contains: str | None = None,
        direction: str | None = None,
        is_read: bool | None = None,
        sent_after: datetime | None = None,
        sent_before: datetime | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> SmsFound:
        asked = given_values(
            thread_id=thread_id,
            from_number=from_number,
            to_number=to_number,
            body_contains=body_contains,
            direction=direction,
            is_read=is_read,
            sent_after=sent_after,
            sent_before=sent_before,
            limit=limit,
            offset=offset,
            sort_by=sort_by,
            sort_order=sort_order,
        )
        return await self._line.ask(SmsFound, "/sms/query", asked)

    async def send(
        self,
        *,
        from_number: str,
        to_numbers: Sequence[str],
        body: str,
        message_type: str | None = None,
        attachments: Sequence[Mapping[str, JsonValue]] | None = None,
        replied_to_message_id: str | None = None,
    ) -> ActionDone:
        """Send a message from the user."""
        message = given_values(
            from_number=from_number,
            to_numbers=to_numbers,
            body=body,
            message_type=message_type,
            attachments=attachments,
            replied_to_message_id=replied_to_message_id,
        )
        return await self._line.post(ActionDone, "/sms/send", message)

    async def receive(
        self,
        *,
        from_number: str,
        to_numbers: Sequence[str],
        body: str,
        message_type: str | None = None,
        replied_to_message_id: str | None = None,
        sent_at: datetime | None = None,
    ) -> ActionDone:
        """Deliver a message to the user at once. A later one is created with ``EventsEndpoints.create``."""
        message = given_values(
            from_number=from_number,
            to_numbers=to_numbers,
            body=body,
            message_type=message_type,
            replied_to_message_id=replied_to_message_id,
            sent_at=sent_at,
        )
        return await self._line.post(ActionDone, "/sms/receive", message)

    async def read(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._line.post(ActionDone, "/sms/read", given_values(message_ids=message_ids))

    async def unread(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._line.post(ActionDone, "/sms/unread", given_values(message_ids=message_ids))

    async def delete(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._line.post(ActionDone, "/sms/delete", given_values(message_ids=message_ids))

    async def react(self, message_id: str, phone_number: str, emoji: str) -> ActionDone:
        reaction = given_values(message_id=message_id, phone_number=phone_number, emoji=emoji)
        return await self._line.post(ActionDone, "/sms/react", reaction)
