"""Middleware that authenticates each request and counts it against rate limits, before its body is read."""

import re
from collections.abc import Mapping
from math import ceil
from time import monotonic
from typing import cast

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.edge import errors
from services.gateway.edge.replies import (
    RETRY_LATER_HEADERS,
    TOO_MANY_REQUESTS,
    build_error_reply,
    build_rpc_error_reply,
)
from services.gateway.features.identity.model import AdmittedCaller, Caller, Identity, LimitUse
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.features.identity.throttle import FailureThrottle, determine_client_address, parse_networks
from shared.ports.store import StoreUnavailable

_MESSAGE_PATH_PATTERN = re.compile(r"(.*/message:(send|stream)|/api/a2a/purple-agent)")
_LIMIT_NAMES = {"requests": "requests a minute", "messages": "messages a minute", "daily": "messages a day (UTC)"}
JSON_RPC_PATH = "/"
MESSAGE_METHODS = frozenset(
    {"tasks/send", "tasks/sendSubscribe", "message/send", "message/stream", "SendMessage", "SendStreamingMessage"}
)


def require_unused_limits(rate_limits: errors.RateLimitStatus) -> errors.RateLimitStatus:
    """Raises ``TooManyRequests`` if a limit is used up; otherwise returns ``rate_limits``."""
    for measure in rate_limits.usages:
        if measure.name == rate_limits.used_up:
            cause = f"{measure.quota} {_LIMIT_NAMES[measure.name]} are used up"
            raise errors.TooManyRequests(cause, rate_limits.wait, rate_limits)
    return rate_limits


def build_limit_headers(rate_limits: errors.RateLimitStatus) -> Mapping[str, str]:
    """The rate-limit headers of the IETF draft "RateLimit header fields for HTTP"."""
    if not rate_limits.usages:
        return {}
    policies = (f'"{limit.name}";q={limit.quota};w={limit.window}' for limit in rate_limits.usages)
    usages = (f'"{limit.name}";r={limit.remaining};t={ceil(limit.reset_seconds)}' for limit in rate_limits.usages)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(usages)}


log = structlog.get_logger()
_ADMISSION_SCOPE_KEY = "purple.entry"
_UNAUTHENTICATED_PATHS = ("/health", "/ready", "/console")  # what probes ask, and what leads to the console
WORLDS_PATH = "/worlds/"
# Cards are public; the console asks for a sign-in of its own; a world has a name that only ASSESSMENT_KEY gives.
_UNAUTHENTICATED_FOLDERS = ("/.well-known/", "/console/", WORLDS_PATH)
_BEARER_CHALLENGE = 'Bearer realm="purple-agent"'  # RFC 6750; what was presented in vain is told by an error
_CREDENTIAL_HEADERS = ("authorization", "x-api-key")


class CallerMiddleware:
    """Middleware that identifies the caller of each request and stores it in the scope.

    It answers refused requests itself.
    """

    def __init__(self, app: ASGIApp, identity: Identity, settings: IdentitySettings) -> None:
        self._app, self._identity = app, identity
        self._trusted_proxies = parse_networks(settings.trusted_proxies)
        self._throttle = FailureThrottle(monotonic, settings.failures_a_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or path in _UNAUTHENTICATED_PATHS or path.startswith(_UNAUTHENTICATED_FOLDERS):
            return await self._app(scope, receive, send)
        admission = scope.get(_ADMISSION_SCOPE_KEY)
        if admission is None:
            headers = Headers(scope=scope)
            admission = await self.admit(scope, headers, ",".join(headers.getlist("x-forwarded-for")))
        if isinstance(admission, Response):
            return await admission(scope, receive, send)
        return await self._app(scope, receive, _add_limit_headers(send, admission))

    async def admit(self, scope: Scope, headers: Mapping[str, str], forwarded: str) -> AdmittedCaller | Response:
        """Identify the caller and store it in the scope; returns the error response if the request is refused."""
        admission: AdmittedCaller | Response
        try:
            admission = await self._identify(scope, headers, forwarded)
        except (
            errors.Unauthenticated,
            errors.NotEntitled,
            errors.TooManyRequests,
            StoreUnavailable,
            errors.IssuerUnavailable,
        ) as fault:
            admission = _reply_to_unadmitted(scope, fault)
        scope[_ADMISSION_SCOPE_KEY] = admission
        return admission

    async def _identify(self, scope: Scope, headers: Mapping[str, str], forwarded: str) -> AdmittedCaller:
        credential = hash(tuple([headers.get(name) for name in _CREDENTIAL_HEADERS]))
        peer = scope.get("client")
        source = determine_client_address(str(peer[0]) if peer else "", forwarded, self._trusted_proxies)
        has_credential = any(name in headers for name in _CREDENTIAL_HEADERS)
        if has_credential and (wait := self._throttle.seconds_to_wait(source, credential)):
            raise errors.TooManyRequests("too many were turned away who came from this address", wait)
        # a message over JSON-RPC is counted later, when its body is parsed
        is_message = scope["method"] == "POST" and _MESSAGE_PATH_PATTERN.fullmatch(scope["path"])
        try:
            use = LimitUse.REQUEST_AND_MESSAGE if is_message else LimitUse.REQUEST
            admitted = await self._identity.admit(headers, use)
        except errors.Unauthenticated:
            if has_credential and self._throttle.count_failure(source, credential):
                log.warning("sign_in_throttled", source=source)
            raise
        self._throttle.count_success(credential)
        return admitted


def get_identified_caller(request: Request) -> Caller | None:
    """The caller that the middleware has identified; None if there is no authentication."""
    admission = cast("AdmittedCaller | None", request.scope.get(_ADMISSION_SCOPE_KEY))
    return admission.caller if admission else None


async def count_message(request: Request) -> None:
    """Count a JSON-RPC request as a message; raises ``TooManyRequests`` and ``StoreUnavailable``."""
    admission = cast("AdmittedCaller | None", request.scope.get(_ADMISSION_SCOPE_KEY))
    if admission:
        await admission.count_message()


def _reply_to_unadmitted(scope: Scope, fault: Exception) -> Response:
    match fault:
        case errors.TooManyRequests():
            return _answer_too_many(scope, fault)
        case errors.NotEntitled():
            return build_error_reply(403, str(fault), _build_challenge_header("insufficient_scope"))
        case errors.Unauthenticated():
            in_vain = any(name in Headers(scope=scope) for name in _CREDENTIAL_HEADERS)
            return build_error_reply(401, str(fault), _build_challenge_header("invalid_token" if in_vain else ""))
        case _:
            return build_error_reply(503, str(fault), RETRY_LATER_HEADERS)


def _build_challenge_header(error: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'{_BEARER_CHALLENGE}, error="{error}"' if error else _BEARER_CHALLENGE}


def _answer_too_many(scope: Scope, fault: errors.TooManyRequests) -> Response:
    """The 429 response: a JSON-RPC error on the JSON-RPC path (without call id, since the body was not read)."""
    if scope["path"] == JSON_RPC_PATH:
        reply: Response = build_rpc_error_reply(None, TOO_MANY_REQUESTS, str(fault), 429)
    else:
        reply = build_error_reply(429, str(fault))
    reply.headers["Retry-After"] = str(fault.wait)
    reply.headers.update(build_limit_headers(fault.rate_limits))
    return reply


def _add_limit_headers(send: Send, admission: AdmittedCaller) -> Send:
    async def send_with_limit_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(build_limit_headers(admission.rate_limits))
        await send(message)

    return send_with_limit_headers
