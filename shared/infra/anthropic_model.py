"""The ``Model`` port on the official ``anthropic`` SDK: any endpoint that speaks the Messages API."""

from collections.abc import Mapping
from typing import NamedTuple, cast

import anthropic
import httpx2
from anthropic.types import MessageParam, OutputConfigParam, TextBlockParam, ToolParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import JsonValue

from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, loads_object, wire
from shared.infra.model_effort import takes_effort
from shared.infra.patiently import patiently
from shared.ports.models import (
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    StableText,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.ports.tracing import NO_TRACER, Tracer

_PATIENCE_SECONDS = 8.0  # an endpoint that is being restarted is back by then
_MAX_STRICT = 20  # the API's limit of strict tools in one request
_STRICT_WORDS = frozenset({"type", "properties", "required", "additionalProperties", "description", "enum", "items"})
_ENDS = frozenset({"end_turn", "tool_use", "max_tokens", "stop_sequence"})


class Limits(NamedTuple):
    """Seconds for one attempt and for making the connection; how often the SDK repeats a failed attempt.

    ``pauses``: seconds after each of which an endpoint that went away is asked anew, with the SDK's repetitions.
    """

    seconds: float = 60.0
    connect_seconds: float = 5.0
    retries: int = 2
    pauses: tuple[float, ...] = (0.5, 1.0, 1.5)


class AnthropicModel(Model):
    """Each tier is a model's name; ``fallback`` serves where a tier's own model is not to be had.

    Every failure is a ``ModelUnavailable`` with a sentence for people. The caller decides for which tiers a
    ``fallback`` may stand in, by giving it or not.
    """

    def __init__(
        self,
        tiers: Mapping[Tier, str],
        api_key: str,
        base_url: str | None = None,
        fallbacks: Mapping[Tier, str] | None = None,
        limits: Limits | None = None,
        tracer: Tracer = NO_TRACER,
        tells_trace: bool = False,
    ) -> None:
        """``tracer``: whose current span is the caller's for this call. ``tells_trace``: the endpoint is told of it."""
        limits = limits or Limits()
        self._tracer = tracer
        self._tells_trace = tells_trace
        self._pauses = limits.pauses
        self._tiers = dict(tiers)
        self._fallbacks = dict(fallbacks or {})
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # an endpoint of one's own may need no key; the SDK insists on one
            base_url=base_url,
            timeout=httpx2.Timeout(limits.seconds, connect=limits.connect_seconds),
            max_retries=limits.retries,
        )

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await patiently(lambda: self._complete(request), (_Away,), self._pauses, _PATIENCE_SECONDS)

    async def _complete(self, request: ModelRequest) -> ModelReply:
        model = self._tiers[request.tier]
        other = self._fallbacks.get(request.tier)
        try:
            return await self._ask(model, request)
        except _Absent as absent:
            if other is None or other == model:
                raise ModelUnavailable(str(absent)) from absent
            first = str(absent)
        try:
            return await self._ask(other, request)
        except _Absent as absent:
            raise ModelUnavailable(f"{first}; its fallback: {absent}") from absent

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, model: str, request: ModelRequest) -> ModelReply:
        self._note(model, request)
        try:
            params, headers = _params(model, request), self._headers()
            raw = await self._client.messages.with_raw_response.create(**params, extra_headers=headers)
            text = await raw.text()
        except anthropic.APIStatusError as error:
            raise _status(model, error) from error
        except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
            raise ModelUnavailable(f"the model {model} did not answer in time") from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise _Away(f"the model endpoint could not be reached: {_cause(error)}") from error
        except anthropic.AnthropicError as error:
            raise ModelUnavailable(f"the model {model} could not be asked: {error}") from error
        return _reply(model, text)

    def _note(self, model: str, request: ModelRequest) -> None:
        span = self._tracer.here()
        if span.is_recording:
            span.rename(names.CHAT.format(model=model))
            span.note({names.REQUEST_MODEL: model, names.MAX_TOKENS: request.max_tokens, names.PROVIDER: "anthropic"})

    def _headers(self) -> Mapping[str, str]:
        here = self._tracer.traceparent() if self._tells_trace else None
        return {"traceparent": here} if here else {}


class _Away(ModelUnavailable):
    """No reply came because nobody was there, or the line was cut: the endpoint may be back in a moment."""


class _Absent(ModelUnavailable):
    """The model itself is not to be had just now: another one may be."""


def _status(model: str, error: anthropic.APIStatusError) -> ModelUnavailable:
    said, status = _said(error), error.status_code
    if status == 404:
        return _Absent(f"the endpoint has no model {model} ({said})")
    if status in (429, 529):
        return _Absent(f"the model {model} is overloaded or its rate limit is reached ({status}: {said})")
    if status in (502, 503):
        return _Away(f"the model endpoint is away ({status}: {said})")
    if status >= 500:
        return _Absent(f"the model {model} failed on the endpoint's side ({status}: {said})")
    if status in (401, 403):
        return ModelUnavailable(f"the model endpoint refused the API key ({status}: {said})")
    return ModelUnavailable(f"the model endpoint refused the request ({status}: {said})")


