"""Error responses: JSON-RPC errors, errors of the REST bindings, and ``{"error": ...}`` on the gateway's own paths."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from services.gateway.edge import errors
from services.gateway.edge.errors import GatewayRefusal
from services.gateway.edge.fields import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, BadCall
from shared.ports.archive import ArchiveUnavailable, UnreadableArchivedContent
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import SessionBelongsToOther, TaskEnded, TenantIsStopped

VERSION_HEADER = "A2A-Version"
A2A_MEDIA_TYPE = "application/a2a+json"
PRIVATE_HEADERS = {"Cache-Control": "private, no-store"}  # for the extended card, which is for callers who are known
_VERSION_1_0_PATTERN = re.compile(r"1\.0(\.\d+)?")
_VERSION_0_3_PATTERN = re.compile(r"(0\.[1-3](\.\d+)?)?")


class VersionMismatch(GatewayRefusal):
    """The request's protocol version is not the one that its method or path belongs to."""


def read_protocol_version(request: Request) -> str:
    """The protocol version in the request's header or query; empty if it names none, which means 0.3 or earlier."""
    return request.headers.get(VERSION_HEADER) or request.query_params.get(VERSION_HEADER) or ""


def names_version_1(request: Request) -> bool:
    """Whether the request names a protocol version that begins with 1."""
    return read_protocol_version(request).startswith("1")


def _is_version_1_0(version: str) -> bool:
    """Whether a version is 1.0, with any patch number."""
    return _VERSION_1_0_PATTERN.fullmatch(version) is not None


def require_protocol_1_0(version: str, subject: str) -> None:
    """Raises ``VersionMismatch`` unless ``version``, the header's, is 1.0.

    ``subject``: what belongs to 1.0, for the message.
    """
    if not _is_version_1_0(version):
        problem = f"says {version!r}" if version else "is missing, which means 0.3"
        raise VersionMismatch(f"{subject} belongs to protocol 1.0, but the header {VERSION_HEADER} {problem}")


def require_protocol_0_3(version: str, subject: str) -> None:
    """Raises ``VersionMismatch`` unless ``version``, the header's, is 0.3 or missing. ``subject``: for the message."""
    if not _VERSION_0_3_PATTERN.fullmatch(version):
        raise VersionMismatch(f"{subject} belongs to protocol 0.3, but the header {VERSION_HEADER} says {version!r}")


def asks_for_a2a_1_0(request: Request) -> bool:
    """Whether a request on a path that several protocols share is meant for 1.0: by its version, or else ``Accept``."""
    accepted = request.headers.get("accept", "")
    return _is_version_1_0(read_protocol_version(request)) or (
        A2A_MEDIA_TYPE in accepted and not read_protocol_version(request)
    )


def choose_media_type(accept: str) -> str:
    """The media type of a 1.0 REST answer: A2A's own, or JSON's if the client accepts only that."""
    accepted = accept.lower()
    return "application/json" if "application/json" in accepted and A2A_MEDIA_TYPE not in accepted else A2A_MEDIA_TYPE


INTERNAL_ERROR = -32603
INTERNAL_ERROR_TEXT = "the gateway failed on this request; it is in its log"
METHOD_NOT_FOUND = -32601
TOO_MANY_REQUESTS = -32010  # RateLimitExceeded in the early protocol; the later ones name none
RETRY_LATER_HEADERS = {"Retry-After": "2"}  # with what the store's absence is answered; most absences are shorter
AnyRefusal = errors.GatewayRefusal | StoreUnavailable | BadCall
CallId = str | int | None


class ErrorCodes(NamedTuple):
    """The codes of an error: of JSON-RPC, of HTTP in REST, of ``google.rpc.Status``, and the ``ErrorInfo`` reason.

    ``status_0_3``: the HTTP status in 0.3's REST; 0 if it is the same.
    """

    code: int
    status: int
    rpc_status: str
    reason: str
    status_0_3: int = 0


