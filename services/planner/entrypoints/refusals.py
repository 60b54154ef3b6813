"""What the Messages API refuses, in its own error shape."""

from fastapi import Request
from fastapi.responses import JSONResponse

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
}


class RequestRefused(Exception):
    """A request that is not served; ``status`` decides the error's type."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def error_body(status: int, message: str) -> dict[str, object]:
    kind = _TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


async def answer_refused(_: Request, error: Exception) -> JSONResponse:
    refused = error if isinstance(error, RequestRefused) else RequestRefused("Internal server error", 500)
    return JSONResponse(error_body(refused.status, refused.message), refused.status)
