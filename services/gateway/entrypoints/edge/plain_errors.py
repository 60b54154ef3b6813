"""What the framework itself refuses, in the words of the other refusals: ``{"error": ...}``."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response


def speak_plainly(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)


async def _http(request: Request, error: Exception) -> Response:
    """A path or method that there is not."""
    if not isinstance(error, HTTPException):
        raise error
    message = f"{error.detail}: {request.method} {request.url.path}"
    return JSONResponse({"error": message}, error.status_code, error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    """A parameter of a wrong type."""
    if not isinstance(error, RequestValidationError):
        raise error
    found = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    return JSONResponse({"error": found}, 400)
