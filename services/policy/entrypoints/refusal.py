"""A request that gets no verdict, and why."""

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from services.policy.core.prepared import TooMuch


class RequestRejected(Exception):
    """``status`` is the HTTP status, the message a sentence for people, ``field`` the part of the body it is about."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.field = field


class RefusalBody(BaseModel):
    """The body of every answer that is no verdict."""

    error: str
    field: str | None = None


async def answer_refused(_: Request, refused: Exception) -> JSONResponse:
    """Turn a ``RequestRejected`` into its answer."""
    if not isinstance(refused, RequestRejected):
        raise refused
    refusal = RefusalBody(error=str(refused), field=refused.field)
    return JSONResponse(refusal.model_dump(), status_code=refused.status)


async def answer_too_much(request: Request, error: Exception) -> JSONResponse:
    """Turn a request over the service's bounds into its answer."""
    if not isinstance(error, TooMuch):
        raise error
    return await answer_refused(request, RequestRejected(422, str(error), error.field))
