"""Mail of a simulated world as tools."""

from collections import Counter
from datetime import datetime
from typing import cast

from pydantic import Field
from typing_extensions import override

from services.gateway.worlds import world as worlds
from shared.contracts.ues.modalities import Email
from shared.domain.exact_json import Json, JsonObject
from shared.infra.ues.connection import FieldValue

_REPLY_PREFIX = "re:"
_HIDDEN_FIELDS = ("body_html", "reply_to_address")


class GetMailbox(worlds.Operation):
    """The user's own mail address, the folders with how many mails lie in each, and the labels in use."""

    tool, permission = "get_mailbox", "email:state"

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        state = await world.ues.email.get_state()
        folders: list[Json] = [{"folder": name, "emails": state.count_in_folder(name)} for name in state.folders]
        return {
            "user_email_address": state.user_email_address,
            "total_email_count": state.total_email_count,
            "unread_count": state.unread_count,
            "folders": folders,
            "labels": cast(Json, sorted(state.labels)),
        }


class ListEmails(worlds.Operation):
    """Mails that fit all that is given, newest first, with all of their text. Addresses and words match as parts.

    Fields at their usual values are left out: not starred, normal priority, no thread, sent when it was received.
    """

    tool, permission = "list_emails", "email:query"

    folder: str | None = Field(None, description="inbox, sent, drafts, trash, spam, archive or one of the user's own")
    is_read: bool | None = None
    is_starred: bool | None = None
    from_address: str | None = None
    to_address: str | None = None
    subject_contains: str | None = None
    body_contains: str | None = None
    label: str | None = None
    thread_id: str | None = None
    received_after: datetime | None = None
    received_before: datetime | None = None
    limit: int = Field(100, ge=1, le=1000)
    offset: int = Field(0, ge=0)

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        filters = self.model_dump(exclude_none=True, exclude={"label"})
        labels = (self.label,) if self.label is not None else None
        page = await world.ues.email.query(labels=labels, **filters)
        thread_sizes = Counter(mail.thread_id for mail in page.emails)
        rows = [_build_mail_row(mail, is_alone=thread_sizes[mail.thread_id] == 1) for mail in page.emails]
        return worlds.build_list_page("emails", rows, page.total_count)


class GetEmail(worlds.Operation):
    """One mail, by its message_id."""

    tool, permission = "get_email", "email:state"

    message_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        mail = await _find_email(world, self.message_id)
        return _describe_mail(mail) if mail else {"message_id": self.message_id, "found": False}


class GetEmailLabel(worlds.Operation):
    """Whether one mail has a label."""

    tool, permission = "get_email_label", "email:state"

    message_id: str
    label: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        mail = await _find_email(world, self.message_id)
        has_label = mail is not None and self.label in mail.labels
        return {"message_id": self.message_id, "label": self.label, "present": has_label}


class FindSentEmails(worlds.Operation):
    """Mails that the user has sent under a subject."""

    tool, permission = "find_sent_emails", "email:query"

    subject: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        page = await world.ues.email.query(folder="sent", subject_contains=self.subject.strip(), limit=100)
        return worlds.build_list_page("emails", [_describe_mail(mail) for mail in page.emails], page.total_count)


class FindEmailReplies(worlds.Operation):
    """What the user has answered to one mail, by the mail's message_id."""

    tool, permission = "find_email_replies", "email:query"

    message_id: str

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        page = await world.ues.email.query(folder="sent", limit=1000)
        replies = [mail for mail in page.emails if mail.in_reply_to == self.message_id]
        rows = [
            {"reply_id": mail.message_id, **worlds.select_record_fields(mail, "message_id", *_HIDDEN_FIELDS)}
            for mail in replies
        ]
        return worlds.build_list_page("replies", rows, len(rows))


class SendEmail(worlds.Operation):
    """Send a new mail in the user's name. To answer one, use reply_to_email."""

    tool = "send_email"
    permission = "email:send"
    read_back = "find_sent_emails"

    to_addresses: tuple[str, ...] = Field(min_length=1, description="whom it goes to")
    subject: str = Field(min_length=1)
    body_text: str = Field(min_length=1)
    cc_addresses: tuple[str, ...] = ()
    bcc_addresses: tuple[str, ...] = ()

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        email = world.ues.email.send(
            from_address=await world.user_address(),
            to_addresses=self.to_addresses,
            subject=self.subject,
            body_text=self.body_text,
            cc_addresses=self.cc_addresses or None,
            bcc_addresses=self.bcc_addresses or None,
        )
        return worlds.build_created_ids(await world.carry_out_change(email), "message_id")


