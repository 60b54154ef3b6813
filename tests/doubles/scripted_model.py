"""A ``Model`` that answers as a function says, and remembers what it was asked."""

from collections.abc import Callable, Iterable

from shared.domain.exact_json import Json, JsonObject, dumps
from shared.ports.models import Model, ModelReply, ModelRequest, TextBlock, ToolUse, Usage

Script = Callable[[ModelRequest], ModelReply]
_USAGE = Usage(input=10, output=10)


class ScriptedModel(Model):
    """``requests`` holds everything asked. A script may raise ``ModelUnavailable`` as a real model does."""

    def __init__(self, script: Script) -> None:
        self.requests: list[ModelRequest] = []
        self._script = script

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        return self._script(request)


def in_order(replies: Iterable[ModelReply]) -> Script:
    """A script of one reply after the other; it fails the test when it is asked once more."""
    waiting = iter(replies)

    def script(request: ModelRequest) -> ModelReply:
        reply = next(waiting, None)
        if reply is None:
            raise AssertionError(f"the script has no further reply, asked in {state_of(request)}")
        return reply

    return script


def state_of(request: ModelRequest) -> str:
    """The state whose text a request carries; empty if none."""
    lines = (line for block in request.system for line in block.splitlines() if line.startswith("# State: "))
    return next(lines, "").removeprefix("# State: ").strip()


def text_reply(text: str) -> ModelReply:
    return ModelReply((TextBlock(text),), "end_turn", _USAGE, "scripted")


def json_reply(value: Json) -> ModelReply:
    return text_reply(dumps(value))


def tool_reply(*calls: tuple[str, JsonObject], text: str = "") -> ModelReply:
    """Calls of one reply; their ids are ``use-1``, ``use-2`` ... of this reply."""
    said: tuple[TextBlock, ...] = (TextBlock(text),) if text else ()
    uses = tuple(ToolUse(f"use-{index}", name, given) for index, (name, given) in enumerate(calls, 1))
    return ModelReply((*said, *uses), "tool_use", _USAGE, "scripted")
