"""The simulator's ``/sms`` endpoints."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Required, TypedDict

from pydantic import JsonValue
from typing_extensions import Unpack

from shared.contracts.ues.modalities import ActionDone, SmsFound, SmsState
from shared.infra.ues.line import PageQueryFields, WorldEndpoints, without_none


class SmsQueryFields(PageQueryFields, total=False):
    thread_id: str | None
    from_number: str | None
    to_number: str | None
    body_contains: str | None
    direction: str | None
    is_read: bool | None
    sent_after: datetime | None
    sent_before: datetime | None


class NewSms(TypedDict, total=False):
    from_number: Required[str]
    to_numbers: Required[Sequence[str]]
    body: Required[str]
    message_type: str | None
    replied_to_message_id: str | None


class SentSms(NewSms, total=False):
    attachments: Sequence[Mapping[str, JsonValue]] | None


class ReceivedSms(NewSms, total=False):
    sent_at: datetime | None


class SmsEndpoints(WorldEndpoints):
    modality = "sms"

    async def get_state(self) -> SmsState:
        return await self._line.get(SmsState, "/sms/state")

    async def query(self, **asked: Unpack[SmsQueryFields]) -> SmsFound:
        return await self._line.post_read(SmsFound, "/sms/query", without_none(**asked))

    async def send(self, **message: Unpack[SentSms]) -> ActionDone:
        """Sends a message from the user."""
        return await self.post_action("send", **message)

    async def receive(self, **message: Unpack[ReceivedSms]) -> ActionDone:
        """Delivers a message to the user at once. The assessor's ``EventsEndpoints.create`` creates later ones."""
        return await self.post_action("receive", **message)

    async def mark_read(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("read", message_ids=message_ids)

    async def mark_unread(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("unread", message_ids=message_ids)

    async def delete(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("delete", message_ids=message_ids)

    async def react(self, message_id: str, phone_number: str, emoji: str) -> ActionDone:
        return await self.post_action("react", message_id=message_id, phone_number=phone_number, emoji=emoji)