class ReplyToEmail(worlds.Operation):
    """Answer a mail in the user's name, in its thread, to its sender or to the ``reply_to_address`` that it shows.

    ``cc_addresses``: who else gets the answer.
    """

    tool = "reply_to_email"
    permission = "email:send"
    read_back = "find_email_replies"

    message_id: str = Field(description="the mail that is answered")
    body_text: str = Field(min_length=1)
    cc_addresses: tuple[str, ...] = ()

    async def carry_out(self, world: worlds.ConnectedWorld) -> JsonObject:
        state = await world.ues.email.get_state()
        original = state.emails.get(self.message_id)
        if original is None or not state.user_email_address:
            raise worlds.WorldRefused(f"there is no mail {self.message_id}")
        is_reply = original.subject.lower().lstrip().startswith(_REPLY_PREFIX)
        reply = world.ues.email.send(
            from_address=state.user_email_address,
            to_addresses=[original.reply_to_address or original.from_address],
            subject=original.subject if is_reply else f"Re: {original.subject}",
            body_text=self.body_text,
            cc_addresses=self.cc_addresses or None,
            thread_id=original.thread_id or None,
            in_reply_to=original.message_id,
            references=[*original.references, original.message_id],
        )
        return worlds.build_created_ids(await world.carry_out_change(reply), "reply_id")


class MoveEmail(worlds.MessageChange):
    """Move a mail into a folder, such as spam or inbox; a folder that is not there is made."""

    tool = "move_email"
    permission = "email:move"
    read_back = "get_email"

    folder: str


class _LabelChange(worlds.MessageChange):
    read_back = "get_email_label"

    label: str

    @override
    def list_further_fields(self) -> dict[str, FieldValue]:
        return {"labels": [self.label]}


class LabelEmail(_LabelChange):
    """Give a mail a label."""

    tool = "label_email"
    permission = "email:label"
    expect = {"present": True}


class UnlabelEmail(_LabelChange):
    """Take a label from a mail."""

    tool = "unlabel_email"
    permission = "email:unlabel"
    expect = {"present": False}


def _describe_mail(mail: Email) -> JsonObject:
    return worlds.select_record_fields(mail, *_list_hidden_fields(mail))


def _build_mail_row(mail: Email, *, is_alone: bool) -> JsonObject:
    """A mail as a row of a list. ``is_alone``: whether no other mail in the list belongs to its thread."""
    thread_field = ("thread_id",) if is_alone and mail.thread_id == f"thread-{mail.message_id}" else ()
    sent_field = ("sent_at",) if mail.sent_at == mail.received_at else ()
    return worlds.select_row_fields(mail, *_list_hidden_fields(mail), *thread_field, *sent_field)


def _list_hidden_fields(mail: Email) -> tuple[str, ...]:
    """The fields to leave out; ``reply_to_address`` is shown only if an answer would not go to the sender."""
    has_other_reply_address = mail.reply_to_address and mail.reply_to_address.casefold() != mail.from_address.casefold()
    return _HIDDEN_FIELDS[:1] if has_other_reply_address else _HIDDEN_FIELDS


async def _find_email(world: worlds.ConnectedWorld, message_id: str) -> Email | None:
    return (await world.ues.email.get_state()).emails.get(message_id)


_FLAG_CHANGES = tuple(
    worlds.make_message_change(tool, permission, description, "get_email", expect)
    for tool, permission, description, expect in (
        ("mark_email_read", "email:read", "Mark a mail as read.", {"is_read": True}),
        ("mark_email_unread", "email:unread", "Mark a mail as unread.", {"is_read": False}),
        ("star_email", "email:star", "Star a mail.", {"is_starred": True}),
        ("unstar_email", "email:unstar", "Take a mail's star away.", {"is_starred": False}),
        ("archive_email", "email:archive", "Move a mail into the archive.", {"folder": "archive"}),
        ("delete_email", "email:delete", "Delete a mail: it goes into the trash.", {"folder": "trash"}),
    )
)
MAIL_OPERATIONS: tuple[type[worlds.Operation], ...] = (
    GetMailbox, ListEmails, GetEmail, GetEmailLabel, FindSentEmails, FindEmailReplies, SendEmail, ReplyToEmail,
    MoveEmail, LabelEmail, UnlabelEmail, *_FLAG_CHANGES,
)  # fmt: skip
