"""Conversations: groups, who takes part in them, and how the user keeps them."""

from typing import Annotated, Self

from pydantic import AliasChoices, Field, model_validator
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.fields import Name, Phone
from services.simulator.core.modalities.sms_records import SmsConversationRecord, SmsParticipantRecord
from services.simulator.core.modalities.telephone import Telephone
from services.simulator.core.modality import ActionOutcome, EventMoment
from services.simulator.core.refusals import ActionFailed, MeaninglessRequest


class CreateGroup(Action[Telephone]):
    thread_id: Name | None = None
    creator_number: Phone
    participant_numbers: Annotated[tuple[Phone, ...], Field(min_length=2)]
    group_name: Name | None = None
    group_photo_url: str | None = None

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        thread_id = self.thread_id or moment.new_id("thread")
        if thread_id in tables.conversations:
            raise ActionFailed(f"There is a conversation {thread_id} already")
        numbers = dict.fromkeys((self.creator_number, *self.participant_numbers))
        people = (
            SmsParticipantRecord(phone_number=number, is_admin=number == self.creator_number, joined_at=moment.now)
            for number in numbers
        )
        group = SmsConversationRecord(
            thread_id=thread_id,
            conversation_type="group",
            participants=tuple(people),
            group_name=self.group_name,
            group_photo_url=self.group_photo_url,
            created_at=moment.now,
            created_by=self.creator_number,
        )
        tables.put_conversation(group)
        return ActionOutcome("Group created", (thread_id,))


class _GroupAction(Action[Telephone]):
    thread_id: Name

    def require_group(self, tables: Telephone) -> SmsConversationRecord:
        """The group conversation that the action is about; raises ``ActionFailed`` if it is none."""
        group = tables.require_conversation(self.thread_id)
        if group.conversation_type != "group":
            raise ActionFailed(f"Conversation {self.thread_id} is not a group")
        return group

    def store_group(self, tables: Telephone, changed: SmsConversationRecord, message: str) -> ActionOutcome:
        tables.put_conversation(changed)
        return ActionOutcome(message, (self.thread_id,))


class UpdateGroup(_GroupAction):
    group_name: Name | None = None
    group_photo_url: str | None = None

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        changes = self.model_dump(include={"group_name", "group_photo_url"}, exclude_none=True)
        return self.store_group(tables, self.require_group(tables).model_copy(update=changes), "Group updated")


class AddParticipant(_GroupAction):
    phone_number: Phone
    is_admin: bool = False

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        group = self.require_group(tables)
        if self.phone_number in group.members:
            raise ActionFailed(f"{self.phone_number} takes part already")
        others = tuple(
            participant for participant in group.participants if participant.phone_number != self.phone_number
        )
        new = SmsParticipantRecord(phone_number=self.phone_number, is_admin=self.is_admin, joined_at=moment.now)
        return self.store_group(tables, group.model_copy(update={"participants": (*others, new)}), "Participant added")


class RemoveParticipant(_GroupAction):
    phone_number: Phone

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        return self.store_group(
            tables, remove_member(self.require_group(tables), self.phone_number, moment), "Participant removed"
        )


class LeaveGroup(_GroupAction):
    """Takes the user, or the number that is given, out of a group."""

    phone_number: Phone | None = None

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        members_left = remove_member(self.require_group(tables), self.phone_number or tables.user, moment)
        return self.store_group(tables, members_left, "Group left")


class UpdateConversation(Action[Telephone]):
    """Changes how the user keeps a conversation. An empty ``draft_message`` drops the draft."""

    thread_id: Name
    pin: bool | None = Field(None, validation_alias=AliasChoices("pin", "is_pinned"))
    mute: bool | None = Field(None, validation_alias=AliasChoices("mute", "is_muted"))
    archive: bool | None = Field(None, validation_alias=AliasChoices("archive", "is_archived"))
    mark_all_read: bool | None = None
    draft_message: str | None = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> Self:
        if all(getattr(self, name) is None for name in (*_KEPT_AS, "mark_all_read", "draft_message")):
            raise MeaninglessRequest("At least one of pin, mute, archive, mark_all_read or draft_message is needed")
        return self

    @override
    def act(self, tables: Telephone, moment: EventMoment) -> ActionOutcome:
        changes: dict[str, bool | str | None] = {
            stored_name: getattr(self, name)
            for name, stored_name in _KEPT_AS.items()
            if getattr(self, name) is not None
        }
        if self.draft_message is not None:
            changes["draft_message"] = self.draft_message or None
        tables.put_conversation(tables.require_conversation(self.thread_id).model_copy(update=changes))
        if self.mark_all_read:
            self._mark_all_read(tables, moment)
        return ActionOutcome("Conversation updated", (self.thread_id,))

    def _mark_all_read(self, tables: Telephone, moment: EventMoment) -> None:
        read = {"is_read": True, "read_at": moment.now, "delivery_status": "read"}
        for message_id in sorted(tables.unread[self.thread_id]):
            tables.replace_message(tables.messages[message_id].model_copy(update=read))


_KEPT_AS = {"pin": "is_pinned", "mute": "is_muted", "archive": "is_archived"}


def remove_member(group: SmsConversationRecord, number: str, moment: EventMoment) -> SmsConversationRecord:
    """The group after somebody left; raises ``ActionFailed`` if they were not in it."""
    if number not in group.members:
        raise ActionFailed(f"{number} takes no part in that conversation")
    people = tuple(
        participant.model_copy(update={"left_at": moment.now}) if participant.phone_number == number else participant
        for participant in group.participants
    )
    return group.model_copy(update={"participants": people})
