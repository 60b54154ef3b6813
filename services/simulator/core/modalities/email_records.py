"""What a mailbox holds."""

from typing import Literal, TypeAlias

from pydantic import Field

from services.simulator.core.modalities.fields import StoredTime
from services.simulator.core.records import StoredRow

Priority: TypeAlias = Literal["high", "normal", "low"]
FOLDERS = ("inbox", "sent", "drafts", "trash", "spam", "archive")  # always there, even when empty


class Attachment(StoredRow):
    """A file that hangs on a mail: what is known of it, not what is in it."""

    filename: str = Field(min_length=1)
    size: int = Field(gt=0)
    mime_type: str = "application/octet-stream"
    content_id: str | None = None
    attachment_id: str | None = None


class EmailRecord(StoredRow):
    message_id: str
    thread_id: str
    from_address: str
    to_addresses: tuple[str, ...]
    cc_addresses: tuple[str, ...] = ()
    bcc_addresses: tuple[str, ...] = ()
    reply_to_address: str | None = None
    subject: str
    body_text: str
    body_html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    sent_at: StoredTime
    received_at: StoredTime
    is_read: bool = False
    is_starred: bool = False
    priority: Priority = "normal"
    folder: str = "inbox"
    labels: tuple[str, ...] = ()

    @property
    def recipients(self) -> tuple[str, ...]:
        """All addressees of the mail, those in Bcc included."""
        return self.to_addresses + self.cc_addresses + self.bcc_addresses


class EmailFolder(StoredRow):
    """A folder that somebody made."""

    name: str


class MailboxOwner(StoredRow):
    """The user whose mailbox it is."""

    address: str = "user@example.com"
