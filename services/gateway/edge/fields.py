"""Reads a request's body within limits, parses it as JSON or as a JSON-RPC call, and reads the fields of that JSON.

Each function that reads a field raises ``InvalidField`` for a value of a wrong type. ``source``: the JSON object;
``key``: the field; ``path``: the field's whole path, for errors, by default ``key``.
"""

import base64
import binascii
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple, TypeVar, cast

from pydantic import ValidationError
from starlette.requests import Request

from services.gateway.edge.errors import InvalidField, UnsupportedMediaType
from shared.domain.exact_json import EXACT_DECODER, Json, JsonObject
from shared.ports.archive import HASHED_ID_PATTERN

MAX_ID_LENGTH = 256
ChoiceT = TypeVar("ChoiceT", bound=StrEnum)
T = TypeVar("T")
_TYPE_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


def require_type(value: Json, kind: type[T], path: str) -> T:
    """The value, if it is of that kind; raises ``InvalidField``."""
    if not isinstance(value, kind):
        raise InvalidField(path, f"must be {_TYPE_NAMES[kind]}, not {name_json_type(value)}")
    return value


def object_at(source: JsonObject, key: str, path: str = "") -> JsonObject:
    """The object under ``key``; an empty one if it is absent or null."""
    value = source.get(key)
    return {} if value is None else require_type(value, dict, path or key)


def list_at(source: JsonObject, key: str, path: str = "") -> list[Json]:
    """The list under ``key``; raises ``InvalidField`` if it is absent or null."""
    value = source.get(key)
    if value is None:
        raise InvalidField(path or key, "is required")
    return require_type(value, list, path or key)


def flag_at(source: JsonObject, key: str, path: str = "") -> bool:
    """The boolean under ``key``; False if it is absent or null."""
    value = source.get(key)
    return value is not None and require_type(value, bool, path or key)


def text_at(source: JsonObject, key: str, path: str = "") -> str | None:
    """The string under ``key``; None if it is absent or null."""
    value = source.get(key)
    return None if value is None else require_type(value, str, path or key)


def short_text_at(source: JsonObject, key: str, most_characters: int, path: str = "") -> str:
    """The string under ``key``; empty if it is absent.

    Raises ``InvalidField`` if it has more than ``most_characters``.
    """
    text = text_at(source, key, path) or ""
    if len(text) > most_characters:
        raise InvalidField(path or key, f"must be at most {most_characters} characters")
    return text


def choice_at(source: JsonObject, key: str, choices: type[ChoiceT]) -> ChoiceT:
    """The string under ``key``, in any case, as a member of ``choices``.

    Raises ``InvalidField`` if it is none of them, or absent.
    """
    try:
        return choices((text_at(source, key) or "").strip().lower())
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
    """Encode where a page begins as an opaque token. ``kind``: a word for the kind of place, such as ``store``."""
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


def id_at(source: JsonObject, key: str, path: str = "") -> str | None:
    """The client's id under ``key``; None if it is absent or empty. Raises ``InvalidField`` for what can be no id."""
    value = text_at(source, key, path)
    if not value:
        return None
    if len(value) > MAX_ID_LENGTH or not value.isprintable():
        raise InvalidField(path or key, f"must be at most {MAX_ID_LENGTH} printable characters")
    if HASHED_ID_PATTERN.fullmatch(value):
        raise InvalidField(path or key, "must not be ~ and 64 hexadecimal digits: so the archive names a longer id")
    return value


def required_id_at(source: JsonObject, key: str, path: str = "") -> str:
    """The client's id under ``key``; raises ``InvalidField`` if it is absent or empty, or can be no id."""
    value = id_at(source, key, path)
    if value is None:
        raise InvalidField(path or key, "is required and must not be empty")
    return value


def whole_number_at(source: JsonObject, key: str, path: str = "") -> int | None:
    """The number under ``key``; None if it is absent or null. Raises ``InvalidField`` if it is negative."""
    value = source.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidField(path or key, "must be a whole number, zero or more")
    return value


def to_invalid_field(error: ValidationError, *path: str) -> InvalidField:
    """The first error of a validation as an ``InvalidField`` below ``path``; it does not repeat the invalid value."""
    first_error = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return InvalidField(".".join(map(str, (*path, *first_error["loc"]))), first_error["msg"])


def name_json_type(value: Json) -> str:
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


PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
MAX_JSON_NESTING = 64
_MOST_COMMAS = 1_000_000  # in texts too, so more than separate that many values
MAX_JSON_VALUES = 100_000  # reading a million would hold all others up for a second


