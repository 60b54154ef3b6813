"""The calls of the model's last reply, and what each is answered, until all of them are."""

from collections.abc import Mapping

from services.executor.core.model.talk import Talk
from services.executor.ports.models import ToolResult, ToolUse
from shared.domain.exact_json import Json, dumps

_NOT_MADE = "Not made: propose it again."


class Exchange:
    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._results: dict[str, ToolResult] = {}

    def begin(self, results: Mapping[str, ToolResult]) -> None:
        """What the calls of a new reply have come to at once."""
        self._results = dict(results)

    def is_open(self, use_id: str) -> bool:
        """Whether a call of the last reply waits for its result."""
        return use_id in self._calls() and use_id not in self._results

    def answer(self, use_id: str, told: Json) -> None:
        self._results[use_id] = ToolResult(use_id, dumps(told))

    def refuse(self, use_id: str, why: str) -> None:
        self._results[use_id] = ToolResult(use_id, why, is_error=True)

    def close(self, said: str = "") -> None:
        """Answer every call of the last reply, with ``said`` beside; a call without a result was not made."""
        calls = self._calls()
        if not calls:
            return self._talk.say(said or "Go on.")
        missing = ToolResult("", _NOT_MADE, is_error=True)
        results = [self._results.get(use_id, missing._replace(tool_use_id=use_id)) for use_id in calls]
        self._results = {}
        return self._talk.answer_calls(results, said)

    def _calls(self) -> list[str]:
        last = self._talk.messages[-1]
        if last.role != "assistant":
            return []
        return [block.id for block in last.blocks if isinstance(block, ToolUse)]
