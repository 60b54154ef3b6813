"""What each refusal is called in the protocols, and how JSON-RPC answers with it."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue
from starlette.responses import JSONResponse

from services.gateway.core import errors
from services.gateway.entrypoints.a2a.versions import VersionMismatch
from services.gateway.entrypoints.edge.body import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, BadCall
from services.gateway.ports.tasks import StoreUnavailable

INTERNAL_ERROR = -32603
FAILED = "the gateway failed on this request; it is in its log"
METHOD_NOT_FOUND = -32601
TOO_MANY_REQUESTS = -32010  # RateLimitExceeded in the early protocol; the later ones name none
RETRY_LATER = {"Retry-After": "2"}  # with what the store's absence is answered; most absences are shorter
Fault = errors.Refusal | StoreUnavailable | BadCall
CallId = str | int | None


class Words(NamedTuple):
    """A refusal's JSON-RPC code, its HTTP status over REST, and its words in a ``google.rpc.Status``.

    ``old_status`` is what REST servers of 0.3 answer, where that differs.
    """

    code: int
    status: int
    rpc: str
    reason: str
    old_status: int = 0


_UNSUPPORTED = Words(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
_NOT_FOUND = Words(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND")
_CONTENT = Words(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", 415)
_INTERNAL = Words(INTERNAL_ERROR, 500, "INTERNAL", "INTERNAL_ERROR")
NO_METHOD = Words(METHOD_NOT_FOUND, 404, "NOT_FOUND", "METHOD_NOT_FOUND")
WRONG_VERB = Words(METHOD_NOT_FOUND, 405, "UNIMPLEMENTED", "METHOD_NOT_FOUND")
_BY_KIND: Mapping[type[Exception], Words] = {
    errors.InvalidField: Words(INVALID_PARAMS, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    errors.UnknownTask: _NOT_FOUND,
    errors.UnknownWebhook: _NOT_FOUND,
    errors.NotCancelable: Words(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", 409),
    errors.PushUnsupported: Words(-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    errors.Unsupported: _UNSUPPORTED,
    errors.TaskHasEnded: _UNSUPPORTED,
    errors.NotAClient: Words(-32004, 403, "PERMISSION_DENIED", "NOT_A_CLIENT"),
    errors.NoAssessment: _UNSUPPORTED,
    errors.NoAssessments: _UNSUPPORTED,
    errors.TooManyRequests: Words(TOO_MANY_REQUESTS, 429, "RESOURCE_EXHAUSTED", "TOO_MANY_REQUESTS"),
    errors.TenantStopped: Words(INTERNAL_ERROR, 503, "UNAVAILABLE", "TENANT_STOPPED"),
    errors.UnsupportedContent: _CONTENT,
    errors.UnsupportedMediaType: _CONTENT._replace(status=415),
    errors.NoExtendedCard: Words(-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 404),
    VersionMismatch: Words(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    StoreUnavailable: Words(INTERNAL_ERROR, 503, "UNAVAILABLE", "UNAVAILABLE"),
}
_BY_CODE: Mapping[int, Words] = {
    PARSE_ERROR: Words(PARSE_ERROR, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    INVALID_REQUEST: Words(INVALID_REQUEST, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    INVALID_PARAMS: _BY_KIND[errors.InvalidField],
    METHOD_NOT_FOUND: NO_METHOD,
    INTERNAL_ERROR: _INTERNAL,
}


def words_of(fault: Exception) -> Words:
    """What is no refusal is the gateway's own failure."""
    if isinstance(fault, BadCall):
        return _BY_CODE[fault.code]._replace(status=fault.status)
    return _BY_KIND.get(type(fault), _INTERNAL)


def message_of(fault: Exception) -> str:
    return str(fault) if isinstance(fault, Fault) else FAILED


def error_info(reason: str) -> JsonValue:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "a2a-protocol.org",
        "metadata": {},
    }


def error_of(code: int, message: str, reason: str = "") -> dict[str, JsonValue]:
    """The error object. ``reason``: in the words of 1.0, which has it beside the code; the older protocols do not."""
    error: dict[str, JsonValue] = {"code": code, "message": message}
    return {**error, "data": [error_info(reason)]} if reason else error


def fault_error(fault: Exception, *, detailed: bool) -> dict[str, JsonValue]:
    words = words_of(fault)
    return error_of(words.code, message_of(fault), words.reason if detailed else "")


def rpc_body(call_id: CallId, **said: JsonValue) -> bytes:
    """``result`` or ``error``; a result that is null is still a result."""
    reply = {"jsonrpc": "2.0", "id": call_id, **said}
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode()


def error_reply(call_id: CallId, code: int, message: str, status: int = 200, reason: str = "") -> JSONResponse:
    error: JsonValue = error_of(code, message, reason)
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status_code=status)


def fault_reply(call_id: CallId, fault: Fault, *, detailed: bool = False, bad_input_status: int = 200) -> JSONResponse:
    """``bad_input_status``: the early protocol's servers answer invalid requests with HTTP 400."""
    words, reason = words_of(fault), words_of(fault).reason if detailed else ""
    status = bad_input_status if words.status == 400 and words.code in _BAD_INPUT else 200
    if isinstance(fault, _OWN_STATUS) or (isinstance(fault, BadCall) and fault.status != 400):
        status = words.status
    reply = error_reply(call_id, words.code, message_of(fault), status, reason)
    reply.headers.update(retry_headers(fault))
    return reply


def retry_headers(fault: Exception) -> Mapping[str, str]:
    if isinstance(fault, errors.TooManyRequests):
        return {"Retry-After": str(fault.wait)}
    return RETRY_LATER if isinstance(fault, StoreUnavailable) else {}


_BAD_INPUT = frozenset({PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, -32005})
_OWN_STATUS = (errors.TenantStopped, errors.UnsupportedMediaType, errors.TooManyRequests)
