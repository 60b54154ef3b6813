"""The model as published evaluators call it: ``(await ctx.llm.ainvoke(messages)).content``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from pydantic import JsonValue
from typing_extensions import override

from shared.ports.models import Message, Model, ModelReply, ModelRequest, ModelUnavailable, TextBlock, Tier

_MAX_TOKENS = 2048
_USERS = ("human", "user")
_MODELS = ("ai", "assistant")
_SYSTEM = ("system", "developer")


@dataclass(frozen=True)
class PromptMessage:
    """A message to a model. ``content``: a text, or blocks of which those with a ``text`` are read; ``type``: its
    author.
    """

    content: str | Sequence[JsonValue]
    type: ClassVar[str] = ""


class SystemMessage(PromptMessage):
    type: ClassVar[str] = "system"


class HumanMessage(PromptMessage):
    type: ClassVar[str] = "human"


@dataclass(frozen=True)
class AIMessage(PromptMessage):
    """A model's answer; ``usage_metadata`` holds the number of its tokens."""

    usage_metadata: dict[str, int] = field(default_factory=dict)
    response_metadata: dict[str, str] = field(default_factory=dict)
    type: ClassVar[str] = "ai"


ChatInput: TypeAlias = str | Sequence[object]


class ChatModel(Model):
    """A model for one evaluator, with the ``ainvoke`` of LangChain's chat models.

    ``problem``: why its last question went without an answer.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.problem: str | None = None

    async def ainvoke(self, messages: ChatInput, *_: object, **__: object) -> AIMessage:
        """Takes a text, or messages as objects with ``type`` and ``content``, as dicts with ``role`` and ``content``,
        or as pairs. Raises ``ModelUnavailable``, and ``ValueError`` for what is no message.
        """
        model_messages = [_read_message(message) for message in ([messages] if isinstance(messages, str) else messages)]
        system = tuple(text for role, text in model_messages if role in _SYSTEM)
        turns = tuple(
            Message("assistant" if role in _MODELS else "user", (TextBlock(text),))
            for role, text in model_messages
            if role not in _SYSTEM
        )
        reply = await self.complete(ModelRequest(Tier.LARGE, system, turns, max_tokens=_MAX_TOKENS))
        usage = {"input_tokens": reply.usage.input, "output_tokens": reply.usage.output}
        return AIMessage(reply.text, usage, {"model_name": reply.model})

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        try:
            reply = await self._model.complete(request)
        except ModelUnavailable as problem:
            self.problem = str(problem)
            raise
        self.problem = None
        return reply


def _read_message(message: object) -> tuple[str, str]:
    """The role of whoever wrote a message, and its text.

    Raises ``ValueError`` if the message has no text, or no role of a user, a model or a system.
    """
    if isinstance(message, str):
        return "user", message
    if isinstance(message, dict):
        role, content = message.get("role") or message.get("type"), message.get("content")
    elif isinstance(message, tuple | list) and len(message) == 2:
        role, content = message
    else:
        role, content = getattr(message, "type", None), getattr(message, "content", None)
    if role not in (*_USERS, *_MODELS, *_SYSTEM) or content is None:
        raise ValueError(f"{type(message).__name__} is no message of a user, a model or a system")
    return str(role), _content_text(content)


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts if part)