_UNSUPPORTED_CODES = ErrorCodes(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
_NOT_FOUND_CODES = ErrorCodes(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND")
_WRONG_CONTENT_CODES = ErrorCodes(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", 415)
_INTERNAL_ERROR_CODES = ErrorCodes(INTERNAL_ERROR, 500, "INTERNAL", "INTERNAL_ERROR")
NO_METHOD_CODES = ErrorCodes(METHOD_NOT_FOUND, 404, "NOT_FOUND", "METHOD_NOT_FOUND")
WRONG_VERB_CODES = ErrorCodes(METHOD_NOT_FOUND, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
_CODES_BY_EXCEPTION: Mapping[type[Exception], ErrorCodes] = {
    errors.InvalidField: ErrorCodes(INVALID_PARAMS, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    errors.NoVisibleTask: _NOT_FOUND_CODES,
    errors.UnknownWebhook: _NOT_FOUND_CODES,
    errors.NotCancelable: ErrorCodes(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", 409),
    errors.PushUnsupported: ErrorCodes(-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    errors.Unsupported: _UNSUPPORTED_CODES,
    errors.TaskHasEnded: _UNSUPPORTED_CODES,
    errors.NotAClient: ErrorCodes(-32004, 403, "PERMISSION_DENIED", "NOT_A_CLIENT"),
    errors.TooManyRequests: ErrorCodes(TOO_MANY_REQUESTS, 429, "RESOURCE_EXHAUSTED", "TOO_MANY_REQUESTS"),
    errors.StoppedTenant: ErrorCodes(INTERNAL_ERROR, 503, "UNAVAILABLE", "TENANT_STOPPED"),
    errors.UnsupportedContent: _WRONG_CONTENT_CODES,
    errors.UnsupportedMediaType: _WRONG_CONTENT_CODES._replace(status=415),
    errors.NoExtendedCard: ErrorCodes(-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 404),
    VersionMismatch: ErrorCodes(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    StoreUnavailable: ErrorCodes(INTERNAL_ERROR, 503, "UNAVAILABLE", "UNAVAILABLE"),
}
_CODES_BY_CODE: Mapping[int, ErrorCodes] = {  # of a ``BadCall``
    PARSE_ERROR: ErrorCodes(PARSE_ERROR, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    INVALID_REQUEST: ErrorCodes(INVALID_REQUEST, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    INVALID_PARAMS: _CODES_BY_EXCEPTION[errors.InvalidField],
}


def _choose_error_codes(fault: Exception) -> ErrorCodes:
    """The codes of a refusal; those of an internal error for any other exception."""
    if isinstance(fault, BadCall):
        return _CODES_BY_CODE[fault.code]._replace(status=fault.status)
    return _CODES_BY_EXCEPTION.get(type(fault), _INTERNAL_ERROR_CODES)


def _choose_error_message(fault: Exception) -> str:
    return str(fault) if isinstance(fault, AnyRefusal) else INTERNAL_ERROR_TEXT


def _build_error_info(reason: str) -> JsonValue:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "a2a-protocol.org",
        "metadata": {},
    }


def _build_rpc_error(code: int, message: str, reason: str = "") -> dict[str, JsonValue]:
    """A JSON-RPC error object. ``reason``: the ``ErrorInfo`` reason that 1.0 adds; empty for older protocols."""
    error: dict[str, JsonValue] = {"code": code, "message": message}
    return {**error, "data": [_build_error_info(reason)]} if reason else error


def build_rpc_error_of_fault(fault: Exception, *, includes_reason: bool) -> dict[str, JsonValue]:
    codes = _choose_error_codes(fault)
    return _build_rpc_error(codes.code, _choose_error_message(fault), codes.reason if includes_reason else "")


encode_json: Callable[[object], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode_rpc_result(call_id: CallId, result: bytes) -> bytes:
    """The bytes of a JSON-RPC response whose ``result`` is already serialized."""
    id_text = str(call_id) if type(call_id) is int else encode_json(call_id)
    return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (id_text.encode(), result)


def build_rpc_error_reply(
    call_id: CallId, code: int, message: str, status: int = 200, reason: str = ""
) -> JSONResponse:
    error: JsonValue = _build_rpc_error(code, message, reason)
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status_code=status)


def build_rpc_fault_reply(
    call_id: CallId, fault: Exception, *, includes_reason: bool = False, bad_input_status: int = 200
) -> JSONResponse:
    """The JSON-RPC error response to an exception.

    ``includes_reason``: as in 1.0. ``bad_input_status``: the HTTP status for invalid requests, which is 400
    in the early protocol.
    """
    codes = _choose_error_codes(fault)
    reason = _choose_error_codes(fault).reason if includes_reason else ""
    status = bad_input_status if codes.status == 400 and codes.code in _BAD_INPUT_CODES else 200
    if isinstance(fault, _FAULTS_WITH_OWN_STATUS) or (isinstance(fault, BadCall) and fault.status != 400):
        status = codes.status
    reply = build_rpc_error_reply(call_id, codes.code, _choose_error_message(fault), status, reason)
    reply.headers.update(build_retry_headers(fault))
    return reply


def build_retry_headers(fault: Exception, status: int = 0) -> Mapping[str, str]:
    """The ``Retry-After`` header, if the request may be repeated. ``status``: the HTTP status of the response."""
    if isinstance(fault, errors.TooManyRequests):
        return {"Retry-After": str(fault.wait)}
    return RETRY_LATER_HEADERS if isinstance(fault, StoreUnavailable) or status == 503 else {}


_BAD_INPUT_CODES = frozenset({PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, -32005})
_FAULTS_WITH_OWN_STATUS = (errors.StoppedTenant, errors.UnsupportedMediaType, errors.TooManyRequests)


_ERROR_NAMES_0_3: Mapping[int, str] = {code: error.__name__ for error, code in JSON_RPC_ERROR_CODE_MAP.items()}
_VERSION_1_0_PATH_PATTERN = re.compile(r"/(message:.*|tasks(/.*)?|extendedAgentCard)")


def build_rest_fault_reply(fault: Exception, *, is_0_3: bool = False) -> JSONResponse:
    """The REST error response to an exception, in the format of 1.0, or of 0.3 if ``is_0_3``."""
    codes, message = _choose_error_codes(fault), _choose_error_message(fault)
    response = (
        _build_rest_error_0_3(codes, message, codes.status_0_3 or codes.status)
        if is_0_3
        else _build_rest_error_1_0(codes, message)
    )
    response.headers.update(build_retry_headers(fault, response.status_code))
    return response


def _build_rest_error_1_0(codes: ErrorCodes, message: str) -> JSONResponse:
    error = {
        "code": codes.status,
        "status": codes.rpc_status,
        "message": message,
        "details": [_build_error_info(codes.reason)],
    }
    return JSONResponse({"error": error}, codes.status)


def _build_rest_error_0_3(codes: ErrorCodes, message: str, status: int) -> JSONResponse:
    """An error in the format of 0.3. Official clients of 1.x read its ``type``, those of 0.3 its status."""
    kind = _ERROR_NAMES_0_3.get(codes.code)
    return JSONResponse({"code": codes.code, "message": message, **({"type": kind} if kind else {})}, status)


def _build_unknown_path_reply(verb: str, path: str, status: int, detail: str) -> JSONResponse | None:
    """The error for a path of a protocol's that does not exist, or not with that verb; None for other paths."""
    codes = (WRONG_VERB_CODES if status == 405 else NO_METHOD_CODES)._replace(status=status)
    message = f"{detail}: {verb} {path}"
    if path == "/":
        return build_rpc_error_reply(None, codes.code, message, status)
    if path.startswith("/v1/"):
        return _build_rest_error_0_3(codes, message, status)
    return _build_rest_error_1_0(codes, message) if _VERSION_1_0_PATH_PATTERN.fullmatch(path) else None


_STATUS_BY_KIND: Mapping[type[Exception], int] = {
    StoreUnavailable: 503,
    ArchiveUnavailable: 503,
    UnreadableArchivedContent: 503,
    TaskEnded: 409,
    SessionBelongsToOther: 409,
    TenantIsStopped: 409,
}


def add_error_handlers(app: FastAPI) -> None:
    """Have the app answer refusals with ``{"error": ...}``; the protocols' paths answer theirs before that."""
    app.add_exception_handler(HTTPException, _answer_http_exception)
    app.add_exception_handler(RequestValidationError, _answer_bad_parameter)
    for kind in (BadCall, GatewayRefusal, *_STATUS_BY_KIND):
        app.add_exception_handler(kind, _answer_refusal)


def add_probe_route(router: APIRouter, path: str, endpoint: Callable[..., Awaitable[object]]) -> None:
    """Add a path that load balancers ask by HEAD, too: it is answered as a GET, and the server leaves out the body."""
    router.add_api_route(path, endpoint, methods=["GET"], response_class=JSONResponse)
    router.add_api_route(path, endpoint, methods=["HEAD"], response_class=JSONResponse, include_in_schema=False)


def build_error_reply(status: int, error: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": error}, status, headers)


async def _answer_refusal(_: Request, fault: Exception) -> Response:
    if isinstance(fault, BadCall):
        return build_error_reply(fault.status, fault.message)
    status = fault.status if isinstance(fault, GatewayRefusal) else _STATUS_BY_KIND[type(fault)]
    return build_error_reply(status, str(fault), build_retry_headers(fault, status))


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    """Answer a request for a path or method that does not exist."""
    if not isinstance(error, HTTPException):
        raise error
    verb, path = request.method, request.url.path
    reply = _build_unknown_path_reply(verb, path, error.status_code, error.detail)
    reply = reply or build_error_reply(error.status_code, f"{error.detail}: {verb} {path}")
    reply.headers.update(error.headers or {})
    return reply


async def _answer_bad_parameter(_: Request, error: Exception) -> Response:
    """Answer invalid parameters with 400, and name them."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems = (f"{'.'.join(map(str, fields['loc']))}: {fields['msg']}" for fields in error.errors())
    return build_error_reply(400, "; ".join(problems))


def build_file_reply(name: str, content: bytes) -> Response:
    """A response with a file for download; its headers keep browsers from rendering it."""
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        **PRIVATE_HEADERS,
    }
    return Response(content, media_type="application/octet-stream", headers=headers)
