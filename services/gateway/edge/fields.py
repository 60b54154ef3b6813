"""Reads fields of a client's JSON: of the right type, or refused with the field's name."""

from services.gateway.edge.errors import InvalidField
from shared.domain.exact_json import Json, JsonObject

MAX_ID = 256


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
