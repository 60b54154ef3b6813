"""Reads fields of a client's JSON; each function raises ``InvalidField`` for a value of a wrong type.

``source``: the JSON object; ``key``: the field; ``path``: the field's whole path, for errors.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from services.gateway.edge.errors import InvalidField
from shared.domain.exact_json import Json, JsonObject
from shared.ports.archive import HASHED_ID_PATTERN

MAX_ID_LENGTH = 256
ChoiceT = TypeVar("ChoiceT", bound=StrEnum)
T = TypeVar("T")
_TYPE_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


def check_type(value: Json, kind: type[T], path: str) -> T:
    """The value, if it is of that kind; raises ``InvalidField``."""
    if not isinstance(value, kind):
        raise InvalidField(path, f"must be {_TYPE_NAMES[kind]}, not {json_type_name(value)}")
    return value


def object_at(source: JsonObject, key: str, path: str) -> JsonObject:
    """The object under ``key``; an empty one if it is absent or null."""
    value = source.get(key)
    return {} if value is None else check_type(value, dict, path)


def list_at(source: JsonObject, key: str, path: str) -> list[Json]:
    value = source.get(key)
    if value is None:
        raise InvalidField(path, "is required")
    return check_type(value, list, path)


def flag_at(source: JsonObject, key: str, path: str) -> bool:
    """The boolean under ``key``; False if it is absent or null."""
    value = source.get(key)
    return value is not None and check_type(value, bool, path)


def text_at(source: JsonObject, key: str, path: str) -> str | None:
    value = source.get(key)
    return None if value is None else check_type(value, str, path)


def short_text_at(source: JsonObject, key: str, most_characters: int, path: str = "") -> str:
    """The string under ``key``, of limited length; empty if it is absent. ``path``: by default ``key``."""
    text = text_at(source, key, path or key) or ""
    if len(text) > most_characters:
        raise InvalidField(path or key, f"must be at most {most_characters} characters")
    return text


def choice_at(source: JsonObject, key: str, choices: type[ChoiceT]) -> ChoiceT:
    """The string under ``key`` as a member of ``choices``, in any case."""
    try:
        return choices((text_at(source, key, key) or "").strip().lower())
    except ValueError:
        raise InvalidField(key, f"must be one of {', '.join(choices)}") from None


def parse_time(text: str | None, path: str) -> datetime | None:
    """Parse an ISO 8601 time, in UTC unless it names a zone; None for an empty text. Raises ``InvalidField``."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidField(path, "must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z") from None


def encode_page_token(kind: str, position: str) -> str:
    """Encode where a page begins as an opaque token. ``kind``: a word that tells sorts of places apart."""
    return base64.urlsafe_b64encode(f"{kind} {position}".encode()).decode().rstrip("=")


def decode_page_token(token: str) -> tuple[str, str]:
    """The kind and position in a token of ``encode_page_token``; two empty texts for an invalid token."""
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    word, _, position = text.partition(" ")
    return word, position


def parse_limit(text: str, most: int) -> int:
    """Parse the query parameter ``limit``, how many a page may have; raises ``InvalidField``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and 1 <= int(text) <= most):
        raise InvalidField("limit", f"must be a number from 1 to {most}")
    return int(text)


def decode_base64(text: str, path: str) -> bytes:
    """Decode base64 in either alphabet, with or without padding; raises ``InvalidField``."""
    standard_text = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(standard_text + "=" * (-len(standard_text) % 4), validate=True)
    except ValueError:
        raise InvalidField(path, "must be base64") from None


def id_at(source: JsonObject, key: str, path: str) -> str | None:
    """The client's id under ``key``; None if it is absent or empty."""
    value = text_at(source, key, path)
    if not value:
        return None
    if len(value) > MAX_ID_LENGTH or not value.isprintable():
        raise InvalidField(path, f"must be at most {MAX_ID_LENGTH} printable characters")
    if HASHED_ID_PATTERN.fullmatch(value):
        raise InvalidField(path, "must not be ~ and 64 hexadecimal digits: so the archive names a longer id")
    return value


def required_id_at(source: JsonObject, key: str, path: str) -> str:
    value = id_at(source, key, path)
    if value is None:
        raise InvalidField(path, "is required and must not be empty")
    return value


def count_at(source: JsonObject, key: str, path: str) -> int | None:
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidField(path, "must be a whole number, zero or more")
    return value


def to_invalid_field(error: ValidationError, *path: str) -> InvalidField:
    """The first error of a validation as an ``InvalidField`` below ``path``; it does not repeat the invalid value."""
    first_error = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return InvalidField(".".join(map(str, (*path, *first_error["loc"]))), first_error["msg"])


def json_type_name(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"
