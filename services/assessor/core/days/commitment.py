"""One thing that a user wants done on a generated day, with what it puts into the world and how it is done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from services.assessor.core.days.cast import Cast, Person
from shared.contracts.assessment.messages import JsonObject

_MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


@dataclass(frozen=True)
class PlannedRequest:
    """A request to the world that a script makes in the named turn."""

    path: str
    body: JsonObject
    turn: int = 1


@dataclass(frozen=True)
class Commitment:
    """One thing that the user wants done. Script ``gold`` does it; ``wrong`` with wrong facts, ``misled`` to the wrong
    target.

    ``work``: expectations as ``written_expectations`` reads them; ``polite``: those of them that are mails to people.
    """

    key: str
    title: str
    wish: str
    work: tuple[JsonObject, ...]
    gold: tuple[PlannedRequest, ...]
    wrong: tuple[PlannedRequest, ...]
    misled: tuple[PlannedRequest, ...]
    mails: Mapping[str, JsonObject] = field(default_factory=dict)
    texts: Mapping[str, JsonObject] = field(default_factory=dict)
    entries: Mapping[str, JsonObject] = field(default_factory=dict)
    later: tuple[JsonObject, ...] = ()
    polite: tuple[JsonObject, ...] = ()
    writes_to: tuple[str, ...] = ()
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def build_letter_request(
    cast: Cast, to: Person, subject: str, text: str, turn: int = 1, address: str = ""
) -> PlannedRequest:
    """A request that sends a courteous mail of the user's to a person, at ``address`` if that is given."""
    body: JsonObject = {
        "from_address": cast.user.email,
        "to_addresses": [address or to.email],
        "subject": subject,
        "body_text": f"Hello {to.first},\n\n{text}\n\nKind regards\n{cast.user.first}",
    }
    return PlannedRequest("/email/send", body, turn)


def build_mail(sender: str, subject: str, text: str, at: datetime) -> JsonObject:
    return {"from_address": sender, "subject": subject, "body_text": text, "sent_at": at.isoformat()}


def build_appointment(title: str, start: datetime, minutes: int = 60) -> JsonObject:
    """An appointment's JSON for the user's calendar, with its title, start and end."""
    return {"title": title, "start": start.isoformat(), "end": (start + timedelta(minutes=minutes)).isoformat()}


def expect_message(
    name: str, to: Person, says: tuple[str, ...], silent_on: tuple[str, ...], medium: str = "mail"
) -> JsonObject:
    """The expectation that a message to this person alone says these words, and none of ``silent_on``."""
    where = to.phone if medium == "text" else to.email
    return {"kind": "said", "name": name, "medium": medium, "to": [where], "says": [*says], "silent_on": [*silent_on]}


def expect_row(name: str, modality: str, table: str, key: str, fields: JsonObject) -> JsonObject:
    return {"kind": "row", "name": name, "modality": modality, "table": table, "key": key, "fields": fields}


def day_in_words(time: datetime) -> str:
    return f"{_WEEKDAYS[time.weekday()]}, {time.day} {_MONTHS[time.month - 1]}"


def day_spellings(time: datetime) -> str:
    """The spellings of a day, joined by ``|`` as ``MessageExpected.says`` takes them."""
    month = _MONTHS[time.month - 1]
    return f"{time.day} {month}|{month} {time.day}|{time.day}. {month}|{time.date()}|{_WEEKDAYS[time.weekday()]}"


def hour_spellings(time: datetime) -> str:
    twelve_hour = f"{(time.hour - 1) % 12 + 1}{f':{time.minute:02d}' if time.minute else ''}"
    am_or_pm = "am" if time.hour < 12 else "pm"
    return f"{time:%H:%M}|{time:%H.%M}|{twelve_hour} {am_or_pm}|{twelve_hour}{am_or_pm}"
