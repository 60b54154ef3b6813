"""A model that plays one task as a conversation: it understands, reads, calculates, writes and answers as told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from shared.domain.exact_json import Json, JsonObject
from shared.ports.models import ModelReply, ModelRequest, TextBlock, ToolResult, ToolUse, Usage
from tests.doubles.scripted_model import json_reply, state_of, text_reply

Call = tuple[str, Mapping[str, object]]  # a tool and its arguments, which are JSON
Calls = Sequence[Call]
Script = Callable[[ModelRequest], ModelReply] | ModelReply
_OUTDATED = "Read again what it rests on"
_USAGE = Usage(input=10, output=10)


@dataclass
class Talk:
    """``rounds``: the calls of each reply in turn; the first is made beside ``understand``, then comes the answer.

    A round whose calls came back with an error is not repeated: the next one is played. Told that its plan is outdated,
    it plays all rounds again. ``helpers``: what is answered to the helper questions, by the name of their state.
    """

    parts: list[tuple[str, Literal["find out", "do"]]] = field(default_factory=list)
    process: str = "general"
    form: Literal["prose", "list"] = "prose"
    rounds: list[Calls] = field(default_factory=list)
    answer: str = ""
    helpers: dict[str, Script] = field(default_factory=dict)
    understands: bool = True

    def __call__(self, request: ModelRequest) -> ModelReply:
        state = state_of(request)
        if state:
            script = self.helpers.get(state.lower().replace(" ", "_"), _agreeing)
            return script if isinstance(script, ModelReply) else script(request)
        played = _rounds_played(request)
        if played < len(self.rounds) * (1 + _times_outdated(request)) or (played == 0 and self.understands):
            calls = self.rounds[played % len(self.rounds)] if self.rounds else ()
            first = (("understand", self._understood()),) if played == 0 and self.understands else ()
            return calls_reply((*first, *calls), played)
        return text_reply(self.answer)

    def _understood(self) -> JsonObject:
        parts: list[Json] = [{"quote": quote, "kind": kind} for quote, kind in self.parts]
        return {"parts": parts, "process": self.process, "answer_form": self.form}


def calls_reply(calls: Calls, number: int = 0, text: str = "") -> ModelReply:
    """Calls of one reply; their ids tell the reply and the place."""
    said: tuple[TextBlock, ...] = (TextBlock(text),) if text else ()
    uses = tuple(
        ToolUse(f"use-{number}-{place}", name, cast(JsonObject, given)) for place, (name, given) in enumerate(calls, 1)
    )
    return ModelReply((*said, *uses), "tool_use", _USAGE, "scripted")


def of_conversation(requests: Sequence[ModelRequest]) -> list[ModelRequest]:
    """The requests of the conversation itself, without the helper questions."""
    return [request for request in requests if not state_of(request)]


def results_in(request: ModelRequest) -> list[ToolResult]:
    """All results of calls that the request holds, in their order."""
    return [block for message in request.messages for block in message.blocks if isinstance(block, ToolResult)]


def texts_in(request: ModelRequest) -> str:
    """Everything that is said to the model in texts."""
    blocks = [block for message in request.messages if message.role == "user" for block in message.blocks]
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _rounds_played(request: ModelRequest) -> int:
    """Replies of this history with calls, and one more where a new history began with what was called before."""
    replies = [message for message in request.messages if message.role == "assistant"]
    with_calls = sum(any(isinstance(block, ToolUse) for block in message.blocks) for message in replies)
    return with_calls + ("<parts>" in texts_in(request))


def _times_outdated(request: ModelRequest) -> int:
    """How often the model was told that its plan was not made, because what it rests on changed."""
    messages = (message.blocks for message in request.messages)
    return sum(any(isinstance(one, ToolResult) and _OUTDATED in one.content for one in blocks) for blocks in messages)


def _agreeing(request: ModelRequest) -> ModelReply:
    answers: Mapping[str, Json] = {
        "COVERAGE": {"agrees": True, "problems": []},
        "DOCUMENT": {"sections": []},
        "NEXT TURN": {"finished": True, "time_step": "", "reason": "done"},
    }
    state = state_of(request)
    return json_reply(answers[state]) if state in answers else text_reply("")
