"""The ``Model`` port for any endpoint that speaks the Anthropic Messages API.

The SDK gives address and headers; bodies are sent as bytes over ``aiohttp``, in half the time.
"""

import asyncio
import json
import math
import re
import time
from collections.abc import Mapping, Set
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anthropic
import httpx2
import structlog
from yarl import URL

from shared.domain import span_names as names
from shared.infra.anthropic_request import (
    MOST_REPLY_CHARACTERS,
    RequestFeature,
    encode_model_request,
    parse_model_reply,
)
from shared.infra.retries import retry_with_pauses
from shared.infra.tls import load_client_tls_context
from shared.ports.models import Model, ModelAway, ModelReply, ModelRequest, ModelUnavailable, Tier
from shared.ports.tracing import NO_TRACER, Tracer

log = structlog.get_logger()
_OVERLOADED_STATUSES = frozenset({408, 409, 429, 529})
_GATEWAY_STATUSES = frozenset({502, 503})
_INVALID_STATUSES = frozenset({400, 422})
_MOST_BYTES = 4 * MOST_REPLY_CHARACTERS  # a character takes at most four
_FEATURE_NAMES = {
    RequestFeature.EFFORT: re.compile(r"\beffort\b"),
    RequestFeature.STRICT: re.compile(r"\bstrict\b"),
    RequestFeature.CACHE_CONTROL: re.compile(r"\bcache_control\b"),
    RequestFeature.THINKING: re.compile(r"thinking\b"),
    RequestFeature.OUTPUT_CONFIG: re.compile(r"\b(output_config|output_format|json_schema)\b"),
    RequestFeature.IMAGES: re.compile(r"\bimages?\b"),
}


class EndpointUnreached(ModelAway):
    """The model's endpoint could not be reached, or the connection to it broke; it may be back in a moment."""


class ModelBusy(ModelAway):
    """The model is overloaded; another model may answer now, or this one later."""


class ModelAbsent(ModelUnavailable):
    """The endpoint does not have this model; it may have another one."""


class InvalidModelRequest(ModelUnavailable):
    """The endpoint refuses the request as invalid. ``endpoint_message`` may name the field."""

    def __init__(self, message: str, endpoint_message: str) -> None:
        super().__init__(message)
        self.endpoint_message = endpoint_message


def _build_status_error(model: str, answer: aiohttp.ClientResponse, body: bytes) -> ModelUnavailable:
    """The error for a response that is not 2xx. Its message is ours; the endpoint's own is logged."""
    endpoint_message, status = _read_error_message(body), answer.status
    log.warning("model_request_failed", model=model, status=status, error=endpoint_message)
    if status == 404:
        return ModelAbsent(f"the endpoint has no model {model}")
    if status in _OVERLOADED_STATUSES:
        message = f"the model {model} is overloaded or its rate limit is reached ({status})"
        return ModelBusy(message, _read_retry_after(answer))
    if status in _GATEWAY_STATUSES:
        return EndpointUnreached(f"the model endpoint is away ({status})", _read_retry_after(answer))
    if status >= 500:
        return ModelBusy(f"the model {model} failed on the endpoint's side ({status})", _read_retry_after(answer))
    if status in (401, 403):
        return ModelUnavailable(f"the model endpoint refused the API key ({status}); its words are in the log")
    if status // 100 == 3:
        return ModelUnavailable(f"the model endpoint redirects ({status}), which is not followed")
    message = f"the model endpoint refused the request ({status}); its words are in the log"
    return InvalidModelRequest(message, endpoint_message) if status in _INVALID_STATUSES else ModelUnavailable(message)


def _build_connection_error(error: BaseException) -> EndpointUnreached:
    return EndpointUnreached(f"the model endpoint could not be reached: {str(error)[:200] or type(error).__name__}")


