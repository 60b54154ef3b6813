"""Cuts the connection in the middle of an answer, as a server does that dies at the wrong moment."""

from contextvars import ContextVar
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class _ReplyState:
    lost: bool = False


_REPLY: ContextVar[_ReplyState] = ContextVar("company_reply")
_CUT_HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"1000000")]


def lose_reply() -> None:
    """Have the answer of the request at hand cut off. Outside a request this does nothing."""
    _REPLY.get(_ReplyState()).lost = True


class LostReplyMiddleware:
    """ASGI middleware: an answer marked as lost promises a body that never comes, so the server cuts the line."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = _ReplyState()
        token = _REPLY.set(reply)

        async def send_or_cut(message: Message) -> None:
            if not reply.lost:
                await send(message)
            elif message["type"] == "http.response.start":
                await send({"type": "http.response.start", "status": 200, "headers": _CUT_HEADERS})

        try:
            await self._app(scope, receive, send_or_cut)
        finally:
            _REPLY.reset(token)