class BadCall(Exception):
    """The body cannot be read, is not JSON, or is not a JSON-RPC call.

    ``code``: the JSON-RPC error code. ``call_id`` and ``method``: those of the call, if they could be read.
    """

    def __init__(
        self, code: int, message: str, call_id: str | int | None = None, status: int = 400, method: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.call_id = call_id
        self.status = status
        self.method = method


class RpcCall(NamedTuple):
    """A JSON-RPC call. ``call_id``: None if it has none; the answer's id is then null."""

    call_id: str | int | None
    method: str
    params: JsonObject


def check_content_type(request: Request) -> None:
    """Raises ``UnsupportedMediaType`` if the request has a ``Content-Type`` that is not JSON."""
    content_type = request.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and not re.fullmatch(r"application/(json|.*\+json)", media_type):
        raise UnsupportedMediaType(f"Content-Type: send application/json, not {content_type!r}")


async def read_body(request: Request, limit: int) -> bytes:
    """Read the request's body; raises ``BadCall`` as soon as it exceeds ``limit`` bytes, and ``UnsupportedMediaType``
    if it is compressed.
    """
    encoding = request.headers.get("content-encoding", "")
    if encoding.strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType(f"Content-Encoding: send the body as it is, not {encoding!r}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        check_body_size(len(body), limit)
    return bytes(body)


def check_body_size(size: int, limit: int, call: RpcCall | None = None) -> None:
    """Raises ``BadCall`` if ``size`` exceeds ``limit``. ``call``: the call in the body, if it has been parsed."""
    if size > limit:
        call_id, method = (call.call_id, call.method) if call else (None, "")
        raise BadCall(INVALID_REQUEST, f"the request body is over the limit of {limit} bytes", call_id, 413, method)


async def read_json_object_body(request: Request, limit: int, *, may_lack_body: bool = False) -> JsonObject:
    """Read the body as a JSON object; raises ``BadCall``, and ``InvalidField`` for any other JSON value.

    ``may_lack_body``: an empty body counts as an empty object.
    """
    body = await read_body(request, limit)
    return require_type(parse_json(b"{}" if may_lack_body and not body else body), dict, "body")


def parse_call(body: bytes) -> RpcCall:
    """Parse a body as a JSON-RPC call; raises ``BadCall``."""
    call = parse_json(body)
    if isinstance(call, list):
        raise BadCall(INVALID_REQUEST, "batches are not supported; send one call a request")
    if not isinstance(call, dict):
        raise BadCall(INVALID_REQUEST, f"a JSON-RPC call is an object, not {name_json_type(call)}")
    method, params = call.get("method"), call.get("params")
    name = method if isinstance(method, str) else ""
    call_id = call.get("id")
    if isinstance(call_id, bool) or not isinstance(call_id, str | int | None):
        cause = f"id: must be a string, a whole number or null, not {name_json_type(call_id)}"
        raise BadCall(INVALID_REQUEST, cause, method=name)
    if call.get("jsonrpc") != "2.0":
        raise BadCall(INVALID_REQUEST, 'jsonrpc: must be "2.0"', call_id, method=name)
    if not name:
        raise BadCall(INVALID_REQUEST, "method: must be the name of a method", call_id)
    if not isinstance(params, dict | None):
        raise BadCall(INVALID_PARAMS, f"params: must be an object, not {name_json_type(params)}", call_id, method=name)
    return RpcCall(call_id, name, params or {})


def parse_json(body: bytes) -> Json:
    """Parse a body as JSON, with exact numbers; raises ``BadCall``, also for values beyond the limits."""
    if body.count(b",") > _MOST_COMMAS:  # before so many values are made: a large message is large by its files
        raise BadCall(PARSE_ERROR, f"the JSON holds more than {MAX_JSON_VALUES} values, names of fields among them")
    try:
        text = body.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise BadCall(PARSE_ERROR, f"the body is not UTF-8 (byte {error.start})") from None
    try:
        value = cast(Json, EXACT_DECODER.decode(text))
    except RecursionError:
        raise BadCall(PARSE_ERROR, f"the JSON is nested deeper than {MAX_JSON_NESTING} levels") from None
    except ValueError as error:
        raise BadCall(PARSE_ERROR, f"the body is not JSON: {error}") from None
    _refuse_unsafe_values(value)
    return value


def _refuse_unsafe_values(root: Json) -> None:
    """Raises ``BadCall`` for too many values, too deep nesting, lone surrogates, or numbers beyond a float's range."""
    level, count = [root], 1
    for _ in range(MAX_JSON_NESTING):
        inner: list[Json] = []
        for value in level:
            if isinstance(value, dict):
                inner += value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            else:
                _refuse_unsafe_scalar(value)
        count += len(inner)
        if count > MAX_JSON_VALUES:
            raise BadCall(PARSE_ERROR, f"the JSON holds more than {MAX_JSON_VALUES} values, names of fields among them")
        if not inner:
            return
        level = inner
    raise BadCall(PARSE_ERROR, f"the JSON is nested deeper than {MAX_JSON_NESTING} levels")


def _refuse_unsafe_scalar(value: Json) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadCall(PARSE_ERROR, "the JSON holds half of a surrogate pair, which is no text") from None
    elif isinstance(value, Decimal | int) and abs(Decimal(value).adjusted()) > _MAX_EXPONENT:  # of a zero, too
        raise BadCall(PARSE_ERROR, "the JSON holds a number that is too large or too small")


_MAX_EXPONENT = 300