def _build_error_of_both_models(first: ModelAbsent | ModelBusy, second: ModelAbsent | ModelBusy) -> ModelUnavailable:
    """The error if a model and its fallback have failed; ``ModelAway`` if one of them may be back soon."""
    message = f"{first}; its fallback: {second}"
    busy = [failure for failure in (first, second) if isinstance(failure, ModelBusy)]
    if not busy:
        return ModelUnavailable(message)
    retry_delays = [failure.retry_after for failure in busy if failure.retry_after is not None]
    return ModelAway(message, min(retry_delays, default=None))


def _find_refused_feature(message: str, without: Set[RequestFeature]) -> RequestFeature | None:
    """The feature that an endpoint's refusal names; None if it names none, or only one that is left out already."""
    named_features = (feature for feature, name in _FEATURE_NAMES.items() if name.search(message))
    return next((feature for feature in named_features if feature not in without), None)


async def _read_bounded_body(answer: aiohttp.ClientResponse) -> bytes:
    """The body, cut off only once its text is certainly longer than ``parse_model_reply`` accepts."""
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > _MOST_BYTES:
            break
    return bytes(body)


def _read_error_message(body: bytes) -> str:
    """The endpoint's error message, at most 300 characters.

    Only the body is read, since headers may contain a key.
    """
    try:
        message = _extract_error_message(json.loads(body))
    except (ValueError, RecursionError):
        message = ""
    return (message or "no reason given")[:300]


def _extract_error_message(body: object) -> str:
    """The message in an error body, ``{"error": {"message": ...}}`` or in the form of other servers; else empty."""
    match body:
        case {"error": {"message": str(message)}} | {"error": str(message)} | {"message": str(message)}:
            return message
        case {"detail": str(message)}:
            return message
        case {"detail": [{"loc": list(path), "msg": str(message)}, *_]}:
            return f"{'.'.join(map(str, path))}: {message}"
        case _:
            return ""


