"""What is done to mail that is there: marks, labels, folders. All the messages named, or none."""

from abc import abstractmethod
from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from typing_extensions import override

from services.simulator.core.modalities.actions import Action
from services.simulator.core.modalities.email_records import FOLDERS, EmailRecord
from services.simulator.core.modalities.fields import Name
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.modality import ActionOutcome, EventMoment


def _normalize_folder(name: JsonValue) -> JsonValue:
    return name.strip().lower() if isinstance(name, str) and name.strip().lower() in FOLDERS else name


Labels = Annotated[tuple[Name, ...], Field(min_length=1)]
FolderName = Annotated[Name, BeforeValidator(_normalize_folder)]


class _EmailMarking(Action[Mailbox]):
    """An action that marks or moves mails. ``message_id`` alone means a list of one."""

    message_ids: tuple[Name, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _wrap_single_id(cls, data: JsonValue) -> JsonValue:
        if isinstance(data, dict) and data.get("message_id") is not None and not data.get("message_ids"):
            return {**data, "message_ids": [data["message_id"]]}
        return data

    @override
    def act(self, tables: Mailbox, moment: EventMoment) -> ActionOutcome:
        mails = tables.require_mails(self.message_ids)
        for mail in mails:
            changed = self.mark_mail(mail)
            tables.make_folder(changed.folder)
            if changed != mail:
                tables.emails.put(mail.message_id, changed)
        return ActionOutcome(
            f"{len(mails)} message{'s' * (len(mails) != 1)} updated", tuple(m.message_id for m in mails)
        )

    @abstractmethod
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        """The mail as it is afterwards."""


class MarkRead(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"is_read": True})


class MarkUnread(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"is_read": False})


class Star(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"is_starred": True})


class Unstar(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"is_starred": False})


class Move(_EmailMarking):
    """Moves mails into a folder, which is made if it does not exist."""

    folder: FolderName

    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return move_to_folder(mail, self.folder)


class DeleteMail(_EmailMarking):
    """Moves mails into the trash."""

    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return move_to_folder(mail, "trash")


class ArchiveMail(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return move_to_folder(mail, "archive")


class MarkSpam(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return move_to_folder(mail, "spam")


class MarkNotSpam(_EmailMarking):
    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return move_to_folder(mail, "inbox")


class AddLabel(_EmailMarking):
    labels: Labels

    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"labels": tuple(dict.fromkeys(mail.labels + self.labels))})


class RemoveLabel(_EmailMarking):
    labels: Labels

    @override
    def mark_mail(self, mail: EmailRecord) -> EmailRecord:
        return mail.model_copy(update={"labels": tuple(label for label in mail.labels if label not in self.labels)})


def move_to_folder(mail: EmailRecord, folder: str) -> EmailRecord:
    return mail.model_copy(update={"folder": folder})
