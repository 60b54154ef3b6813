"""Refusals over REST: a ``google.rpc.Status`` in 1.0, a code and a message in 0.3."""

import re
from collections.abc import Mapping

from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from services.gateway.edge.replies import (
    NO_METHOD,
    RETRY_LATER,
    WRONG_VERB,
    Words,
    error_info,
    error_reply,
    message_of,
    retry_headers,
    words_of,
)

_TYPES: Mapping[int, str] = {code: error.__name__ for error, code in JSON_RPC_ERROR_CODE_MAP.items()}
_OF_1_0 = re.compile(r"/(message:.*|tasks(/.*)?|extendedAgentCard)")


def rest_fault(fault: Exception, *, old: bool = False) -> JSONResponse:
    """A refusal, or the gateway's own failure, as 1.0 words it, or with the code that 0.3 has for it."""
    words, message = words_of(fault), message_of(fault)
    response = _error_0_3(words, message, words.old_status or words.status) if old else _error_1_0(words, message)
    response.headers.update(retry_headers(fault) or (RETRY_LATER if response.status_code == 503 else {}))
    return response


def _error_1_0(words: Words, message: str) -> JSONResponse:
    error = {"code": words.status, "status": words.rpc, "message": message, "details": [error_info(words.reason)]}
    return JSONResponse({"error": error}, words.status)


def _error_0_3(words: Words, message: str, status: int) -> JSONResponse:
    """``type`` is what the official clients of 1.x know the error by; those of 0.3 go by the status."""
    kind = _TYPES.get(words.code)
    return JSONResponse({"code": words.code, "message": message, **({"type": kind} if kind else {})}, status)


def no_such_path(verb: str, path: str, status: int, detail: str) -> JSONResponse | None:
    """What a path of the protocols that there is not, or not with that verb, is answered with; None for other paths."""
    words = (WRONG_VERB if status == 405 else NO_METHOD)._replace(status=status)
    message = f"{detail}: {verb} {path}"
    if path == "/":
        return error_reply(None, words.code, message, status)
    if path.startswith("/v1/"):
        return _error_0_3(words, message, status)
    return _error_1_0(words, message) if _OF_1_0.fullmatch(path) else None


def speak_plainly(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _http(request: Request, error: Exception) -> Response:
    """A path or method that there is not."""
    if not isinstance(error, HTTPException):
        raise error
    verb, path = request.method, request.url.path
    reply = no_such_path(verb, path, error.status_code, error.detail)
    reply = reply or JSONResponse({"error": f"{error.detail}: {verb} {path}"}, error.status_code)
    reply.headers.update(error.headers or {})
    return reply


async def _invalid(_: Request, error: Exception) -> Response:
    """A parameter of a wrong type."""
    if not isinstance(error, RequestValidationError):
        raise error
    found = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    return JSONResponse({"error": found}, 400)
