"""Middleware that authenticates each request before anything of its body is read."""

import re
from collections.abc import Mapping
from math import ceil
from time import monotonic
from typing import NamedTuple, cast

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.edge import errors
from services.gateway.edge.replies import RETRY_LATER, TOO_MANY_REQUESTS, rpc_error_reply
from services.gateway.features.identity.model import AdmittedCaller, Caller, Identity, RequestCost
from services.gateway.features.identity.throttle import FailureThrottle, Network, Strictness, source_of
from shared.ports.store import StoreUnavailable

_MESSAGE_PATH = re.compile(r"(.*/message:(send|stream)|/api/a2a/purple-agent)")
_MEANT = {"requests": "requests a minute", "messages": "messages a minute", "daily": "messages a day (UTC)"}
JSON_RPC_PATH = "/"
MESSAGE_METHODS = frozenset(
    {
        "tasks/send",
        "tasks/sendSubscribe",
        "message/send",
        "message/stream",
        "SendMessage",
        "SendStreamingMessage",
    }
)


def cost_of(method: str, path: str) -> RequestCost:
    """The cost of a request by its first line; a JSON-RPC message is counted once its method is known."""
    is_message = method == "POST" and _MESSAGE_PATH.fullmatch(path)
    return RequestCost.REQUEST_AND_MESSAGE if is_message else RequestCost.REQUEST


def check(standing: errors.RateLimitStatus) -> errors.RateLimitStatus:
    """Returns ``standing``; raises ``TooManyRequests`` if a limit is used up."""
    for one in standing.measures:
        if one.name == standing.used_up:
            raise errors.TooManyRequests(f"{one.quota} {_MEANT[one.name]} are used up", standing.wait, standing)
    return standing


def limit_headers(standing: errors.RateLimitStatus) -> Mapping[str, str]:
    """Rate-limit headers as in the IETF's draft "RateLimit header fields for HTTP"."""
    if not standing.measures:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{one.name}";q={one.quota};w={one.window}' for one in standing.measures),
        "RateLimit": ", ".join(map(_left_words, standing.measures)),
    }


def _left_words(one: errors.QuotaUsage) -> str:
    return f'"{one.name}";r={one.left};t={ceil(one.reset_seconds)}'


log = structlog.get_logger()
_ENTRY = "purple.entry"
_OPEN = ("/health", "/ready", "/console")  # what probes ask, and what leads to the console
WORLDS = "/worlds/"
# Cards are public; the console asks for a sign-in of its own; a world is named by its assessment, which nobody guesses.
_OPEN_FOLDERS = ("/.well-known/", "/console/", WORLDS)
_CHALLENGE = 'Bearer realm="purple-agent"'  # RFC 6750; what was presented in vain is told by an error
_CREDENTIALS = ("authorization", "x-api-key")


class ThrottleSettings(NamedTuple):
    """The proxies whose ``X-Forwarded-For`` is believed, and the limit of failures of an address."""

    trusted: tuple[Network, ...] = ()
    strictness: Strictness = Strictness()


class CallerMiddleware:
    """Middleware that identifies the caller once for each request, notes it in the scope, and answers itself a request
    that is refused.
    """

    def __init__(self, app: ASGIApp, identity: Identity, watch: ThrottleSettings | None = None) -> None:
        self._app, self._identity, self._watch = app, identity, watch or ThrottleSettings()
        self._throttle = FailureThrottle(monotonic, self._watch.strictness)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(str(scope["path"])):
            return await self._app(scope, receive, send)
        entry = scope.get(_ENTRY)
        if entry is None:
            headers = Headers(scope=scope)
            entry = await self.admit(scope, headers, ",".join(headers.getlist("x-forwarded-for")))
        if isinstance(entry, Response):
            return await entry(scope, receive, send)
        return await self._app(scope, receive, _with_standing(send, entry))

    async def admit(self, scope: Scope, headers: Mapping[str, str], forwarded: str) -> AdmittedCaller | Response:
        """Identify the caller and note it in the scope; returns the reply if the request is refused."""
        entry: AdmittedCaller | Response
        try:
            entry = await self._identify(scope, headers, forwarded)
        except (
            errors.Unauthenticated,
            errors.NotEntitled,
            errors.TooManyRequests,
            StoreUnavailable,
            errors.IssuerUnavailable,
        ) as fault:
            entry = _reply_to_unadmitted(scope, fault)
        scope[_ENTRY] = entry
        return entry

    async def _identify(self, scope: Scope, headers: Mapping[str, str], forwarded: str) -> AdmittedCaller:
        credential = hash(tuple([headers.get(name) for name in _CREDENTIALS]))
        source = self._find_source(scope, forwarded)
        if wait := self._throttle.wait(source, credential):
            raise errors.TooManyRequests("too many were turned away who came from this address", wait)
        try:
            admitted = await self._identity.admit(headers, cost_of(str(scope["method"]), str(scope["path"])))
        except errors.Unauthenticated:
            if any(name in headers for name in _CREDENTIALS) and self._throttle.count_failure(source, credential):
                log.warning("guesses_braked", source=source)
            raise
        self._throttle.count_pass(credential)
        return admitted

    def _find_source(self, scope: Scope, forwarded: str) -> str:
        peer = scope.get("client")
        return source_of(str(peer[0]) if peer else "", forwarded, self._watch.trusted)


def let_in(request: Request) -> Caller | None:
    """The caller of this request, as the middleware noted it; None where nobody checks."""
    entry = cast("AdmittedCaller | None", request.scope.get(_ENTRY))
    return entry.caller if entry else None


async def count_message(request: Request) -> None:
    """Count a message known only by its body's method; raises ``TooManyRequests`` and ``StoreUnavailable``."""
    entry = cast("AdmittedCaller | None", request.scope.get(_ENTRY))
    if entry:
        await entry.count_message()


def _reply_to_unadmitted(scope: Scope, fault: Exception) -> Response:
    match fault:
        case errors.TooManyRequests():
            return _answer_too_many(scope, fault)
        case errors.NotEntitled():
            return JSONResponse({"error": str(fault)}, 403, _challenge("insufficient_scope"))
        case errors.Unauthenticated():
            in_vain = any(name in Headers(scope=scope) for name in _CREDENTIALS)
            return JSONResponse({"error": str(fault)}, 401, _challenge("invalid_token" if in_vain else ""))
        case _:
            return JSONResponse({"error": str(fault)}, 503, RETRY_LATER)


def _challenge(error: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'{_CHALLENGE}, error="{error}"' if error else _CHALLENGE}


def _answer_too_many(scope: Scope, fault: errors.TooManyRequests) -> Response:
    """The 429 reply in the form of the path. The body was not read, so a JSON-RPC error has no call id."""
    if scope["path"] == JSON_RPC_PATH:
        reply: Response = rpc_error_reply(None, TOO_MANY_REQUESTS, str(fault), 429)
    else:
        reply = JSONResponse({"error": str(fault)}, 429)
    reply.headers["Retry-After"] = str(fault.wait)
    reply.headers.update(limit_headers(fault.standing))
    return reply


def _with_standing(send: Send, entry: AdmittedCaller) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and entry.standing.measures:
            MutableHeaders(scope=message).update(limit_headers(entry.standing))
        await send(message)

    return sending


def _is_open(path: str) -> bool:
    return path in _OPEN or path.startswith(_OPEN_FOLDERS)
