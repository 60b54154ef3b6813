"""Messages and appointments among the rows that were read, whatever their tools call them, and who the people are."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from services.planner.core.request import objects
from services.planner.core.situation import Situation
from services.planner.core.tending import ReadRow, rows_of
from services.planner.core.words import parts, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject

_BODIES = ("body_text", "body", "text", "content", "message")
_TIMES = ("received_at", "sent_at", "timestamp", "date", "created_at")
_LEAD = ("to", "recipient", "recipients")
_MAIL = re.compile(r"[\w.+-]+@[\w.-]+\w")
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
    def stems(self) -> frozenset[str]:
        return text_stems(f"{self.subject} {self.body}")


class ReadAppointment(NamedTuple):
    """An entry of a calendar. ``answer``: what the user has said to somebody's invitation; empty where it is none."""

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
    def is_open(self) -> bool:
        """Whether it is an invitation that nobody has answered."""
        return bool(self.answer) and self.answer not in _DONE_ANSWERS

    def meets(self, other: "ReadAppointment") -> bool:
        return self.start < other.end and other.start < self.end


class Correspondence(NamedTuple):
    """``begun``: when the user asked for what is done with it, if that is known."""

    messages: tuple[ReadMessage, ...]
    appointments: tuple[ReadAppointment, ...]
    own_addresses: frozenset[str]
    begun: datetime | None = None

    @property
    def incoming(self) -> tuple[ReadMessage, ...]:
        return tuple(one for one in self.messages if not one.own)

    def addresses_of(self, name: str, *, by_mail: bool) -> set[str]:
        """Every mail address or number that is known to be that person's."""
        wanted = set(text_words(name))
        if not wanted:
            return set()
        return self._mail_addresses(wanted) if by_mail else self._numbers(wanted)

    def _mail_addresses(self, wanted: set[str]) -> set[str]:
        known = {one for message in self.messages for one in (message.sender, *message.to) if "@" in one}
        known |= {match for one in self.appointments for match in _MAIL.findall(one.text)}
        return {one for one in known - self.own_addresses if wanted <= set(text_words(one.partition("@")[0]))}

    def _numbers(self, wanted: set[str]) -> set[str]:
        """A number is whose name ends a text message from it, as far as that is said."""
        texts = [one for one in self.incoming if not one.by_mail]
        return {one.sender for one in texts if wanted & set(text_words(one.body)[-2:])}


def read_correspondence(situation: Situation) -> Correspondence:
    rows = list(rows_of(situation))
    own = _own_addresses(rows)
    messages = [one for row in rows if (one := _message(row, own))]
    appointments = [entry for row in rows if (entry := _appointment(row, own))]
    return Correspondence(tuple(messages), tuple(appointments), own)


def _own_addresses(rows: Iterable[ReadRow]) -> frozenset[str]:
    """What the user wrote from, and of each kind the address that most of what came in went to."""
    mails, numbers, own = Counter[str](), Counter[str](), set[str]()
    for row in rows:
        sender = _sender(row.fields)
        if sender and _is_sent(row.fields):
            own.add(sender)
        elif sender:
            to = _recipients(row.fields)
            mails.update(one for one in to if "@" in one)
            numbers.update(one for one in to if "@" not in one)
    own |= {found[0][0] for counted in (mails, numbers) if (found := counted.most_common(1))}
    return frozenset(own)


def _message(row: ReadRow, own: frozenset[str]) -> ReadMessage | None:
    fields, sender = row.fields, _sender(row.fields)
    body = next((str(fields[name]) for name in _BODIES if isinstance(fields.get(name), str)), None)
    if not sender or body is None:
        return None
    thread, at = str(fields.get("thread_id") or ""), _moment(fields)
    is_own = _is_sent(fields) or sender in own
    return ReadMessage(row, sender, _recipients(fields), str(fields.get("subject") or ""), body, thread, at, is_own)


def _is_sent(fields: JsonObject) -> bool:
    return fields.get("folder") in ("sent", "drafts") or fields.get("direction") in ("outgoing", "sent")


def _sender(fields: JsonObject) -> str:
    named = [value for name, value in fields.items() if parts(name)[:1] in (("from",), ("sender",))]
    return next((str(value).casefold() for value in named if isinstance(value, str)), "")


def _recipients(fields: JsonObject) -> tuple[str, ...]:
    found: list[str] = []
    for name, value in fields.items():
        if parts(name)[:1] and parts(name)[0] in (*_LEAD, "cc"):
            found += [str(one).casefold() for one in (value if isinstance(value, list) else [value])]
    return tuple(found)


def _moment(fields: JsonObject) -> datetime | None:
    for name in _TIMES:
        if (found := as_moment(fields.get(name))) is not None:
            return found
    return None


def as_moment(value: Json) -> datetime | None:
    """An aware moment; None for anything else."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else None


def _appointment(row: ReadRow, own: frozenset[str]) -> ReadAppointment | None:
    fields = row.fields
    start, end = as_moment(fields.get("start")), as_moment(fields.get("end"))
    if start is None or end is None:
        return None
    title, organizer = str(fields.get("title") or ""), str(fields.get("organizer") or "").casefold()
    words = [str(fields.get(name) or "") for name in ("title", "description", "location", "organizer")]
    guests = [str(one.get("email") or "") for one in objects(fields.get("attendees"))]
    answer = _own_answer(fields, organizer, own)
    return ReadAppointment(row, title, " ".join((*words, *guests)), start, end, words[2], organizer, answer)


def _own_answer(fields: JsonObject, organizer: str, own: frozenset[str]) -> str:
    if not organizer or organizer in own:
        return ""
    for one in objects(fields.get("attendees")):
        if str(one.get("email") or "").casefold() in own:
            said = str(one.get("response") or one.get("response_status") or "").casefold()
            return said if said in _DONE_ANSWERS else "open"
    return ""
