"""What comes with a form: small, of the kind that browsers send, and from a page of ours."""

from collections.abc import AsyncGenerator

from starlette.datastructures import FormData
from starlette.formparsers import FormParser
from starlette.requests import Request

from services.gateway.core.console.forms import is_form_of

_MOST_BYTES = 64 * 1024


class BadForm(Exception):
    """A form that is not heeded; the message says what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_form(request: Request, *secrets: str) -> dict[str, str]:
    """The fields; raises ``BadForm`` where the form is not one that a page gave to the holder of such a secret."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise BadForm("The page did not send a form. Go back and try again.", 415)
    fields = {name: value for name, value in (await _parsed(request)).items() if isinstance(value, str)}
    if not any(is_form_of(secret, fields.get("form", "")) for secret in secrets):
        raise BadForm("This page was open for too long, or in another sign-in. Nothing was done. Try again.", 403)
    return fields


async def _parsed(request: Request) -> FormData:
    async def bounded() -> AsyncGenerator[bytes, None]:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > _MOST_BYTES:
                raise BadForm("The form is too large.", 413)
            yield chunk

    return await FormParser(request.headers, bounded()).parse()
