"""Finds the characters who may answer a message, and builds the events of their answers."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from services.assessor.core.scenario import Character, ScenarioConfig
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.ues.modalities import CalendarEvent, Email, SmsMessage

_SILENT = (
    "never respond", "do not respond", "don't respond", "unavailable", "out of office", "on vacation", "no responses",
)  # fmt: skip


class Responder(NamedTuple):
    character_id: str
    character: Character


class Responders:
    """Characters by address and number, without the user and without those who never answer."""

    def __init__(self, scenario: ScenarioConfig) -> None:
        self._user = scenario.user
        others = [
            Responder(key, person)
            for key, person in scenario.characters.items()
            if key != scenario.user_character and not is_silent(person)
        ]
        self._by_address = {person.character.email.lower(): person for person in others if person.character.email}
        self._by_number = {person.character.phone: person for person in others if person.character.phone}

    def of_email(self, mail: Email) -> list[Responder]:
        """The characters in To and Cc but the sender; those in Bcc do not answer."""
        return _find_by_address(
            self._by_address, (a.lower() for a in mail.to_addresses + mail.cc_addresses), mail.from_address
        )

    def of_sms(self, text: SmsMessage) -> list[Responder]:
        return _find_by_address(self._by_number, text.to_numbers, text.from_number)

    def of_event(self, event: CalendarEvent) -> list[Responder]:
        """The characters who are invited and have not answered yet."""
        unanswered_addresses = [
            guest.email.lower() for guest in event.attendees if guest.response in ("needs-action", "needsAction")
        ]
        return _find_by_address(self._by_address, unanswered_addresses, event.organizer or "")

    def is_character(self, address: str) -> bool:
        return address.lower() in self._by_address or address in self._by_number

    def is_user(self, address: str) -> bool:
        mail = (self._user.email or "").lower()
        return bool(address) and address.lower() in (mail, (self._user.phone or "").lower())


def is_silent(person: Character) -> bool:
    instructions = (person.special_instructions or "").lower()
    return any(words in instructions for words in _SILENT)


def email_reply(mail: Email, responder: Character, body: str) -> JsonObject:
    """The event by which a character answers a mail to its sender, with all other addressees in copy, in the same
    thread.
    """
    sender = mail.reply_to_address or mail.from_address
    left_out = {sender.lower(), mail.from_address.lower(), (responder.email or "").lower()}
    copies = [a for a in dict.fromkeys(mail.to_addresses + mail.cc_addresses) if a.lower() not in left_out]
    subject = mail.subject if mail.subject.lower().startswith("re:") else f"Re: {mail.subject}"
    return {
        "operation": "receive",
        "from_address": responder.email,
        "to_addresses": [sender],
        "cc_addresses": [*copies],
        "subject": subject,
        "body_text": body,
        "thread_id": mail.thread_id,
        "in_reply_to": mail.message_id,
        "references": [*dict.fromkeys((*mail.references, mail.message_id))],
    }


def sms_reply(text: SmsMessage, responder: Character, body: str) -> JsonObject:
    """The event by which a character answers a text message to its sender alone."""
    return {
        "operation": "receive_message",
        "from_number": responder.phone,
        "to_numbers": [text.from_number],
        "body": body,
    }


def rsvp_answer(event: CalendarEvent, responder: Character, status: str, comment: str | None) -> JsonObject:
    answer: JsonObject = {
        "operation": "respond",
        "event_id": event.event_id,
        "attendee_email": responder.email,
        "response": status,
    }
    return {**answer, "comment": comment} if comment else answer


def _find_by_address(people: Mapping[str, Responder], addresses: Iterable[str], sender: str) -> list[Responder]:
    addressees = dict.fromkeys(address for address in addresses if address.lower() != sender.lower())
    return [people[address] for address in addressees if address in people]
