"""The simulator's ``/email`` and ``/sms`` endpoints."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Required, TypedDict

from pydantic import JsonValue
from typing_extensions import Unpack

from shared.contracts.ues.modalities import ActionDone, EmailsFound, EmailState, SmsFound, SmsState
from shared.infra.ues.connection import PageQueryFields, WorldEndpoints, without_none


class EmailQueryFields(PageQueryFields, total=False):
    folder: str | None
    is_read: bool | None
    is_starred: bool | None
    from_address: str | None
    to_address: str | None
    subject_contains: str | None
    body_contains: str | None
    has_attachments: bool | None
    labels: Sequence[str] | None
    thread_id: str | None
    priority: str | None
    sent_after: datetime | None
    sent_before: datetime | None
    received_after: datetime | None
    received_before: datetime | None


class NewEmail(TypedDict, total=False):
    from_address: Required[str]
    to_addresses: Required[Sequence[str]]
    subject: Required[str]
    body_text: Required[str]
    cc_addresses: Sequence[str] | None
    reply_to_address: str | None
    thread_id: str | None
    in_reply_to: str | None
    references: Sequence[str] | None
    priority: str | None


class SentEmail(NewEmail, total=False):
    bcc_addresses: Sequence[str] | None
    body_html: str | None
    attachments: Sequence[Mapping[str, JsonValue]] | None


class ReceivedEmail(NewEmail, total=False):
    sent_at: datetime | None


class EmailEndpoints(WorldEndpoints):
    modality = "email"

    async def get_state(self) -> EmailState:
        return await self._connection.get(EmailState, "/email/state")

    async def query(self, **filters: Unpack[EmailQueryFields]) -> EmailsFound:
        return await self._connection.post_read(EmailsFound, "/email/query", without_none(**filters))

    async def send(self, **mail: Unpack[SentEmail]) -> ActionDone:
        """Sends a mail from the user."""
        return await self.post_action("send", **mail)

    async def receive(self, **mail: Unpack[ReceivedEmail]) -> ActionDone:
        """Delivers a mail to the user at once. The assessor's ``EventsEndpoints.create`` creates later ones."""
        return await self.post_action("receive", **mail)

    async def mark_read(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("read", message_ids=message_ids)

    async def mark_unread(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("unread", message_ids=message_ids)

    async def star(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("star", message_ids=message_ids)

    async def unstar(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("unstar", message_ids=message_ids)

    async def archive(self, message_ids: Sequence[str]) -> ActionDone:
        return await self.post_action("archive", message_ids=message_ids)

    async def delete(self, message_ids: Sequence[str]) -> ActionDone:
        """Moves mails to the trash."""
        return await self.post_action("delete", message_ids=message_ids)

    async def label(self, message_ids: Sequence[str], labels: Sequence[str]) -> ActionDone:
        return await self.post_action("label", message_ids=message_ids, labels=labels)

    async def unlabel(self, message_ids: Sequence[str], labels: Sequence[str]) -> ActionDone:
        return await self.post_action("unlabel", message_ids=message_ids, labels=labels)

    async def move(self, message_ids: Sequence[str], folder: str) -> ActionDone:
        return await self.post_action("move", message_ids=message_ids, folder=folder)


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
        return await self._connection.get(SmsState, "/sms/state")

    async def query(self, **filters: Unpack[SmsQueryFields]) -> SmsFound:
        return await self._connection.post_read(SmsFound, "/sms/query", without_none(**filters))

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
