"""Messages and appointments among the rows that were read, whatever their tools call the fields, and people's
addresses.
"""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from services.planner.core.request import objects, read_moment
from services.planner.core.situation import Situation
from services.planner.core.tending import ReadRow, rows_of
from services.planner.core.words import parts, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject

_BODIES = ("body_text", "body", "text", "content", "message")
_TIMES = ("received_at", "sent_at", "timestamp", "date", "created_at")
_LEAD = ("to", "recipient", "recipients")
_MAIL_PATTERN = re.compile(r"[\w.+-]+@[\w.-]+\w")
_DONE_ANSWERS = frozenset({"accepted", "declined", "tentative"})


class ReadMessage(NamedTuple):
    """A mail or a text message. ``own``: the user wrote it. ``by_mail``: its sender is a mail address."""

    row: ReadRow
    sender: str
    to: tuple[str, ...]
    subject: str
    body: str
    thread: str
    at: datetime | None
    own: bool

    @property
    def by_mail(self) -> bool:
        return "@" in self.sender

    @property
    def sent_at(self) -> float:
        """When it was sent, in seconds; 0 if that is not known."""
        return self.at.timestamp() if self.at else 0.0

    @property
    def stems(self) -> frozenset[str]:
        return text_stems(f"{self.subject} {self.body}")


class ReadAppointment(NamedTuple):
    """An entry of a calendar. ``answer``: the user's answer to an invitation; empty if it is none."""

    row: ReadRow
    title: str
    text: str
    start: datetime
    end: datetime
    place: str
    organizer: str
    answer: str

    @property
    def stems(self) -> frozenset[str]:
        return text_stems(self.text)

    @property
    def is_unanswered(self) -> bool:
        """Whether the appointment is an invitation that the user has not answered."""
        return bool(self.answer) and self.answer not in _DONE_ANSWERS

    def overlaps(self, other: "ReadAppointment") -> bool:
        return self.start < other.end and other.start < self.end


class Correspondence(NamedTuple):
    """All messages and appointments that were read. ``begun``: when the user asked for the task, if that is known."""

    messages: tuple[ReadMessage, ...]
    appointments: tuple[ReadAppointment, ...]
    own_addresses: frozenset[str]
    begun: datetime | None = None

    @property
    def incoming(self) -> tuple[ReadMessage, ...]:
        return tuple(message for message in self.messages if not message.own)

    def addresses_of(self, name: str, *, by_mail: bool) -> set[str]:
        """Every mail address or number that is known to be that person's."""
        name_words = set(text_words(name))
        if not name_words:
            return set()
        return self._mail_addresses(name_words) if by_mail else self._phone_numbers_of(name_words)

    def _mail_addresses(self, name_words: set[str]) -> set[str]:
        addresses = {address for message in self.messages for address in (message.sender, *message.to)}
        addresses |= {match for entry in self.appointments for match in _MAIL_PATTERN.findall(entry.text)}
        named = [(address, text_words(address.partition("@")[0])) for address in addresses if "@" in address]
        return {address for address, words in named if name_words <= {*words}} - self.own_addresses

    def _phone_numbers_of(self, name_words: set[str]) -> set[str]:
        """The phone numbers of a person: senders of a text message whose last words contain the name."""
        texts = [message for message in self.incoming if not message.by_mail]
        return {message.sender for message in texts if name_words & set(text_words(message.body)[-2:])}


def read_correspondence(situation: Situation) -> Correspondence:
    rows = list(rows_of(situation))
    own = _own_addresses(rows)
    messages = [message for row in rows if (message := _build_message(row, own))]
    appointments = [entry for row in rows if (entry := _build_appointment(row, own))]
    return Correspondence(tuple(messages), tuple(appointments), own)


def _own_addresses(rows: Iterable[ReadRow]) -> frozenset[str]:
    """The user's own addresses: the senders of sent messages, and the mail address and the phone number to which most
    received ones went.
    """
    mails = Counter[str]()
    numbers = Counter[str]()
    own = set[str]()
    for row in rows:
        sender = _sender(row.fields)
        if sender and _is_sent(row.fields):
            own.add(sender)
        elif sender:
            to = _recipients(row.fields)
            mails.update(recipient for recipient in to if "@" in recipient)
            numbers.update(recipient for recipient in to if "@" not in recipient)
    own |= {most_common[0][0] for counted in (mails, numbers) if (most_common := counted.most_common(1))}
    return frozenset(own)


def _build_message(row: ReadRow, own: frozenset[str]) -> ReadMessage | None:
    fields, sender = row.fields, _sender(row.fields)
    body = next((str(fields[name]) for name in _BODIES if isinstance(fields.get(name), str)), None)
    if not sender or body is None:
        return None
    thread, at = str(fields.get("thread_id") or ""), _message_time(fields)
    is_own = _is_sent(fields) or sender in own
    return ReadMessage(row, sender, _recipients(fields), str(fields.get("subject") or ""), body, thread, at, is_own)


def _is_sent(fields: JsonObject) -> bool:
    return fields.get("folder") in ("sent", "drafts") or fields.get("direction") in ("outgoing", "sent")


def _sender(fields: JsonObject) -> str:
    named = [value for name, value in fields.items() if parts(name)[:1] in (("from",), ("sender",))]
    return next((str(value).casefold() for value in named if isinstance(value, str)), "")


def _recipients(fields: JsonObject) -> tuple[str, ...]:
    named = [value for name, value in fields.items() if {*parts(name)[:1]} & {*_LEAD, "cc"}]
    each = [one for value in named for one in (value if isinstance(value, list) else [value])]
    return tuple(str(recipient).casefold() for recipient in each)


def _message_time(fields: JsonObject) -> datetime | None:
    return next(filter(None, (_read_aware_moment(fields.get(name)) for name in _TIMES)), None)


def _read_aware_moment(value: Json) -> datetime | None:
    moment = read_moment(value)
    return moment if moment and moment.tzinfo else None


def _build_appointment(row: ReadRow, own: frozenset[str]) -> ReadAppointment | None:
    fields = row.fields
    start, end = _read_aware_moment(fields.get("start")), _read_aware_moment(fields.get("end"))
    if start is None or end is None:
        return None
    title, organizer = str(fields.get("title") or ""), str(fields.get("organizer") or "").casefold()
    words = [str(fields.get(name) or "") for name in ("title", "description", "location", "organizer")]
    guests = [str(attendee.get("email") or "") for attendee in objects(fields.get("attendees"))]
    answer = _own_answer(fields, organizer, own)
    return ReadAppointment(row, title, " ".join((*words, *guests)), start, end, words[2], organizer, answer)


def _own_answer(fields: JsonObject, organizer: str, own: frozenset[str]) -> str:
    if not organizer or organizer in own:
        return ""
    for attendee in objects(fields.get("attendees")):
        if str(attendee.get("email") or "").casefold() in own:
            response = str(attendee.get("response") or attendee.get("response_status") or "").casefold()
            return response if response in _DONE_ANSWERS else "open"
    return ""
