"""The user's mail."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from pydantic import Field
from pydantic_core import to_json
from typing_extensions import override

from services.simulator.core.modalities import email_views
from services.simulator.core.modalities.actions import Action, read_as
from services.simulator.core.modalities.email_answers import Forward, ReplyAll, ReplyEmail
from services.simulator.core.modalities.email_compose import Receive, SaveDraft, Send, SendDraft
from services.simulator.core.modalities.email_marks import (
    AddLabel,
    ArchiveMail,
    DeleteMail,
    MarkNotSpam,
    MarkRead,
    MarkSpam,
    MarkUnread,
    Move,
    RemoveLabel,
    Star,
    Unstar,
)
from services.simulator.core.modalities.email_query import EmailQuery, find
from services.simulator.core.modalities.email_records import EmailRecord, Owner
from services.simulator.core.modalities.loading import Exported, read_state, require_same_keys
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modalities.rendered import RenderedRows, join_objects, plain
from services.simulator.core.modalities.shown import ShownModality
from services.simulator.core.records import JsonObject

OPERATIONS: Mapping[str, type[Action[Mailbox]]] = {
    "receive": Receive,
    "send": Send,
    "reply": ReplyEmail,
    "reply_all": ReplyAll,
    "forward": Forward,
    "save_draft": SaveDraft,
    "send_draft": SendDraft,
    "mark_read": MarkRead,
    "mark_unread": MarkUnread,
    "star": Star,
    "unstar": Unstar,
    "move": Move,
    "delete": DeleteMail,
    "archive": ArchiveMail,
    "add_label": AddLabel,
    "remove_label": RemoveLabel,
    "mark_spam": MarkSpam,
    "mark_not_spam": MarkNotSpam,
}


class ExportedMail(Exported):
    """Threads, labels and counts follow from the mails, so they are not read. Folders: names to ids, or to counts."""

    user_email_address: str = Owner().address
    emails: dict[str, EmailRecord] = {}
    folders: dict[str, object] = Field(default_factory=dict)


class EmailModality(ShownModality[Mailbox]):
    name: ClassVar[str] = "email"
    kept: ClassVar[tuple[str, ...]] = ("owner",)
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = Mailbox(self.store)
        self._mails = RenderedRows(self.tables.emails, plain)
        self.tables.belongs_to(Owner())
        self.clear(now)

    @override
    def body(self) -> JsonObject:
        return {"emails": self._mails.all(), **email_views.frame(self.tables)}

    @override
    def body_json(self) -> bytes:
        return join_objects(b'{"emails":%s}' % self._mails.text(), to_json(email_views.frame(self.tables)))

    @override
    def compact_body(self) -> JsonObject:
        return email_views.compact(self.tables)

    @override
    def query(self, asked: JsonObject, now: datetime) -> JsonObject:
        query = read_as(EmailQuery, asked)
        found = find(self.tables, query)
        return {
            "modality_type": self.name,
            "emails": [self._mails.one(key) for key in found.keys],
            "total_count": found.total,
            "returned_count": len(found.keys),
            "query": query.echo(),
        }

    @override
    def export(self) -> JsonObject:
        return {"modality_type": self.name, **plain(self.head), **self.body()}

    @override
    def load(self, state: JsonObject) -> None:
        read = read_state(ExportedMail, state)
        require_same_keys("emails", read.emails, "message_id")
        self.store.clear()
        self.set_head(read.head)
        self.tables.belongs_to(Owner(address=read.user_email_address))
        for name in read.folders:
            self.tables.make_folder(name)
        for mail in read.emails.values():
            self.tables.add(mail if self.tables.is_user(mail.from_address) else _without_blind_copies(mail))


def _without_blind_copies(mail: EmailRecord) -> EmailRecord:
    return mail.model_copy(update={"bcc_addresses": ()})
