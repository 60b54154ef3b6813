"""Records of the contacts whom the user knows."""

import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, model_validator

from services.simulator.core.modalities.fields import ADDRESS_PATTERN, Day, Name, StoredTime
from services.simulator.core.records import StoredRow

_NOT_A_DIGIT = re.compile(r"\D")
_LOCAL_DIGITS = 10
_PHONES = frozenset({"phone", "mobile", "sms"})


def normalize_phone(number: str) -> str:
    """``+`` and digits; ten digits are a number of North America. ``ValueError`` if too few are digits."""
    digits = _NOT_A_DIGIT.sub("", number)
    if not 3 <= len(digits) <= 15:
        raise ValueError(f"{number!r} is not a telephone number")
    return f"+1{digits}" if len(digits) == _LOCAL_DIGITS and not number.strip().startswith("+") else f"+{digits}"


class ContactIdentifier(StoredRow):
    """One way to reach somebody."""

    identifier_type: Name
    value: Name
    label: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _normalise_value(cls, data: JsonValue) -> JsonValue:
        if not isinstance(data, dict) or not isinstance(text := data.get("value"), str):
            return data
        kind = str(data.get("identifier_type", "")).strip().lower()
        return {**data, "identifier_type": kind, "value": _normalize_identifier(kind, text.strip())}

    def matches(self, text: str) -> bool:
        """Whether the text is this identifier, in whatever spelling."""
        if self.identifier_type in _PHONES:
            return _NOT_A_DIGIT.sub("", self.value).endswith(_NOT_A_DIGIT.sub("", text) or "none")
        return self.value.casefold() == text.casefold()


def _normalize_identifier(kind: str, text: str) -> str:
    if kind in _PHONES:
        return normalize_phone(text)
    if kind == "email" and not re.match(ADDRESS_PATTERN, text):
        raise ValueError(f"{text!r} is not an email address")
    return text.lower() if kind == "email" else text


class PostalAddress(StoredRow):
    label: str | None = None
    street: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None
    formatted: str | None = None


def drop_repeated(identifiers: tuple[ContactIdentifier, ...]) -> tuple[ContactIdentifier, ...]:
    """The identifiers without those that equal an earlier one."""
    first: dict[tuple[str, str], ContactIdentifier] = {}
    for identifier in identifiers:
        first.setdefault((identifier.identifier_type, identifier.value), identifier)
    return tuple(first.values())


Identifiers: TypeAlias = Annotated[tuple[ContactIdentifier, ...], Field(min_length=1), AfterValidator(drop_repeated)]


class Contact(StoredRow):
    contact_id: str
    first_name: str | None = None
    last_name: str | None = None
    middle_name: str | None = None
    nickname: str | None = None
    display_name: str | None = None
    identifiers: Identifiers
    company: str | None = None
    job_title: str | None = None
    addresses: tuple[PostalAddress, ...] = ()
    birthday: Day | None = None
    notes: str | None = None
    photo_url: str | None = None
    groups: tuple[Name, ...] = ()
    is_favorite: bool = False
    is_blocked: bool = False
    created_at: StoredTime
    updated_at: StoredTime

    @property
    def shown_name(self) -> str:
        """The name by which somebody is shown."""
        full = " ".join(part for part in (self.first_name, self.middle_name, self.last_name) if part)
        return self.display_name or full or self.nickname or self.company or self.identifiers[0].value
