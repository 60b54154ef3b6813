"""Reads a request's body within limits, and parses it as JSON or as a JSON-RPC call."""

import re
from codecs import BOM_UTF8
from decimal import Decimal
from typing import NamedTuple, cast

from starlette.requests import Request

from services.gateway.edge.errors import UnsupportedMediaType
from services.gateway.edge.fields import check_type, json_type_name
from shared.domain.exact_json import EXACT_DECODER, Json, JsonObject

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
        self.code, self.message, self.call_id, self.status, self.method = code, message, call_id, status, method


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
    """Read the request's body; raises ``BadCall`` as soon as it exceeds ``limit`` bytes."""
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


async def read_object(request: Request, limit: int, *, may_be_empty: bool = False) -> JsonObject:
    """Read the body as a JSON object; raises ``BadCall``, and ``InvalidField`` for any other JSON value."""
    body = await read_body(request, limit)
    return check_type(parse_json(b"{}" if may_be_empty and not body else body), dict, "body")


def parse_call(body: bytes) -> RpcCall:
    """Parse a body as a JSON-RPC call; raises ``BadCall``."""
    call = parse_json(body)
    if isinstance(call, list):
        raise BadCall(INVALID_REQUEST, "batches are not supported; send one call a request")
    if not isinstance(call, dict):
        raise BadCall(INVALID_REQUEST, f"a JSON-RPC call is an object, not {json_type_name(call)}")
    method, params = call.get("method"), call.get("params")
    name = method if isinstance(method, str) else ""
    call_id = _read_call_id(call, name)
    if call.get("jsonrpc") != "2.0":
        raise BadCall(INVALID_REQUEST, 'jsonrpc: must be "2.0"', call_id, method=name)
    if not name:
        raise BadCall(INVALID_REQUEST, "method: must be the name of a method", call_id)
    if not isinstance(params, dict | None):
        raise BadCall(INVALID_PARAMS, f"params: must be an object, not {json_type_name(params)}", call_id, method=name)
    return RpcCall(call_id, name, params or {})


def _read_call_id(value: JsonObject, method: str) -> str | int | None:
    call_id = value.get("id")
    if isinstance(call_id, bool) or not isinstance(call_id, str | int | None):
        cause = f"id: must be a string, a whole number or null, not {json_type_name(call_id)}"
        raise BadCall(INVALID_REQUEST, cause, method=method)
    return call_id


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
    _check_values(value)
    return value


def _check_values(root: Json) -> None:
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
                _check_scalar(value)
        count += len(inner)
        if count > MAX_JSON_VALUES:
            raise BadCall(PARSE_ERROR, f"the JSON holds more than {MAX_JSON_VALUES} values, names of fields among them")
        if not inner:
            return
        level = inner
    raise BadCall(PARSE_ERROR, f"the JSON is nested deeper than {MAX_JSON_NESTING} levels")


def _check_scalar(value: Json) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadCall(PARSE_ERROR, "the JSON holds half of a surrogate pair, which is no text") from None
    elif isinstance(value, Decimal | int) and abs(Decimal(value).adjusted()) > _MAX_EXPONENT:  # of a zero, too
        raise BadCall(PARSE_ERROR, "the JSON holds a number that is too large or too small")


_MAX_EXPONENT = 300
