"""The ``Model`` port for models of other providers, by the optional library ``pydantic-ai``.

What this product itself works with needs none of it: the library is looked for when a model of that kind is named.
"""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

import structlog
from typing_extensions import override

from shared.infra.starting import CannotStart
from shared.ports.models import (
    Message,
    Model,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    StopReason,
    TextBlock,
    Usage,
)

log = structlog.get_logger()
_PROVIDERS = (
    ("gpt-", "openai:"),
    ("o1", "openai:"),
    ("o3", "openai:"),
    ("chatgpt-", "openai:"),
    ("gemini-", "google:"),
)
_LOCAL = "ollama/"
_SECONDS = 60.0
_ENDS: dict[str | None, StopReason] = {"stop": "end_turn", "length": "max_tokens", None: "end_turn"}


def provider_name(model: str) -> str | None:
    """The library's name of a model, ``None`` for one of ours: ``gpt-5`` is ``openai:gpt-5``."""
    if model.startswith(_LOCAL):
        return f"ollama:{model.removeprefix(_LOCAL)}"
    return next((provider + model for prefix, provider in _PROVIDERS if model.startswith(prefix)), None)


class ProviderModel(Model):
    """Text and structured answers, no tools. Keys and addresses are the providers' own variables.

    ``seed`` and ``temperature`` go to providers that know them. Raises ``CannotStart`` if the library is missing.
    """

    def __init__(self, name: str, seed: int = 0, temperature: float | None = None) -> None:
        self._name = provider_name(name) or name
        self._seed = seed
        self._temperature = temperature
        try:
            self._library = import_module("pydantic_ai.direct")
        except ImportError as error:
            sentence = f"The model {name} needs pydantic-ai: install purple-agent[assessor-providers]."
            raise CannotStart(sentence) from error

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        errors = import_module("pydantic_ai.exceptions")
        models = import_module("pydantic_ai.models")
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._library.model_request(
                    self._name,
                    _library_messages(request.system, request.messages),
                    model_settings=self._settings(request.max_tokens),
                    model_request_parameters=_request_parameters(models, request),
                )
        except TimeoutError as error:
            raise ModelUnavailable(f"the model {self._name} did not answer in time") from error
        except (errors.AgentRunError, errors.UserError) as error:
            log.warning("model_request_failed", model=self._name, error=str(error)[:300])
            raise ModelUnavailable(f"the model {self._name} could not be asked ({type(error).__name__})") from error
        if answer.finish_reason not in _ENDS:
            raise ModelRefused(f"the model {self._name} did not answer ({answer.finish_reason})")
        answer_usage, cached = answer.usage, answer.usage.cache_read_tokens
        usage = Usage(answer_usage.input_tokens - cached, answer_usage.output_tokens, cached)
        text = "".join(part.content for part in answer.parts if part.part_kind == "text")
        return ModelReply((TextBlock(text),), _ENDS[answer.finish_reason], usage, self._name)

    def _settings(self, max_tokens: int) -> dict[str, int | float]:
        settings: dict[str, int | float] = {"max_tokens": max_tokens, "seed": self._seed}
        return settings if self._temperature is None else {**settings, "temperature": self._temperature}


def _library_messages(system: Sequence[str], messages: Sequence[Message]) -> list[object]:
    kinds = import_module("pydantic_ai.messages")
    library_messages: list[object] = []
    for message in messages:
        text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
        if message.role == "user":
            instructions = None if library_messages else "\n\n".join(system)
            library_messages.append(kinds.ModelRequest(parts=[kinds.UserPromptPart(text)], instructions=instructions))
        else:
            library_messages.append(kinds.ModelResponse(parts=[kinds.TextPart(text)]))
    return library_messages


def _request_parameters(models: ModuleType, request: ModelRequest) -> object:
    if request.tools:
        raise ModelUnavailable("models of other providers are asked without tools")
    if request.schema is None:
        return models.ModelRequestParameters()
    form = import_module("pydantic_ai.output").OutputObjectDefinition(
        json_schema=dict(request.schema), name="answer", strict=True
    )
    return models.ModelRequestParameters(output_mode="native", output_object=form)
