"""JSON-RPC replies, and which code each refusal has."""

import json

from pydantic import JsonValue
from starlette.responses import JSONResponse

from services.gateway.core import errors
from services.gateway.entrypoints.a2a.versions import VersionMismatch
from services.gateway.entrypoints.edge.body import BadCall
from services.gateway.ports.tasks import StoreUnavailable

INTERNAL_ERROR = -32603
FAILED = "the gateway failed on this request; it is in its log"
METHOD_NOT_FOUND = -32601
VERSION_NOT_SUPPORTED = -32009
TOO_MANY_REQUESTS = -32010  # RateLimitExceeded in the early protocol; the later ones name none
CODES: dict[type[Exception], int] = {
    errors.InvalidField: -32602,
    errors.UnknownTask: -32001,
    errors.UnknownWebhook: -32001,
    errors.NotCancelable: -32002,
    errors.PushUnsupported: -32003,
    errors.Unsupported: -32004,
    errors.TaskHasEnded: -32004,
    errors.NotAClient: -32004,
    errors.NoAssessment: -32004,
    errors.NoAssessments: -32004,
    errors.TooManyRequests: TOO_MANY_REQUESTS,
    errors.TenantStopped: INTERNAL_ERROR,
    errors.UnsupportedContent: -32005,
    errors.UnsupportedMediaType: -32005,
    errors.NoExtendedCard: -32007,
    VersionMismatch: VERSION_NOT_SUPPORTED,
    StoreUnavailable: INTERNAL_ERROR,
}
RETRY_LATER = {"Retry-After": "2"}  # with what the store's absence is answered; most absences are shorter
Fault = errors.Refusal | StoreUnavailable


def result_body(call_id: str | int | None, result: dict[str, JsonValue]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": call_id, "result": result})


def error_body(call_id: str | int | None, code: int, message: str) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}})


def fault_body(call_id: str | int | None, fault: Fault) -> bytes:
    return error_body(call_id, CODES[type(fault)], str(fault))


def error_reply(call_id: str | int | None, code: int, message: str, status: int = 200) -> JSONResponse:
    error: JsonValue = {"code": code, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": call_id, "error": error}, status_code=status)


def fault_reply(call_id: str | int | None, fault: Fault, *, bad_input_status: int = 200) -> JSONResponse:
    """``bad_input_status``: the early protocol's servers answer invalid parameters with HTTP 400."""
    code = CODES[type(fault)]
    status = bad_input_status if code in (-32602, -32005) else 200
    status = 503 if isinstance(fault, errors.TenantStopped) else status
    status = 415 if isinstance(fault, errors.UnsupportedMediaType) else status
    status = 429 if isinstance(fault, errors.TooManyRequests) else status
    reply = error_reply(call_id, code, str(fault), status)
    if isinstance(fault, errors.TooManyRequests):
        reply.headers["Retry-After"] = str(fault.wait)
    if isinstance(fault, StoreUnavailable):
        reply.headers.update(RETRY_LATER)
    return reply


def bad_call_reply(bad: BadCall, *, plain_http: bool) -> JSONResponse:
    """``plain_http``: the later protocols answer every readable JSON-RPC request with HTTP 200."""
    status = 200 if plain_http and bad.status == 400 else bad.status
    return error_reply(bad.call_id, bad.code, bad.message, status)


def _encode(value: dict[str, JsonValue]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
