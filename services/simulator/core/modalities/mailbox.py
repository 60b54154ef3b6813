"""The tables of the email modality, and the ways to find mail in them."""

from collections.abc import Iterable, Iterator

from services.simulator.core.modalities.email_records import FOLDERS, EmailFolder, EmailRecord, MailboxOwner
from services.simulator.core.modalities.indexes import GroupIndex, OrderedGroupIndex, TimeIndex
from services.simulator.core.records import TableStore
from services.simulator.core.refusals import ActionFailed


class Mailbox:
    """One user's mail."""

    def __init__(self, store: TableStore) -> None:
        self.emails = store.table("emails", EmailRecord)
        self.folders = store.table("folders", EmailFolder)
        self.owners = store.table("owner", MailboxOwner)
        self.in_folder = GroupIndex(self.emails, lambda mail: (mail.folder,))
        self.in_thread = GroupIndex(self.emails, lambda mail: (mail.thread_id,))
        self.labelled = GroupIndex(self.emails, lambda mail: mail.labels)
        self.marked = GroupIndex(self.emails, flags_of)
        self.by_arrival = TimeIndex(self.emails, lambda mail: mail.received_at)
        self.groups = OrderedGroupIndex(self.emails, groups_of, self.by_arrival)

    @property
    def user(self) -> str:
        """The user's own address."""
        return self.owners["owner"].address

    def set_owner(self, owner: MailboxOwner) -> None:
        self.owners.put("owner", owner)

    def is_user(self, address: str) -> bool:
        return address.casefold() == self.user.casefold()

    def folder_names(self) -> list[str]:
        """The names of the standard folders, then of those that were made."""
        return [*FOLDERS, *(name for name in self.folders if name not in FOLDERS)]

    def make_folder(self, name: str) -> None:
        """Makes a folder; does nothing if there is one of that name."""
        if name not in FOLDERS and name not in self.folders:
            self.folders.put(name, EmailFolder(name=name))

    def add(self, mail: EmailRecord) -> None:
        """Adds a mail. Raises ``ActionFailed`` if its id is taken."""
        if mail.message_id in self.emails:
            raise ActionFailed(f"There is a message {mail.message_id} already")
        self.make_folder(mail.folder)
        self.emails.put(mail.message_id, mail)

    def require_mail(self, message_id: str) -> EmailRecord:
        """The mail of that id. Raises ``ActionFailed`` if there is none."""
        if message_id not in self.emails:
            raise ActionFailed(f"There is no message {message_id}")
        return self.emails[message_id]

    def require_mails(self, message_ids: Iterable[str]) -> list[EmailRecord]:
        """The mails of these ids, each once; raises ``ActionFailed``, which names every unknown id."""
        unique_ids = list(dict.fromkeys(message_ids))
        if unknown := [key for key in unique_ids if key not in self.emails]:
            raise ActionFailed(f"There is no message {', '.join(unknown)}")
        return [self.emails[key] for key in unique_ids]

    def thread(self, thread_id: str) -> list[EmailRecord]:
        """The mails of a thread, oldest first."""
        keys = sorted(self.in_thread[thread_id], key=self.by_arrival.sort_key)
        return [self.emails[key] for key in keys]


def groups_of(mail: EmailRecord) -> Iterator[str]:
    """Yields the names of the groups (``group_name``) that an index keeps the mail under."""
    yield group_name(mail.folder, unread=False)
    if not mail.is_read:
        yield group_name(None, unread=True)
        yield group_name(mail.folder, unread=True)


def group_name(folder: str | None, *, unread: bool) -> str:
    """The name of an index group: the mail of a folder, or of all folders if None; all of it, or only what is
    unread.
    """
    where_text = "anywhere" if folder is None else f"in {folder}"
    return f"unread {where_text}" if unread else where_text


def flags_of(mail: EmailRecord) -> Iterator[str]:
    """Yields the rare properties of a mail, by which an index finds it cheaply."""
    if not mail.is_read:
        yield "unread"
    if mail.is_starred:
        yield "starred"
    if mail.attachments:
        yield "attachments"
