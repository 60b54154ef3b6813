"""What a scripted model has heard in the worker's conversation: how its calls ended, and what results show."""

import json
from collections.abc import Mapping
from typing import cast

from shared.ports.models import ModelRequest, TextBlock, ToolResult
from tools.bench.worth.request_text import read_section
from tools.bench.worth.steps import CallEnding, IntendedCall
from tools.bench.worth.tabular import ShownResult
from tools.bench.worth.worlds.data import Json

DONE = ("verified", "unverified", "sent")


class HeardConversation:
    """Every request repeats the conversation, and is heard as a whole; a history that begins anew tells it as data."""

    def __init__(self) -> None:
        self.called: dict[str, IntendedCall] = {}
        self.endings: dict[str, CallEnding] = {}
        self.held: set[str] = set()
        self.complaints: list[str] = []
        self._shown: dict[str, ShownResult] = {}

    @property
    def shown(self) -> tuple[ShownResult, ...]:
        return tuple(self._shown.values())

    def hear(self, request: ModelRequest) -> None:
        for block in (block for message in request.messages for block in message.blocks):
            if isinstance(block, ToolResult):
                self._hear_result(block)
            elif isinstance(block, TextBlock):
                self._hear_data(block.text)

    def hear_writes(self, request: ModelRequest) -> bool:
        """What became of the writes, as who writes the answer is told it; false where a call is not told of."""
        text = "".join(block.text for block in request.messages[-1].blocks if isinstance(block, TextBlock))
        for written in cast("list[Mapping[str, Json]]", read_section(text, "writes")):
            told = {key: value for key, value in written.items() if key != "result"}
            self._hear_told(told, final=True)
            self._hear_told(told, final=False)
        return self.called.keys() <= self.endings.keys() and not self.held

    def drop_untold(self) -> None:
        """What the first reply wrote was put off, and no result of it is told."""
        self.endings |= {key: CallEnding("", refused=True) for key in self.called if key not in self.endings}

    def _hear_result(self, block: ToolResult) -> None:
        content, _, note = block.content.rpartition("\n[")
        if block.tool_use_id not in self.called:
            self.complaints += [block.content] * (block.is_error and block.content not in self.complaints)
            return
        if content and not block.is_error:  # a read's result: its fields, whatever their names, are the server's own
            self._store_result(note.partition("]")[0].partition(":")[0], content)
            self.endings[block.tool_use_id] = CallEnding(content)
        else:
            self.endings[block.tool_use_id] = _read_ending(block, content or block.content)
        if '"held":' in block.content:
            self.held.add(block.tool_use_id)

    def _store_result(self, ref: str, content: str) -> None:
        self._shown[ref] = ShownResult(ref, cast(Json, json.loads(content)))

    def _hear_data(self, text: str) -> None:
        """What was called before a history began anew, and what became of calls that were held."""
        for name in ("so_far", "outcomes"):
            for told in cast("list[Mapping[str, Json]]", read_section(text, name)):
                self._hear_told(told, final=name == "outcomes")

    def _hear_told(self, told: Mapping[str, Json], final: bool) -> None:
        if "ref" in told:
            self._shown[str(told["ref"])] = ShownResult(str(told["ref"]), told["result"])
        for key, call in self.called.items():
            same = call.tool == told["tool"] and call.arguments == told.get("arguments")
            if same and (key in self.held if final else key not in self.endings):
                self.endings[key] = _read_told(told)
                self.held.discard(key)


def _read_ending(block: ToolResult, content: str) -> CallEnding:
    if block.is_error:
        return CallEnding(content, refused=True, final="policy rule" in content)
    try:
        return _read_told(json.loads(content))
    except ValueError:
        return CallEnding(content)


def _read_told(told: object) -> CallEnding:
    """What became of a write; anything else that comes back is a result."""
    known = cast("dict[str, Json]", told) if isinstance(told, dict) else {}
    outcome = known.get("result")
    if isinstance(outcome, dict) and "ref" not in known:
        known = outcome
    status = str(known.get("status", ""))
    again = status.startswith(("not made, propose again", "propose it again"))
    lost = "note" in known and "status" in known and status not in DONE
    failed = "error" in known and "result" not in known
    return CallEnding(json.dumps(told), refused=failed or lost or again, final=lost and not again)
