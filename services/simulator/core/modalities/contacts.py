"""The user's contacts."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import ClassVar, Literal

from typing_extensions import override

from services.simulator.core.modalities import contact_actions as actions
from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.address_book import AddressBook
from services.simulator.core.modalities.cached_state import CachedStateModality
from services.simulator.core.modalities.contact_records import Contact
from services.simulator.core.modalities.fields import Name
from services.simulator.core.modalities.filters import Rank, RowTests, find_keys, page_of, sort_keys
from services.simulator.core.modalities.loading import Exported, require_same_keys
from services.simulator.core.modalities.pages import Order, PageQuery
from services.simulator.core.modalities.rendered import RenderedRows, row_as_json
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import parse_model

OPERATIONS: Mapping[str, type[Action[AddressBook]]] = {
    "create": actions.CreateContact,
    "update": actions.UpdateContact,
    "delete": actions.DeleteContact,
    "block": actions.BlockContact,
    "unblock": actions.UnblockContact,
    "favorite": actions.Favorite,
    "unfavorite": actions.Unfavorite,
    "add_to_group": actions.AddToGroup,
    "remove_from_group": actions.RemoveFromGroup,
    "merge": actions.MergeContacts,
}


class ContactsQuery(PageQuery):
    """A query over contacts. ``search`` looks in names, company and identifiers; an identifier must match as a
    whole.
    """

    search: str | None = None
    identifier: Name | None = None
    identifier_type: Name | None = None
    company: str | None = None
    group: Name | None = None
    is_favorite: bool | None = None
    is_blocked: bool | None = None
    sort_by: Literal["name", "display_name", "company", "created_at"] = "name"
    sort_order: Order = "asc"


class ExportedContacts(Exported):
    contacts: dict[str, Contact] = {}
    groups: dict[str, object] = {}


class ContactsModality(CachedStateModality[AddressBook]):
    name: ClassVar[str] = "contacts"
    operations = OPERATIONS

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self.tables = AddressBook(self.store)
        self._contacts = RenderedRows(self.tables.contacts, contact_as_json)
        self.clear(now)

    @override
    def body(self) -> JsonObject:
        return {"contacts": self._contacts.rows_by_key(), **self._state_fields()}

    @override
    def compact_body(self) -> JsonObject:
        names: JsonObject = {key: contact.shown_name for key, contact in self.tables.contacts.items()}
        return {"contacts": names, **self._state_fields()}

    @override
    def query(self, fields: JsonObject, now: datetime) -> JsonObject:
        query = parse_model(ContactsQuery, fields)
        keys = find_keys(self.tables.contacts, keys_by_index(self.tables, query), tests_of(query))
        ordered = sort_keys(self.tables.contacts, keys, self.tables.by_making, rank_by(query.sort_by))
        matches = page_of(query, ordered, query.sort_order)
        return {
            "modality_type": self.name,
            "contacts": [self._contacts.row(key) for key in matches.keys],
            "total_count": matches.total,
            "returned_count": len(matches.keys),
            "query": query.as_json(),
        }

    @override
    def export(self) -> JsonObject:
        contacts: JsonObject = {key: row_as_json(contact) for key, contact in self.tables.contacts.items()}
        return {"modality_type": self.name, **row_as_json(self.head), "contacts": contacts, **self._state_fields()}

    @override
    def load(self, state: JsonObject) -> None:
        read = parse_model(ExportedContacts, state)
        require_same_keys("contacts", read.contacts, "contact_id")
        self.store.clear()
        self.set_head(read.head)
        for name in read.groups:
            self.tables.make_group(name)
        for contact in read.contacts.values():
            self.tables.put_contact(contact)

    def _state_fields(self) -> JsonObject:
        book = self.tables
        groups: JsonObject = {name: [*sorted(book.in_group[name], key=book.contacts.position)] for name in book.groups}
        return {
            "groups": groups,
            "total_contact_count": len(book.contacts),
            "favorite_count": len(book.marked["favorite"]),
            "blocked_count": len(book.marked["blocked"]),
        }


def contact_as_json(contact: Contact) -> JsonObject:
    """The contact as JSON, always with a display name."""
    return row_as_json(contact) | {"display_name": contact.shown_name}


def keys_by_index(book: AddressBook, query: ContactsQuery) -> Iterator[Collection[str]]:
    if query.group is not None:
        yield book.in_group[query.group]
    if query.is_favorite:
        yield book.marked["favorite"]
    if query.is_blocked:
        yield book.marked["blocked"]


def tests_of(query: ContactsQuery) -> RowTests[Contact]:
    """The tests that a row has to pass to match the query."""
    tests = RowTests[Contact]()
    tests.require_equal(query, "is_favorite", "is_blocked")
    tests.require_text(query.company, lambda contact: contact.company or "")
    tests.require_text(query.search, searched_text)
    if (group := query.group) is not None:
        tests.require(True, lambda contact: group in contact.groups)
    if (kind := query.identifier_type) is not None:
        tests.require(
            True, lambda contact: any(identifier.identifier_type == kind.lower() for identifier in contact.identifiers)
        )
    if (value := query.identifier) is not None:
        tests.require(True, lambda contact: any(identifier.matches(value) for identifier in contact.identifiers))
    return tests


def searched_text(contact: Contact) -> str:
    names = (contact.shown_name, contact.first_name, contact.last_name, contact.nickname, contact.company)
    return "\n".join([*(name for name in names if name), *(identifier.value for identifier in contact.identifiers)])


def rank_by(sort_by: str) -> Rank[Contact] | None:
    """The rank by which contacts are sorted; None for ``created_at``, the order in which they are kept."""
    if sort_by == "created_at":
        return None
    if sort_by == "company":
        return lambda contact: (contact.company or "").casefold()
    return lambda contact: contact.shown_name.casefold()
