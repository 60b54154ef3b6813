"""Answers to a mail, and forwarding it: what is left out follows from the mail they belong to."""

import re

from pydantic import AliasChoices, Field
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.email_compose import (
    BCC,
    CC,
    Addresses,
    SomeAddresses,
    number_attachments,
    send_mail,
)
from services.simulator.core.modalities.email_records import Attachment, EmailRecord, Priority
from services.simulator.core.modalities.fields import Address, Name, Text
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modality import ActionOutcome, EventMoment

_TO = Field((), validation_alias=AliasChoices("to_addresses", "to"))
_RE_PATTERN = re.compile(r"\s*re\s*:", re.IGNORECASE)
_FWD_PATTERN = re.compile(r"\s*fwd?\s*:", re.IGNORECASE)


class _EmailAnswer(Action[Mailbox]):
    message_id: Name | None = None
    in_reply_to: Name
    from_address: Address | None = None
    to_addresses: Addresses = _TO
    cc_addresses: Addresses = CC
    bcc_addresses: Addresses = BCC
    reply_to_address: Address | None = None
    subject: Text | None = None
    body_text: Text
    body_html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    priority: Priority = "normal"

    def build_answer(self, box: Mailbox, parent: EmailRecord, moment: EventMoment) -> EmailRecord:
        return EmailRecord(
            message_id=self.message_id or moment.new_id("message"),
            thread_id=parent.thread_id,
            from_address=self.from_address or box.user,
            to_addresses=self.to_addresses,
            cc_addresses=self.cc_addresses,
            bcc_addresses=self.bcc_addresses,
            reply_to_address=self.reply_to_address,
            subject=self.subject or parent.subject,
            body_text=self.body_text,
            body_html=self.body_html,
            attachments=number_attachments(self.attachments, moment),
            in_reply_to=parent.message_id,
            references=(*parent.references, parent.message_id),
            sent_at=moment.now,
            received_at=moment.now,
            priority=self.priority,
        )

    def send_answer(self, box: Mailbox, moment: EventMoment, to: Addresses, cc: Addresses) -> ActionOutcome:
        parent = box.require_mail(self.in_reply_to)
        mail = self.build_answer(box, parent, moment)
        subject = self.subject or add_prefix("Re: ", _RE_PATTERN, parent.subject)
        update = {"to_addresses": self.to_addresses or to, "cc_addresses": self.cc_addresses or cc, "subject": subject}
        return send_mail(box, mail.model_copy(update=update))


class ReplyEmail(_EmailAnswer):
    """Answers a mail to its sender, unless other addressees are given."""

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        return self.send_answer(tables, moment, reply_addresses(tables, tables.require_mail(self.in_reply_to)), ())


class ReplyAll(_EmailAnswer):
    """Answers a mail to its sender, with a copy to everybody else whom it names."""

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        parent = tables.require_mail(self.in_reply_to)
        to = reply_addresses(tables, parent)
        named = dict.fromkeys(parent.to_addresses + parent.cc_addresses)
        others = tuple(address for address in named if address not in to and not tables.is_user(address))
        return self.send_answer(tables, moment, to, others)


class Forward(_EmailAnswer):
    """Forwards a mail with its attachments, below what is written about it."""

    to_addresses: SomeAddresses = Field(validation_alias=AliasChoices("to_addresses", "to"))

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        parent = tables.require_mail(self.in_reply_to)
        update = {
            "subject": self.subject or add_prefix("Fwd: ", _FWD_PATTERN, parent.subject),
            "body_text": f"{self.body_text}\n\n{quote_mail(parent)}",
            "attachments": number_attachments(self.attachments, moment) + parent.attachments,
        }
        return send_mail(tables, self.build_answer(tables, parent, moment).model_copy(update=update))


def reply_addresses(box: Mailbox, parent: EmailRecord) -> Addresses:
    """The addressees of an answer: the sender of the mail, or, if the user wrote it, its own addressees."""
    if box.is_user(parent.from_address):
        return parent.to_addresses
    return (parent.reply_to_address or parent.from_address,)


def add_prefix(prefix: str, there: re.Pattern[str], subject: str) -> str:
    """The subject with that prefix, unless it has the prefix already."""
    return subject if there.match(subject) else prefix + subject


def quote_mail(mail: EmailRecord) -> str:
    head = f"---------- Forwarded message ----------\nFrom: {mail.from_address}\nSubject: {mail.subject}"
    return f"{head}\nTo: {', '.join(mail.to_addresses)}\n\n{mail.body_text}"
