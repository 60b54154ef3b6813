"""Whether the caller of the request at hand is still there."""

from contextvars import ContextVar

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_GONE: ContextVar[anyio.Event | None] = ContextVar("company_caller_gone", default=None)


async def wait_if_connected(seconds: float) -> bool:
    """Wait so long; False as soon as the caller has hung up. Outside a request nobody does."""
    gone = _GONE.get()
    if gone is None:
        await anyio.sleep(seconds)
        return True
    with anyio.move_on_after(seconds):
        await gone.wait()
    return not gone.is_set()


def replay_body(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, and after it what else comes."""
    left = [body]

    async def receive_again() -> Message:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return receive_again


class HangUpMiddleware:
    """ASGI middleware for calls: notices while one is at work that its caller has gone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        try:
            body = await Request(scope, receive).body()
        except ClientDisconnect:
            return None
        return await self._run_until_gone(scope, body, receive, send)

    async def _run_until_gone(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        gone = anyio.Event()

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        async def wait_until_gone() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        token = _GONE.set(gone)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(watch)
                await self._app(scope, replay_body(body, wait_until_gone), send)
                group.cancel_scope.cancel()
        finally:
            _GONE.reset(token)
