"""The ``Model`` port on the official ``anthropic`` SDK: any endpoint that speaks the Messages API.

The SDK says where the endpoint is, what it is shown and over which HTTP client; the request, one body that stands as
bytes already, goes over that client as it is. The SDK's own way from a body to a reply costs twice the call.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
import anthropic
import httpx2

from shared.domain import span_names as names
from shared.infra.anthropic_failures import (
    Absent,
    Invalid,
    ModelBusy,
    Unreached,
    both_failed,
    connection_failure,
    feature_named,
    status_failure,
)
from shared.infra.anthropic_reply import read_reply
from shared.infra.anthropic_request import Feature, encode_request
from shared.infra.patiently import retry_patiently
from shared.ports.models import Model, ModelAway, ModelReply, ModelRequest, Tier
from shared.ports.tracing import NO_TRACER, Tracer

_PATH = "/v1/messages"
_PATIENCE_SECONDS = 8.0  # an endpoint that is being restarted is back by then
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0  # an overloaded model that wants a longer pause is left to the caller


class ModelLimits(NamedTuple):
    """Seconds for one attempt and for making the connection; how often an overloaded model is asked again.

    ``pauses``: seconds after each of which an endpoint that went away is asked anew. A time-out is not repeated.
    """

    seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    pauses: tuple[float, ...] = (0.5, 1.0, 1.5, 2.5)


class AnthropicModel(Model):
    """Each tier is a model's name; ``fallback`` serves where a tier's own model is not to be had.

    Every failure is a ``ModelUnavailable`` with a sentence for people; ``ModelAway`` is one that may pass. The caller
    decides for which tiers a ``fallback`` may stand in, by giving it or not. A field of a request that an endpoint
    refuses by name (400) is left out, then and later, for that model.
    """

    def __init__(
        self,
        tiers: Mapping[Tier, str],
        api_key: str,
        base_url: str | None = None,
        fallbacks: Mapping[Tier, str] | None = None,
        limits: ModelLimits | None = None,
        tracer: Tracer = NO_TRACER,
        tells_trace: bool = False,
    ) -> None:
        """``tracer``: whose current span is the caller's for this call. ``tells_trace``: the endpoint is told of it."""
        self._limits = limits or ModelLimits()
        self._tracer = tracer
        self._tells_trace = tells_trace
        self._tiers = dict(tiers)
        self._fallbacks = dict(fallbacks or {})
        self._without: dict[str, frozenset[Feature]] = {}
        self._http = anthropic.DefaultAioHttpClient()  # by a proxy where the environment names one
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # an endpoint of one's own may need no key; the SDK insists on one
            base_url=base_url,
            timeout=httpx2.Timeout(self._limits.seconds, connect=self._limits.connect_seconds),
            http_client=self._http,
            max_retries=0,  # the SDK would sleep for as long as the endpoint says
        )
        self._url = httpx2.URL(f"{str(self._client.base_url).rstrip('/')}{_PATH}")
        self._shown = httpx2.Headers()  # with every request, once there was one
        times = httpx2.Timeout(self._limits.seconds, connect=self._limits.connect_seconds)
        self._extensions = {"timeout": times.as_dict()}

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await retry_patiently(
            lambda: self._complete(request), (Unreached,), self._limits.pauses, _PATIENCE_SECONDS
        )

    async def close(self) -> None:
        await self._client.close()

    async def _complete(self, request: ModelRequest) -> ModelReply:
        model = self._tiers[request.tier]
        other = self._fallbacks.get(request.tier)
        try:
            return await self._ask(model, request)
        except (Absent, ModelBusy) as failure:
            if other is None or other == model:
                raise
            first = failure
        try:
            return await self._ask(other, request)
        except (Absent, ModelBusy) as second:
            raise both_failed(first, second) from second

    async def _ask(self, model: str, request: ModelRequest) -> ModelReply:
        self._note(model, request)
        for attempt in range(self._limits.retries):
            try:
                return await self._ask_once(model, request)
            except ModelBusy as busy:
                pause = busy.retry_after if busy.retry_after is not None else _FIRST_PAUSE * 2**attempt
                if pause > _LONGEST_PAUSE:
                    raise
            await asyncio.sleep(pause)
        return await self._ask_once(model, request)

    async def _ask_once(self, model: str, request: ModelRequest) -> ModelReply:
        """The reply, to a request without what the endpoint refuses to take."""
        without = self._without.get(model, frozenset())
        body = encode_request(model, request, without)
        while True:
            try:
                text = await self._send(model, body)
            except Invalid as invalid:
                refused = feature_named(invalid.said, without)
                plainer = without if refused is None else without | {refused}
                before, body = body, encode_request(model, request, plainer)
                if body == before:
                    raise
                without = plainer
            else:
                self._without[model] = without
                reply = read_reply(model, text, is_json=request.schema is not None)
                return reply._replace(saw_images=Feature.IMAGES not in without)

    async def _send(self, model: str, body: bytes) -> str:
        request = httpx2.Request("POST", self._url, headers=self._headers(), content=body)
        request.extensions.update(self._extensions)
        try:
            async with asyncio.timeout(self._limits.seconds):
                response = await self._http.send(request)
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise ModelAway(f"the model {model} did not answer in time") from error
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise connection_failure(error) from error
        if not response.is_success:
            raise status_failure(model, response)
        return response.content.decode(errors="replace")

    def _note(self, model: str, request: ModelRequest) -> None:
        span = self._tracer.current_span()
        if span.is_recording:
            span.rename(names.CHAT.format(model=model))
            span.note({names.REQUEST_MODEL: model, names.MAX_TOKENS: request.max_tokens, names.PROVIDER: "anthropic"})

    def _headers(self) -> httpx2.Headers:
        if not self._shown:
            named = self._client.default_headers
            self._shown = httpx2.Headers({name: value for name, value in named.items() if isinstance(value, str)})
        if self._tells_trace and (here := self._tracer.traceparent()):
            return httpx2.Headers([*self._shown.raw, (b"traceparent", here.encode())])
        return self._shown