def _said(error: anthropic.APIStatusError) -> str:
    """The endpoint's own words, bounded; never headers, which may hold a key."""
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return str(message or "no reason given")[:300]


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause)[:200] or type(cause).__name__


# --- the request --------------------------------------------------------------------------------------------------


def _params(model: str, request: ModelRequest) -> MessageCreateParamsNonStreaming:
    params: MessageCreateParamsNonStreaming = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [_message(message) for message in request.messages],
    }
    if request.system:
        params["system"] = _system(request.system)
    if request.tools:
        params["tools"] = _tools(request.tools)
        params["tool_choice"] = {"type": "auto"}
    if output := _output(model, request):
        params["output_config"] = output
    return params


def _output(model: str, request: ModelRequest) -> OutputConfigParam:
    output: OutputConfigParam = {}
    if request.schema is not None:
        schema = cast("dict[str, object]", dict(request.schema))
        output["format"] = {"type": "json_schema", "schema": schema}
    if request.effort is not None and takes_effort(model):
        output["effort"] = request.effort
    return output


def _system(blocks: tuple[str, ...]) -> list[TextBlockParam]:
    """The system text with a cache breakpoint at its end: it and the tools before it are the same for every task."""
    params: list[TextBlockParam] = [{"type": "text", "text": text} for text in blocks]
    params[-1]["cache_control"] = {"type": "ephemeral"}
    return params


def _tools(tools: tuple[ToolDefinition, ...]) -> list[ToolParam]:
    params: list[ToolParam] = []
    strict = 0
    for tool in tools:
        param: ToolParam = {
            "name": tool.name,
            "description": tool.description,
            "input_schema": cast("dict[str, object]", dict(tool.input_schema)),
        }
        if strict < _MAX_STRICT and _can_be_strict(tool.input_schema):
            param["strict"] = True
            strict += 1
        params.append(param)
    return params


def _can_be_strict(schema: Mapping[str, JsonValue]) -> bool:
    """Whether a schema is closed, requires all it names, and uses only words that strict tools allow."""
    if not set(schema) <= _STRICT_WORDS:
        return False
    inner: list[JsonValue] = []
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        named = list(properties) if isinstance(properties, dict) else []
        if schema.get("additionalProperties") is not False or required != named:
            return False
        inner += properties.values() if isinstance(properties, dict) else ()
    if "items" in schema:
        inner.append(schema["items"])
    return all(isinstance(part, dict) and _can_be_strict(part) for part in inner)


def _message(message: Message) -> MessageParam:
    blocks = [_block(block) for block in message.blocks]
    return cast(MessageParam, {"role": message.role, "content": blocks})


def _block(block: TextBlock | ToolUse | ToolResult) -> dict[str, object]:
    match block:
        case StableText(text):
            return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ToolUse(use_id, name, given):
            return {"type": "tool_use", "id": use_id, "name": name, "input": wire(given)}
        case ToolResult(use_id, content, is_error):
            return {"type": "tool_result", "tool_use_id": use_id, "content": content, "is_error": is_error}


# --- the reply ----------------------------------------------------------------------------------------------------


def _reply(model: str, text: str) -> ModelReply:
    """The reply from the raw text, so that every number in it stays exact."""
    try:
        body = loads_object(text)
        reply = _read(body)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelUnavailable(f"the model {model} answered something that is no message: {text[:120]!r}") from error
    if reply.stop_reason == "refusal":
        raise ModelUnavailable(f"the model {model} refused to answer")
    if reply.stop_reason not in _ENDS:
        raise ModelUnavailable(f"the answer of the model {model} broke off ({reply.stop_reason or 'no stop reason'})")
    return reply


def _read(body: JsonObject) -> ModelReply:
    content = body["content"]
    if body.get("type") != "message" or not isinstance(content, list):
        raise ValueError("not a message")
    blocks = [_read_block(block) for block in content if isinstance(block, dict)]
    usage = body.get("usage")
    return ModelReply(
        blocks=tuple(block for block in blocks if block is not None),
        stop_reason=str(body.get("stop_reason") or ""),
        usage=_usage(usage if isinstance(usage, dict) else {}),
        model=str(body["model"]),
    )


def _read_block(block: JsonObject) -> TextBlock | ToolUse | None:
    """Text and calls; kinds of block that nothing here asked for are passed over."""
    if block.get("type") == "text":
        return TextBlock(str(block["text"]))
    if block.get("type") != "tool_use":
        return None
    given = block["input"]
    if not isinstance(given, dict):
        raise ValueError("a tool_use without an input object")
    return ToolUse(str(block["id"]), str(block["name"]), given)


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input=_count(usage.get("input_tokens")),
        output=_count(usage.get("output_tokens")),
        cache_read=_count(usage.get("cache_read_input_tokens")),
        cache_write=_count(usage.get("cache_creation_input_tokens")),
    )


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
