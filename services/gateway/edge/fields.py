"""Reads fields of a client's request: of the right type, or refused with the field's name."""

import base64
import binascii
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from pydantic import ValidationError

from services.gateway.edge.errors import InvalidField
from shared.domain.exact_json import Json, JsonObject

MAX_ID = 256
Word = TypeVar("Word", bound=StrEnum)


def object_at(source: JsonObject, key: str, path: str) -> JsonObject:
    """The object under a key, or an empty one if the key is absent or null."""
    value = source.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidField(path, f"must be an object, not {kind_of(value)}")
    return value


def list_at(source: JsonObject, key: str, path: str) -> list[Json]:
    value = source.get(key)
    if not isinstance(value, list):
        raise InvalidField(path, "is required" if value is None else f"must be a list, not {kind_of(value)}")
    return value


def text_at(source: JsonObject, key: str, path: str) -> str | None:
    value = source.get(key)
    if value is None or isinstance(value, str):
        return value
    raise InvalidField(path, f"must be a string, not {kind_of(value)}")


def short_text_at(source: JsonObject, key: str, most: int, path: str = "") -> str:
    """A text of at most ``most`` characters; empty if it is absent. ``path``: the field's name, if not the key."""
    text = text_at(source, key, path or key) or ""
    if len(text) > most:
        raise InvalidField(path or key, f"must be at most {most} characters")
    return text


def word_at(source: JsonObject, key: str, words: type[Word]) -> Word:
    """One of the words, in small or capital letters."""
    try:
        return words((text_at(source, key, key) or "").strip().lower())
    except ValueError:
        raise InvalidField(key, f"must be one of {', '.join(words)}") from None


def read_moment(text: str | None, path: str) -> datetime | None:
    """A time in a text, in UTC unless it has a zone; None if there is none."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidField(path, "must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z") from None


def write_token(word: str, place: str) -> str:
    """The token of a page that begins at ``place``."""
    return base64.urlsafe_b64encode(f"{word} {place}".encode()).decode().rstrip("=")


def read_token(token: str) -> tuple[str, str]:
    """What ``write_token`` was given; two empty texts for a token that is none."""
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return "", ""
    word, _, place = text.partition(" ")
    return word, place


def decode_base64(text: str, path: str) -> bytes:
    """The bytes that base64 stands for, in either alphabet, with or without padding; raises ``InvalidField``."""
    usual = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)
    except ValueError:
        raise InvalidField(path, "must be base64") from None


def id_at(source: JsonObject, key: str, path: str) -> str | None:
    """An id chosen by the client; None if it is absent or empty. Raises ``InvalidField``."""
    value = text_at(source, key, path)
    if not value:
        return None
    if len(value) > MAX_ID or not value.isprintable():
        raise InvalidField(path, f"must be at most {MAX_ID} printable characters")
    return value


def required_id(source: JsonObject, key: str, path: str) -> str:
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


def refused_field(error: ValidationError, *path: str) -> InvalidField:
    """The first thing that is wrong with a message at ``path``. It repeats no value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return InvalidField(".".join(map(str, (*path, *first["loc"]))), first["msg"])


def kind_of(value: Json) -> str:
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
