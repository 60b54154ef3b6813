"""Mail that is written: sent, received, answered, forwarded, drafted."""

from typing import Annotated

from pydantic import AliasChoices, Field
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.email_records import Attachment, EmailRecord, Priority
from services.simulator.core.modalities.fields import Address, AwareTime, Name, Text
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed

Addresses = tuple[Address, ...]
SomeAddresses = Annotated[tuple[Address, ...], Field(min_length=1)]
CC = Field((), validation_alias=AliasChoices("cc_addresses", "cc"))
BCC = Field((), validation_alias=AliasChoices("bcc_addresses", "bcc"))


class WrittenMail(Action[Mailbox]):
    """The fields that sent, received and drafted mail share."""

    message_id: Name | None = None
    from_address: Address
    to_addresses: SomeAddresses = Field(validation_alias=AliasChoices("to_addresses", "to"))
    cc_addresses: Addresses = CC
    bcc_addresses: Addresses = BCC
    reply_to_address: Address | None = None
    subject: Text
    body_text: Text
    body_html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    thread_id: Name | None = None
    in_reply_to: Name | None = None
    references: tuple[str, ...] = ()
    priority: Priority = "normal"

    def build_mail(self, box: Mailbox, moment: EventMoment) -> EmailRecord:
        """The mail as it was written now; it joins the thread of the mail that it answers."""
        message_id = self.message_id or moment.new_id("message")
        fields = {name: getattr(self, name) for name in _COPIED_FIELDS}
        return EmailRecord(
            **fields,
            message_id=message_id,
            thread_id=self.thread_id or self._thread_of_parent(box) or f"thread-{message_id}",
            attachments=number_attachments(self.attachments, moment),
            sent_at=moment.now,
            received_at=moment.now,
        )

    def _thread_of_parent(self, box: Mailbox) -> str | None:
        parent = box.emails.get(self.in_reply_to or "")
        return parent.thread_id if parent else None


_COPIED_FIELDS = (
    "from_address", "to_addresses", "cc_addresses", "bcc_addresses", "reply_to_address", "subject", "body_text",
    "body_html", "in_reply_to", "references", "priority",
)  # fmt: skip


class SendMail(WrittenMail):
    """Sends a mail from the user. Fails if another sender is named."""

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        return send_mail(tables, self.build_mail(tables, moment))


class SaveDraft(WrittenMail):
    """Stores a draft; the same id again replaces it."""

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        _require_user(tables, self.from_address)
        draft = self.build_mail(tables, moment).model_copy(update={"folder": "drafts", "is_read": True})
        old = tables.emails.get(draft.message_id)
        if old is not None and old.folder != "drafts":
            raise ActionFailed(f"Message {draft.message_id} is not a draft")
        tables.emails.put(draft.message_id, draft)
        return ActionOutcome("Draft saved", (draft.message_id,))


class SendDraft(Action[Mailbox]):
    """Sends a stored draft as it is."""

    message_id: Name

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        draft = tables.require_mail(self.message_id)
        if draft.folder != "drafts":
            raise ActionFailed(f"Message {self.message_id} is not a draft")
        update = {"folder": "sent", "sent_at": moment.now, "received_at": moment.now}
        tables.emails.put(draft.message_id, draft.model_copy(update=update))
        return ActionOutcome("Draft sent", (draft.message_id,))


class ReceiveMail(WrittenMail):
    """Delivers a mail from somebody else. It arrives now; ``sent_at`` may lie earlier, and is capped at now."""

    sent_at: AwareTime | None = None

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        sent_at = min(self.sent_at or moment.now, moment.now)
        mail = self.build_mail(tables, moment).model_copy(update={"sent_at": sent_at, "bcc_addresses": ()})
        tables.add(mail)  # without the blind copies: nobody who receives a mail sees those
        return ActionOutcome("Email received", (mail.message_id,))


def send_mail(box: Mailbox, mail: EmailRecord) -> ActionOutcome:
    """Puts a mail into the folder of sent mail; raises ``ActionFailed`` if its sender is not the user."""
    _require_user(box, mail.from_address)
    box.add(mail.model_copy(update={"folder": "sent", "is_read": True}))
    return ActionOutcome("Email sent", (mail.message_id,))


def _require_user(box: Mailbox, address: str) -> None:
    if not box.is_user(address):
        raise ActionFailed(f"{address} is not the user's address, which is {box.user}")


def number_attachments(attachments: tuple[Attachment, ...], moment: EventMoment) -> tuple[Attachment, ...]:
    """The attachments, each with an id."""
    return tuple(
        item if item.attachment_id else item.model_copy(update={"attachment_id": moment.new_id(f"attachment {index}")})
        for index, item in enumerate(attachments)
    )
