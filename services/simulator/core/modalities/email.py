"""The user's mail."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from pydantic import Field
from pydantic_core import to_json
from typing_extensions import override

from services.simulator.core.modalities import email_views
from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.email_answers import Forward, ReplyAll, ReplyEmail
from services.simulator.core.modalities.email_compose import ReceiveMail, SaveDraft, SendDraft, SendMail
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
from services.simulator.core.modalities.email_query import EmailQuery, find_mails
from services.simulator.core.modalities.email_records import EmailRecord, MailboxOwner
from services.simulator.core.modalities.loading import Exported, require_same_keys
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modalities.rendered import RenderedRows, join_objects, row_as_json
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import parse_model

OPERATIONS: Mapping[str, type[Action[Mailbox]]] = {
    "receive": ReceiveMail,
    "send": SendMail,
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
    """An exported mailbox. ``folders``: ids, or counts, by name. Threads, labels and counts are derived from the
    mails.
    """

    user_email_address: str = MailboxOwner().address
    emails: dict[str, EmailRecord] = {}
    folders: dict[str, object] = Field(default_factory=dict)


class EmailModality(CachedStateModality[Mailbox]):
    name: ClassVar[str] = "email"
    kept: ClassVar[tuple[str, ...]] = ("owner",)
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = Mailbox(self.store)
        self._mails = RenderedRows(self.tables.emails, row_as_json)
        self.tables.set_owner(MailboxOwner())
        self.clear(now)

    @override
    def body(self) -> JsonObject:
        return {"emails": self._mails.rows_by_key(), **email_views.state_fields(self.tables)}

    @override
    def body_json(self) -> bytes:
        return join_objects(b'{"emails":%s}' % self._mails.as_bytes(), to_json(email_views.state_fields(self.tables)))

    @override
    def compact_body(self) -> JsonObject:
        return email_views.compact_state(self.tables)

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(EmailQuery, fields)
        mails = find_mails(self.tables, query)
        return {
            "modality_type": self.name,
            "emails": [self._mails.row(key) for key in mails.keys],
            "total_count": mails.total,
            "returned_count": len(mails.keys),
            "query": query.as_json(),
        }

    @override
    def export(self) -> JsonObject:
        return {"modality_type": self.name, **row_as_json(self.head), **self.body()}

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedMail, state)
        require_same_keys("emails", read.emails, "message_id")
        self.store.clear()
        self.set_head(read.head)
        self.tables.set_owner(MailboxOwner(address=read.user_email_address))
        for name in read.folders:
            self.tables.make_folder(name)
        for mail in read.emails.values():
            self.tables.add(mail if self.tables.is_user(mail.from_address) else _without_blind_copies(mail))


def _without_blind_copies(mail: EmailRecord) -> EmailRecord:
    return mail.model_copy(update={"bcc_addresses": ()})
