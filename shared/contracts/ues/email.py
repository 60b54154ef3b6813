"""Mail as a simulator shows it."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.contracts.ues.base import Answer, JsonObject, Moment


class Email(Answer):
    message_id: str
    thread_id: str = ""
    from_address: str
    to_addresses: tuple[str, ...] = ()
    cc_addresses: tuple[str, ...] = ()
    bcc_addresses: tuple[str, ...] = ()
    reply_to_address: str | None = None
    subject: str = ""
    body_text: str = ""
    body_html: str | None = None
    attachments: tuple[JsonObject, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    sent_at: Moment
    received_at: Moment
    is_read: bool = False
    is_starred: bool = False
    priority: str = "normal"
    folder: str = "inbox"
    labels: tuple[str, ...] = ()


class EmailThread(Answer):
    thread_id: str
    subject: str = ""
    participant_addresses: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    message_count: int = 0
    unread_count: int = 0


class EmailState(Answer):
    """``folders`` and ``labels``: the ids under each name, or only how many there are (older servers)."""

    current_time: Moment | None = None
    user_email_address: str | None = None
    emails: Mapping[str, Email] = {}
    threads: Mapping[str, EmailThread] = {}
    folders: Mapping[str, tuple[str, ...] | int] = {}
    labels: Mapping[str, tuple[str, ...] | int] = {}
    total_email_count: int = 0
    unread_count: int = 0
    starred_count: int = 0

    def in_folder(self, name: str) -> int:
        """How many mails lie there."""
        held = self.folders.get(name, 0)
        return held if isinstance(held, int) else len(held)


class EmailsFound(Answer):
    emails: tuple[Email, ...] = ()
    total_count: int = 0
    returned_count: int = 0
    query: Mapping[str, JsonValue] = {}
