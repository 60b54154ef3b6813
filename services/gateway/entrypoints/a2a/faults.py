"""What each refusal is called over REST: an HTTP status, and the words of ``google.rpc.Status`` (1.0)."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue
from starlette.responses import JSONResponse

from services.gateway.core import errors
from services.gateway.entrypoints.a2a.replies import CODES, FAILED, INTERNAL_ERROR, RETRY_LATER, Fault
from services.gateway.entrypoints.edge.body import INVALID_REQUEST, PARSE_ERROR, BadCall
from services.gateway.ports.tasks import StoreUnavailable

_DETAIL = "type.googleapis.com/google.rpc.ErrorInfo"
_DOMAIN = "a2a-protocol.org"


class Words(NamedTuple):
    """``old_status`` is what servers of 0.3 answer, where that differs."""

    status: int
    rpc: str
    reason: str
    old_status: int = 0


_BY_CODE: Mapping[int, Words] = {
    PARSE_ERROR: Words(400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    INVALID_REQUEST: Words(400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    -32602: Words(400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    -32001: Words(404, "NOT_FOUND", "TASK_NOT_FOUND"),
    -32002: Words(400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", 409),
    -32003: Words(400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    -32004: Words(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    -32005: Words(400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", 415),
    -32007: Words(400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", 404),
    -32008: Words(400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    -32009: Words(400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    INTERNAL_ERROR: Words(500, "INTERNAL", "INTERNAL_ERROR"),
}
_BY_KIND: Mapping[type[Exception], Words] = {
    StoreUnavailable: Words(503, "UNAVAILABLE", "UNAVAILABLE"),
    errors.TenantStopped: Words(503, "UNAVAILABLE", "TENANT_STOPPED"),
    errors.TooManyRequests: Words(429, "RESOURCE_EXHAUSTED", "TOO_MANY_REQUESTS"),
    errors.NotAClient: Words(403, "PERMISSION_DENIED", "NOT_A_CLIENT"),
    errors.UnsupportedMediaType: Words(415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
}


def words_of(fault: Fault | BadCall) -> Words:
    if isinstance(fault, BadCall):
        words = _BY_CODE[fault.code]
        return words._replace(status=fault.status)
    return _BY_KIND.get(type(fault)) or _BY_CODE[CODES[type(fault)]]


def rest_fault(fault: Fault | BadCall) -> JSONResponse:
    """A refusal as 1.0 words it."""
    words, message = words_of(fault), _message(fault)
    response = JSONResponse(rest_error(words, message), words.status)
    response.headers.update(_retry(fault, words))
    return response


def rest_error(words: Words, message: str) -> dict[str, JsonValue]:
    detail: JsonValue = {"@type": _DETAIL, "reason": words.reason, "domain": _DOMAIN, "metadata": {}}
    return {"error": {"code": words.status, "status": words.rpc, "message": message, "details": [detail]}}


def rest_fault_0_3(fault: Fault | BadCall) -> JSONResponse:
    """A refusal with the code that 0.3 has for it."""
    words = words_of(fault)
    code = fault.code if isinstance(fault, BadCall) else CODES[type(fault)]
    response = JSONResponse({"code": code, "message": _message(fault)}, words.old_status or words.status)
    response.headers.update(_retry(fault, words))
    return response


def failed() -> JSONResponse:
    """The gateway's own failure: what happened is in its log."""
    return JSONResponse(rest_error(_BY_CODE[INTERNAL_ERROR], FAILED), 500)


def _retry(fault: Fault | BadCall, words: Words) -> Mapping[str, str]:
    if isinstance(fault, errors.TooManyRequests):
        return {"Retry-After": str(fault.wait)}
    return RETRY_LATER if words.status == 503 else {}


def _message(fault: Fault | BadCall) -> str:
    return fault.message if isinstance(fault, BadCall) else str(fault)
