"""``/email``."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from shared.contracts.ues.modalities import ActionDone, EmailsFound, EmailState, JsonObject
from shared.infra.ues.line import WorldEndpoints, given_values


class EmailEndpoints(WorldEndpoints):
    async def get_state(self) -> EmailState:
        return await self._line.get(EmailState, "/email/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._line.get_json("/email/state", compact=True)

    async def query(
        self,
        *,
        folder: str | None = None,
        is_read: bool | None = None,
        is_starred: bool | None = None,
        from_address: str | None = None,
        to_address: str | None = None,
        subject_contains: str | None = None,
        body_contains: str | None = None,
        has_attachments: bool | None = None,
        labels: Sequence[str] | None = None,
        thread_id: str | None = None,
        priority: str | None = None,
        sent_after: datetime | None = None,
        sent_before: datetime | None = None,
        received_after: datetime | None = None,
        received_before: datetime | None = None,
        limit: int | None = None,
        offset: int | None = None,
        sort_by: str | None = None,
        sort_order: str | None = None,
    ) -> EmailsFound:
        asked = given_values(
            folder=folder,
            is_read=is_read,
            is_starred=is_starred,
            from_address=from_address,
            to_address=to_address,
            subject_contains=subject_contains,
            body_contains=body_contains,
            has_attachments=has_attachments,
            labels=labels,
            thread_id=thread_id,
            priority=priority,
            sent_after=sent_after,
            sent_before=sent_before,
            received_after=received_after,
            received_before=received_before,
            limit=limit,
            offset=offset,
            sort_by=sort_by,
            sort_order=sort_order,
        )
        return await self._line.ask(EmailsFound, "/email/query", asked)

    async def send(
        self,
        *,
        from_address: str,
        to_addresses: Sequence[str],
        subject: str,
        body_text: str,
        cc_addresses: Sequence[str] | None = None,
        bcc_addresses: Sequence[str] | None = None,
        reply_to_address: str | None = None,
        body_html: str | None = None,
        attachments: Sequence[Mapping[str, JsonValue]] | None = None,
        thread_id: str | None = None,
        in_reply_to: str | None = None,
        references: Sequence[str] | None = None,
        priority: str | None = None,
    ) -> ActionDone:
        """Send a mail from the user."""
        mail = given_values(
            from_address=from_address,
            to_addresses=to_addresses,
            subject=subject,
            body_text=body_text,
            cc_addresses=cc_addresses,
            bcc_addresses=bcc_addresses,
            reply_to_address=reply_to_address,
            body_html=body_html,
            attachments=attachments,
            thread_id=thread_id,
            in_reply_to=in_reply_to,
            references=references,
            priority=priority,
        )
        return await self._act("send", mail)

    async def receive(
        self,
        *,
        from_address: str,
        to_addresses: Sequence[str],
        subject: str,
        body_text: str,
        cc_addresses: Sequence[str] | None = None,
        reply_to_address: str | None = None,
        thread_id: str | None = None,
        in_reply_to: str | None = None,
        references: Sequence[str] | None = None,
        priority: str | None = None,
        sent_at: datetime | None = None,
    ) -> ActionDone:
        """Deliver a mail to the user at once. A later one is created with ``EventsEndpoints.create``."""
        mail = given_values(
            from_address=from_address,
            to_addresses=to_addresses,
            subject=subject,
            body_text=body_text,
            cc_addresses=cc_addresses,
            reply_to_address=reply_to_address,
            thread_id=thread_id,
            in_reply_to=in_reply_to,
            references=references,
            priority=priority,
            sent_at=sent_at,
        )
        return await self._act("receive", mail)

    async def read(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._act("read", given_values(message_ids=message_ids))

    async def unread(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._act("unread", given_values(message_ids=message_ids))

    async def star(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._act("star", given_values(message_ids=message_ids))

    async def unstar(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._act("unstar", given_values(message_ids=message_ids))

    async def archive(self, message_ids: Sequence[str]) -> ActionDone:
        return await self._act("archive", given_values(message_ids=message_ids))

    async def delete(self, message_ids: Sequence[str]) -> ActionDone:
        """Move mails to the trash."""
        return await self._act("delete", given_values(message_ids=message_ids))

    async def label(self, message_ids: Sequence[str], labels: Sequence[str]) -> ActionDone:
        return await self._act("label", given_values(message_ids=message_ids, labels=labels))

    async def unlabel(self, message_ids: Sequence[str], labels: Sequence[str]) -> ActionDone:
        return await self._act("unlabel", given_values(message_ids=message_ids, labels=labels))

    async def move(self, message_ids: Sequence[str], folder: str) -> ActionDone:
        return await self._act("move", given_values(message_ids=message_ids, folder=folder))

    async def _act(self, action: str, body: JsonObject) -> ActionDone:
        return await self._line.post(ActionDone, f"/email/{action}", body)
