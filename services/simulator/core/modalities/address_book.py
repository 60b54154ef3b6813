"""The tables of the contacts."""

from collections.abc import Iterator

from services.simulator.core.modalities.contact_records import Contact
from services.simulator.core.modalities.indexes import GroupIndex, TimeIndex
from services.simulator.core.records import StoredRow, TableStore
from services.simulator.core.refusals import ActionFailed


class ContactGroup(StoredRow):
    """The existence of a group of that name; contacts themselves say which groups they are in."""

    name: str


class AddressBook:
    def __init__(self, store: TableStore) -> None:
        self.contacts = store.table("contacts", Contact)
        self.groups = store.table("groups", ContactGroup)
        self.in_group = GroupIndex(self.contacts, lambda contact: contact.groups)
        self.reached_by = GroupIndex(
            self.contacts, lambda contact: (identifier.value for identifier in contact.identifiers)
        )
        self.marked = GroupIndex(self.contacts, flags_of)
        self.by_making = TimeIndex(self.contacts, lambda contact: contact.created_at)

    def require_contact(self, contact_id: str) -> Contact:
        """The contact of that id. Raises ``ActionFailed``."""
        if contact_id not in self.contacts:
            raise ActionFailed(f"There is no contact {contact_id}")
        return self.contacts[contact_id]

    def put_contact(self, contact: Contact) -> None:
        for name in contact.groups:
            self.make_group(name)
        self.contacts.put(contact.contact_id, contact)

    def make_group(self, name: str) -> None:
        """Makes a group; does nothing if there is one of that name."""
        if name not in self.groups:
            self.groups.put(name, ContactGroup(name=name))


def flags_of(contact: Contact) -> Iterator[str]:
    if contact.is_favorite:
        yield "favorite"
    if contact.is_blocked:
        yield "blocked"
