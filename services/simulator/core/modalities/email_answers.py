"""Answers to a mail, and forwarding it: what is left out follows from the mail they belong to."""

import re

from pydantic import AliasChoices, Field
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.email_compose import BCC, CC, Addresses, SomeAddresses, numbered, sent
from services.simulator.core.modalities.email_records import Attachment, Email, Priority
from services.simulator.core.modalities.fields import Address, Name, Text
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modality import Moment, Outcome

_TO = Field((), validation_alias=AliasChoices("to_addresses", "to"))
_RE = re.compile(r"\s*re\s*:", re.IGNORECASE)
_FWD = re.compile(r"\s*fwd?\s*:", re.IGNORECASE)


class _Answer(Action[Mailbox]):
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

    def mail(self, box: Mailbox, parent: Email, moment: Moment) -> Email:
        return Email(
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
            attachments=numbered(self.attachments, moment),
            in_reply_to=parent.message_id,
            references=(*parent.references, parent.message_id),
            sent_at=moment.now,
            received_at=moment.now,
            priority=self.priority,
        )

    def answered(self, box: Mailbox, moment: Moment, to: Addresses, cc: Addresses) -> Outcome:
        parent = box.found(self.in_reply_to)
        mail = self.mail(box, parent, moment)
        subject = self.subject or prefixed("Re: ", _RE, parent.subject)
        update = {"to_addresses": self.to_addresses or to, "cc_addresses": self.cc_addresses or cc, "subject": subject}
        return sent(box, mail.model_copy(update=update))


class Reply(_Answer):
    """To whoever wrote the mail, unless it says to whom."""

    @override
    def act(self, tables: Mailbox, moment: Moment) -> Outcome:
        return self.answered(tables, moment, back_to(tables, tables.found(self.in_reply_to)), ())


class ReplyAll(_Answer):
    """To whoever wrote the mail, with a copy to everybody else whom it names."""

    @override
    def act(self, tables: Mailbox, moment: Moment) -> Outcome:
        parent = tables.found(self.in_reply_to)
        to = back_to(tables, parent)
        named = dict.fromkeys(parent.to_addresses + parent.cc_addresses)
        others = tuple(address for address in named if address not in to and not tables.is_user(address))
        return self.answered(tables, moment, to, others)


class Forward(_Answer):
    """The mail below what is written about it, with its attachments."""

    to_addresses: SomeAddresses = Field(validation_alias=AliasChoices("to_addresses", "to"))

    @override
    def act(self, tables: Mailbox, moment: Moment) -> Outcome:
        parent = tables.found(self.in_reply_to)
        update = {
            "subject": self.subject or prefixed("Fwd: ", _FWD, parent.subject),
            "body_text": f"{self.body_text}\n\n{quoted(parent)}",
            "attachments": numbered(self.attachments, moment) + parent.attachments,
        }
        return sent(tables, self.mail(tables, parent, moment).model_copy(update=update))


def back_to(box: Mailbox, parent: Email) -> Addresses:
    """Where an answer goes: to the sender, or, to one's own mail, to whom it went."""
    if box.is_user(parent.from_address):
        return parent.to_addresses
    return (parent.reply_to_address or parent.from_address,)


def prefixed(prefix: str, there: re.Pattern[str], subject: str) -> str:
    """The subject with that prefix, once."""
    return subject if there.match(subject) else prefix + subject


def quoted(mail: Email) -> str:
    head = f"---------- Forwarded message ----------\nFrom: {mail.from_address}\nSubject: {mail.subject}"
    return f"{head}\nTo: {', '.join(mail.to_addresses)}\n\n{mail.body_text}"
