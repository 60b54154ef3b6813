"""What the framework itself refuses: on paths of the protocols in their words, else as ``{"error": ...}``."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from services.gateway.entrypoints.a2a.faults import no_such_path


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
