"""The ``Model`` port on the official ``anthropic`` SDK: any endpoint that speaks the Messages API."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import anthropic
import httpx2
import structlog

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
from shared.ports.models import Model, ModelAway, ModelReply, ModelRequest, ModelUnavailable, Tier
from shared.ports.tracing import NO_TRACER, Tracer

log = structlog.get_logger()
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
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # an endpoint of one's own may need no key; the SDK insists on one
            base_url=base_url,
            timeout=httpx2.Timeout(self._limits.seconds, connect=self._limits.connect_seconds),
            http_client=anthropic.DefaultAioHttpClient(),  # by a proxy where the environment names one
            max_retries=0,  # the SDK would sleep for as long as the endpoint says
        )
        self._url = f"{str(self._client.base_url).rstrip('/')}{_PATH}"  # whole: the SDK would join it for each call

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
        try:
            async with asyncio.timeout(self._limits.seconds):
                response = await self._client.post(
                    self._url, cast_to=httpx2.Response, content=body, options={"headers": self._headers()}
                )
            return response.content.decode(errors="replace")
        except anthropic.APIStatusError as error:
            raise status_failure(model, error) from error
        except (anthropic.APITimeoutError, httpx2.TimeoutException, TimeoutError) as error:
            raise ModelAway(f"the model {model} did not answer in time") from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise connection_failure(error) from error
        except anthropic.AnthropicError as error:
            log.warning("model_not_asked", model=model, error=str(error)[:300])
            raise ModelUnavailable(f"the model {model} could not be asked ({type(error).__name__})") from error

    def _note(self, model: str, request: ModelRequest) -> None:
        span = self._tracer.current_span()
        if span.is_recording:
            span.rename(names.CHAT.format(model=model))
            span.note({names.REQUEST_MODEL: model, names.MAX_TOKENS: request.max_tokens, names.PROVIDER: "anthropic"})

    def _headers(self) -> dict[str, str]:
        here = self._tracer.traceparent() if self._tells_trace else None
        return {"traceparent": here} if here else {}
