"""A mailbox as it is shown: whole, compact, as threads."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from services.simulator.core.modalities.email_records import EmailRecord
from services.simulator.core.modalities.fields import format_time_with_z
from services.simulator.core.modalities.mailbox import Mailbox
from services.simulator.core.records import JsonObject

_PREVIEW = 100
_UNSHORTENED = ("message_id", "thread_id", "subject", "is_read", "is_starred", "folder")


def state_fields(box: Mailbox) -> JsonObject:
    """What the whole state says besides the mails themselves."""
    return {
        "user_email_address": box.user,
        "threads": summarize_threads(box),
        "folders": ids_by_folder(box),
        "labels": ids_by_label(box),
        "total_email_count": len(box.emails),
        "unread_count": len(box.marked["unread"]),
        "starred_count": len(box.marked["starred"]),
    }


def compact_state(box: Mailbox) -> JsonObject:
    counts: JsonObject = {
        name: {"message_count": len(box.in_folder[name]), "unread_count": count_unread(box, box.in_folder[name])}
        for name in box.folder_names()
    }
    return {
        "user_email_address": box.user,
        "statistics": count_mails(box),
        "folders": counts,
        "labels": {name: len(box.labelled[name]) for name in sorted(box.labelled.names())},
        "emails": {key: summarize_mail(mail) for key, mail in box.emails.items()},
        "threads": summarize_threads(box),
    }


def count_mails(box: Mailbox) -> JsonObject:
    return {
        "total_emails": len(box.emails),
        "total_threads": len(box.in_thread.names()),
        "total_unread": len(box.marked["unread"]),
        "total_starred": len(box.marked["starred"]),
        "total_drafts": len(box.in_folder["drafts"]),
        "total_labels": len(box.labelled.names()),
    }


def summarize_mail(mail: EmailRecord) -> JsonObject:
    text = " ".join(mail.body_text.split())
    return {
        **{name: getattr(mail, name) for name in _UNSHORTENED},
        "from": mail.from_address,
        "to": list(mail.to_addresses),
        "sent_at": format_time_with_z(mail.sent_at),
        "received_at": format_time_with_z(mail.received_at),
        "has_attachments": bool(mail.attachments),
        "attachment_count": len(mail.attachments),
        "body_preview": text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…",
    }


def ids_by_folder(box: Mailbox) -> JsonObject:
    """The ids in each folder, oldest first."""
    filled = _ids_by_name(box, ((mail.folder,) for mail in _mails_by_arrival(box)))
    return {name: filled.get(name, []) for name in box.folder_names()}


def ids_by_label(box: Mailbox) -> JsonObject:
    filled = _ids_by_name(box, (mail.labels for mail in _mails_by_arrival(box)))
    return {name: filled[name] for name in sorted(filled)}


def summarize_threads(box: Mailbox) -> JsonObject:
    """Threads by id, in the order in which they began."""
    members: dict[str, list[EmailRecord]] = {}
    for mail in _mails_by_arrival(box):
        members.setdefault(mail.thread_id, []).append(mail)
    return {thread_id: summarize_thread(thread_id, mails) for thread_id, mails in members.items()}


def summarize_thread(thread_id: str, mails: Sequence[EmailRecord]) -> JsonObject:
    """A thread's JSON. ``mails``: all of the thread, oldest first; those who got blind copies are no participants."""
    people = (address for mail in mails for address in (mail.from_address, *mail.to_addresses, *mail.cc_addresses))
    return {
        "thread_id": thread_id,
        "subject": mails[0].subject,
        "participant_addresses": list(dict.fromkeys(people)),
        "message_ids": [mail.message_id for mail in mails],
        "created_at": format_time_with_z(mails[0].received_at),
        "last_message_at": format_time_with_z(mails[-1].received_at),
        "message_count": len(mails),
        "unread_count": sum(not mail.is_read for mail in mails),
    }


def count_unread(box: Mailbox, keys: Iterable[str]) -> int:
    return sum(not box.emails[key].is_read for key in keys)


def _mails_by_arrival(box: Mailbox) -> list[EmailRecord]:
    return [box.emails[key] for key in box.by_arrival.find_between(None, None)]


def _ids_by_name(box: Mailbox, names: Iterable[Iterable[str]]) -> dict[str, JsonValue]:
    filled: dict[str, list[JsonValue]] = {}
    for key, under in zip(box.by_arrival.find_between(None, None), names, strict=True):
        for name in under:
            filled.setdefault(name, []).append(key)
    return dict(filled)