def _read_retry_after(answer: aiohttp.ClientResponse) -> float | None:
    """The endpoint's ``Retry-After`` in seconds; None if it has none that can be read."""
    headers = answer.headers
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _find_proxy(url: URL) -> str | None:
    """The proxy for this endpoint from the environment variables; None if connections to it are direct."""
    if proxy_bypass(url.host or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


_PATH = "/v1/messages"
_MOST_CONNECTIONS, _KEEP_ALIVE_SECONDS = 1000, 5.0
_RECONNECT_SECONDS = 8.0  # an endpoint that is being restarted is back by then
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 5.0  # an overloaded model that wants a longer pause is left to the caller


class ModelLimits(NamedTuple):
    """Limits of a call: seconds for one attempt and for connecting, and ``retries`` of an overloaded model.

    ``pauses``: seconds before each further attempt at an endpoint that is away. A time-out is not retried.
    """

    seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    pauses: tuple[float, ...] = (0.5, 1.0, 1.5, 2.5)


class AnthropicModel(Model):
    """Asks an endpoint that speaks the Messages API. ``tiers`` names the model of each tier.

    Every failure is a ``ModelUnavailable`` with a sentence for people, or a ``ModelAway`` if it may pass soon. The
    model in ``fallbacks`` is asked if its own is absent or busy. A request field that the endpoint refuses by name
    (400) is left out then and later, for that model.
    """

    def __init__(
        self,
        tiers: Mapping[Tier, str],
        api_key: str,
        base_url: str | None = None,
        fallbacks: Mapping[Tier, str] | None = None,
        limits: ModelLimits | None = None,
        tracer: Tracer = NO_TRACER,
        sends_trace: bool = False,
    ) -> None:
        """``tracer`` gives the caller's current span; ``sends_trace``: its trace id is sent to the endpoint."""
        self._limits = limits or ModelLimits()
        self._tracer = tracer
        self._sends_trace = sends_trace
        self._tiers = dict(tiers)
        self._fallbacks = dict(fallbacks or {})
        self._without: dict[str, frozenset[RequestFeature]] = {}
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # an endpoint of one's own may need no key; the SDK insists on one
            base_url=base_url,
            http_client=httpx2.AsyncClient(verify=load_client_tls_context()),
        )
        self._url = URL(f"{str(self._client.base_url).rstrip('/')}{_PATH}", encoded=True)
        self._proxy = _find_proxy(self._url)
        self._session: aiohttp.ClientSession | None = None
        defaults = self._client.default_headers
        self._headers = {name: value for name, value in defaults.items() if isinstance(value, str)}  # of every request

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await retry_with_pauses(
            lambda: self._complete_with_fallback(request), (EndpointUnreached,), self._limits.pauses, _RECONNECT_SECONDS
        )

    async def close(self) -> None:
        await self._client.close()
        if self._session is not None:
            await self._session.close()

    async def _complete_with_fallback(self, request: ModelRequest) -> ModelReply:
        model = self._tiers[request.tier]
        fallback = self._fallbacks.get(request.tier)
        try:
            return await self._complete_with_model(model, request)
        except (ModelAbsent, ModelBusy) as failure:
            if fallback is None or fallback == model:
                raise
            first_failure = failure
        try:
            return await self._complete_with_model(fallback, request)
        except (ModelAbsent, ModelBusy) as second:
            raise _build_error_of_both_models(first_failure, second) from second

    async def _complete_with_model(self, model: str, request: ModelRequest) -> ModelReply:
        self._annotate_span(model, request)
        for attempt in range(self._limits.retries):
            try:
                return await self._ask_without_refused_features(model, request)
            except ModelBusy as busy:
                pause = busy.retry_after if busy.retry_after is not None else _FIRST_PAUSE_SECONDS * 2**attempt
                if pause > _LONGEST_PAUSE_SECONDS:
                    raise
            await asyncio.sleep(pause)
        return await self._ask_without_refused_features(model, request)

    async def _ask_without_refused_features(self, model: str, request: ModelRequest) -> ModelReply:
        """Sends a request without the features that this model's endpoint refuses; again if it refuses another one.

        Raises ``InvalidModelRequest`` if leaving out what was refused does not help.
        """
        without = self._without.get(model, frozenset())
        body = encode_model_request(model, request, without)
        while True:
            try:
                text = await self._post_request(model, body)
            except InvalidModelRequest as invalid:
                refused = _find_refused_feature(invalid.endpoint_message, without)
                plainer = without if refused is None else without | {refused}
                body_before, body = body, encode_model_request(model, request, plainer)
                if body == body_before:
                    raise
                without = plainer
            else:
                self._without[model] = without
                reply = parse_model_reply(model, text, is_json=request.schema is not None)
                return reply._replace(saw_images=RequestFeature.IMAGES not in without)

    async def _post_request(self, model: str, request_body: bytes) -> str:
        session = self._session = self._session or self._open_session()
        response_context = session.post(
            self._url, data=request_body, headers=self._build_headers(), proxy=self._proxy, allow_redirects=False
        )
        try:
            async with asyncio.timeout(self._limits.seconds), response_context as answer:
                body = await _read_bounded_body(answer)
        except TimeoutError as error:
            raise ModelAway(f"the model {model} did not answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _build_connection_error(error) from error
        if answer.status // 100 != 2:
            raise _build_status_error(model, answer, body)
        return body.decode(errors="replace")

    def _open_session(self) -> aiohttp.ClientSession:
        seconds, connect = self._limits.seconds, self._limits.connect_seconds
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=_MOST_CONNECTIONS, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=load_client_tls_context()
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(connect=seconds, sock_connect=connect, sock_read=seconds),
        )

    def _annotate_span(self, model: str, request: ModelRequest) -> None:
        span = self._tracer.current_span()
        if span.is_recording:
            span.rename(names.CHAT.format(model=model))
            span.annotate({names.REQUEST_MODEL: model, names.PROVIDER: "anthropic"})
            span.annotate({names.MAX_TOKENS: request.max_tokens})

    def _build_headers(self) -> dict[str, str]:
        if self._sends_trace and (traceparent := self._tracer.traceparent()):
            return {**self._headers, "traceparent": traceparent}
        return self._headers
