"""What can be done with contacts."""

from abc import abstractmethod
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.address_book import AddressBook
from services.simulator.core.modalities.contact_records import (
    Contact,
    ContactIdentifier,
    Identifiers,
    PostalAddress,
    drop_repeated,
)
from services.simulator.core.modalities.fields import Day, Name
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed


class _ContactFields(Action[AddressBook]):
    """The fields of a contact that an action may give."""

    first_name: str | None = None
    last_name: str | None = None
    middle_name: str | None = None
    nickname: str | None = None
    display_name: str | None = Field(None, validation_alias=AliasChoices("display_name", "name"))
    company: str | None = None
    job_title: str | None = None
    addresses: tuple[PostalAddress, ...] | None = None
    birthday: Day | None = None
    notes: str | None = None
    photo_url: str | None = None
    groups: tuple[Name, ...] | None = None

    def given_fields(self) -> dict[str, object]:
        """The contact's fields that the action gives, without those that are null."""
        names = (name for name in type(self).model_fields if name != "contact_id")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class CreateContact(_ContactFields):
    contact_id: Name | None = None
    identifiers: Identifiers
    is_favorite: bool = False
    is_blocked: bool = False

    @override
    def act(self, tables: AddressBook, moment: EventMoment) -> ActionOutcome:
        contact_id = self.contact_id or moment.new_id("contact")
        if contact_id in tables.contacts:
            raise ActionFailed(f"There is a contact {contact_id} already")
        fields = self.given_fields() | {"contact_id": contact_id, "created_at": moment.now, "updated_at": moment.now}
        tables.put_contact(Contact.model_validate(fields))
        return ActionOutcome(f"Contact created (contact_id: {contact_id})", (contact_id,))


class UpdateContact(_ContactFields):
    """Changes a contact; fields that are left out or null stay as they are, and lists are replaced."""

    contact_id: Name
    identifiers: Identifiers | None = None

    @override
    def act(self, tables: AddressBook, moment: EventMoment) -> ActionOutcome:
        update = self.given_fields() | {"updated_at": moment.now}
        tables.put_contact(tables.require_contact(self.contact_id).model_copy(update=update))
        return ActionOutcome("Contact updated", (self.contact_id,))


class DeleteContact(Action[AddressBook]):
    contact_id: Name

    @override
    def act(self, tables: AddressBook, moment: EventMoment) -> ActionOutcome:
        tables.require_contact(self.contact_id)
        tables.contacts.remove(self.contact_id)
        return ActionOutcome("Contact deleted", (self.contact_id,))


class _ContactMarking(Action[AddressBook]):
    contact_id: Name

    @override
    def act(self, tables: AddressBook, moment: EventMoment) -> ActionOutcome:
        update = self.changed_fields(tables.require_contact(self.contact_id)) | {"updated_at": moment.now}
        tables.put_contact(tables.require_contact(self.contact_id).model_copy(update=update))
        return ActionOutcome("Contact updated", (self.contact_id,))

    @abstractmethod
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        """The fields that the action changes, with their new values; may raise ``ActionFailed``."""


class BlockContact(_ContactMarking):
    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        return {"is_blocked": True}


class UnblockContact(_ContactMarking):
    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        return {"is_blocked": False}


class Favorite(_ContactMarking):
    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        return {"is_favorite": True}


class Unfavorite(_ContactMarking):
    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        return {"is_favorite": False}


GroupName = Field(validation_alias=AliasChoices("group", "group_name"))


class AddToGroup(_ContactMarking):
    """Adds a contact to a group, which is made if it does not exist."""

    group: Name = GroupName

    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        return {"groups": tuple(dict.fromkeys((*contact.groups, self.group)))}


class RemoveFromGroup(_ContactMarking):
    group: Name = GroupName

    @override
    def changed_fields(self, contact: Contact) -> dict[str, object]:
        if self.group not in contact.groups:
            raise ActionFailed(f"Contact {self.contact_id} is not in {self.group}")
        return {"groups": tuple(name for name in contact.groups if name != self.group)}


def _as_list(value: JsonValue) -> JsonValue:
    return [value] if isinstance(value, str) else value


_CONTACT_ID_ALIASES = AliasChoices("contact_id", "primary_contact_id", "target_contact_id")
_GONE = AliasChoices("merged_contact_ids", "merge_contact_ids", "secondary_contact_ids", "secondary_contact_id",
                     "source_contact_ids", "source_contact_id")  # fmt: skip


class MergeContacts(Action[AddressBook]):
    """Several contacts become one: it keeps what it has, gets what it lacks, and the others go."""

    contact_id: Name = Field(validation_alias=_CONTACT_ID_ALIASES)
    merged_contact_ids: Annotated[
        tuple[Name, ...], BeforeValidator(_as_list), Field(min_length=1, validation_alias=_GONE)
    ]

    @override
    def act(self, tables: AddressBook, moment: EventMoment) -> ActionOutcome:
        merged = tables.require_contact(self.contact_id)
        for other_id in dict.fromkeys(self.merged_contact_ids):
            if other_id == self.contact_id:
                raise ActionFailed("A contact is not merged with itself")
            merged = merge_contacts(merged, tables.require_contact(other_id))
            tables.contacts.remove(other_id)
        tables.put_contact(merged.model_copy(update={"updated_at": moment.now}))
        return ActionOutcome("Contacts merged", (self.contact_id, *self.merged_contact_ids))


_FLAGS = frozenset({"is_favorite", "is_blocked"})


def merge_contacts(first: Contact, other: Contact) -> Contact:
    identifiers: tuple[ContactIdentifier, ...] = drop_repeated(first.identifiers + other.identifiers)
    lacking = {name: getattr(other, name) for name in Contact.model_fields if getattr(first, name) is None}
    flags = {name: getattr(first, name) or getattr(other, name) for name in _FLAGS}
    lists = {
        "identifiers": identifiers,
        "addresses": tuple(dict.fromkeys(first.addresses + other.addresses)),
        "groups": tuple(dict.fromkeys(first.groups + other.groups)),
    }
    notes = "\n".join(dict.fromkeys(text for text in (first.notes, other.notes) if text)) or None
    return first.model_copy(update={**lacking, **flags, **lists, "notes": notes})
