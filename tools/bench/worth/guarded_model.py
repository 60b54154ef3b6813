"""The adapter: a scripted model of the bench speaks the worker's protocol, its parts being the task's own sentences."""

import json
from collections.abc import Sequence
from typing import cast

from shared.domain.exact_json import JsonObject, loads_object
from shared.ports.models import Model, ModelReply, ModelRequest, SingleRequestText, TextBlock, ToolUse, Usage
from tools.bench.worth.figuring import Figuring
from tools.bench.worth.fresh_tokens import FreshTokens
from tools.bench.worth.hearing import HeardConversation
from tools.bench.worth.models import PlayingModel
from tools.bench.worth.request_text import RequestWriter, answer_helper, find_state
from tools.bench.worth.steps import CallEnding, FinalReply, IntendedCall, IntendedCalls, PlayProgress, Step
from tools.bench.worth.workings import Working
from tools.bench.worth.worlds.task import PartKind, WorthTask


class GuardedModel(Model):
    """Says what the scripted model decides; figures of the gold that nothing shows it calculates, as the rules ask."""

    def __init__(self, task: WorthTask, model: PlayingModel) -> None:
        self._task, self._model = task, model
        self._hearing = HeardConversation()
        self._figuring = Figuring(task)
        self._fresh = FreshTokens()
        self._writer = RequestWriter()
        self._replies = 0
        self._put_off: Step | None = None
        self._late: list[ToolUse] = []  # what was found to be due before the last words
        self._left: set[int] = set()
        self._has_called = False
        self._offered: frozenset[str] = frozenset()
        self._heard: list[object] = []
        self._last = _reply()
        self.calls = 0

    @property
    def fresh(self) -> FreshTokens:
        return self._fresh

    @property
    def complaints(self) -> Sequence[str]:
        """What the worker objected to in the calculations."""
        return self._hearing.complaints

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        helping = answer_helper(request)
        self._fresh.count(self._writer.write(request), goes_on=helping is None)
        self._offered = frozenset(tool.name for tool in request.tools)
        if find_state(request) == "ARTIFACT":
            return _reply(TextBlock(self._write_artifact(request)))
        if helping is not None:
            return _reply(TextBlock(helping))
        heard: list[object] = [
            block
            for message in request.messages
            for block in message.blocks
            if not isinstance(block, SingleRequestText)
        ]
        if heard != self._heard:  # else it is asked for another draft of the same reply
            self._heard = heard
            self._hearing.hear(request)
            self._last = self._speak()
        return self._last

    def _write_artifact(self, request: ModelRequest) -> str:
        """The last words, where they come next; else nothing, and the conversation goes on."""
        if not self._hearing.hear_writes(request):
            return ""
        step = self._put_off = self._put_off or self._decide()
        if isinstance(step, FinalReply):
            self._late = self._prepare_answer(step)
        return step.text if isinstance(step, FinalReply) and not self._late else ""

    def _prepare_answer(self, step: FinalReply) -> list[ToolUse]:
        """What is called before the last words: figures that they need, and parts that are left."""
        workings = self._figuring.list_for_answer(self._hearing.shown)
        return [*_use_calculator(workings, self.calls), *self._leave_parts(step)]

    def _speak(self) -> ModelReply:
        if self._replies == 1:
            self._hearing.drop_untold()
        step, self._put_off = self._put_off or self._decide(), None
        late, self._late = self._late, []
        if isinstance(step, FinalReply):
            before = late or self._prepare_answer(step)
            return self._wait(step, *before) if before else _reply(TextBlock(step.text))
        due = self._figuring.list_for_calls(filter(self._is_write, step.calls), self._hearing.shown)
        if due:
            return self._wait(step, *_use_calculator(due, self.calls))
        workings = _use_calculator(self._figuring.list_for_answer(self._hearing.shown), self.calls)
        first, self._has_called = not self._has_called, True
        self._hearing.called |= {call.id: call for call in step.calls}
        return _reply(*([self._understand()] if first else []), *workings, *map(self._use, step.calls))

    def _wait(self, step: Step, *uses: ToolUse) -> ModelReply:
        """A reply with nothing but these calls; the step follows once they have results."""
        self._put_off = step
        return _reply(*uses)

    def _decide(self) -> Step:
        """The next step. Writes between which nothing has to be read are proposed together, as the rules ask."""
        step = self._model.decide(PlayProgress(self._replies, self._hearing.endings))
        self._replies += 1
        while isinstance(step, IntendedCalls) and self._replies > 1 and all(map(self._is_write, step.calls)):
            assumed = {**self._hearing.endings, **{call.id: CallEnding("{}") for call in step.calls}}
            after = self._model.decide(PlayProgress(self._replies, assumed))
            if not isinstance(after, IntendedCalls) or not all(map(self._is_write, after.calls)):
                break
            step = IntendedCalls((*step.calls, *after.calls))
            self._replies += 1
        return step

    def _is_write(self, call: IntendedCall) -> bool:
        operation = self._task.world.blueprint.find_operation(call.tool)
        return operation is not None and operation.writes

    def _understand(self) -> ToolUse:
        parts = [{"quote": part.quote, "kind": part.kind.value} for part in self._task.parts]
        given = {"parts": parts, "process": "general", "answer_form": "prose"}
        return ToolUse("understand", "understand", cast(JsonObject, given))

    def _use(self, call: IntendedCall) -> ToolUse:
        """A write says which part it carries out; a tool that does not stand in the request is called by `use_tool`."""
        told = {"_call": {"part": call.part + 1}} if self._is_write(call) else {}
        if call.tool in self._offered or "use_tool" not in self._offered:
            return ToolUse(call.id, call.tool, loads_object(json.dumps({**call.arguments, **told})))
        given = {"tool": call.tool, "arguments": call.arguments, **told}
        return ToolUse(call.id, "use_tool", loads_object(json.dumps(given)))

    def _leave_parts(self, step: FinalReply) -> list[ToolUse]:
        """Parts for which the gold has no write are left, once, when all is read."""
        if step.undone or not self._hearing.shown:
            return []
        served = {call.part for call in self._task.calls() if call.writes} | self._left
        parts = [n for n, part in enumerate(self._task.parts) if part.kind is PartKind.DO and n not in served]
        self._left |= {*parts}
        return [use for part in parts for use in self._leave_part(part)]

    def _leave_part(self, part: int) -> list[ToolUse]:
        """A calculated comparison where the condition is one of figures."""
        shown = self._hearing.shown
        working = self._figuring.find_unmet(part, shown)
        if working is None:
            because = {"because": "the task's own condition is not met", "ref": shown[-1].ref}
            return [ToolUse(f"leave-{part}", "leave_part", cast(JsonObject, {"part": part + 1, **because}))]
        *before, last = working
        return _use_calculator([(*before, {**last, "part": part + 1})], f"leave-{part}")


def _use_calculator(workings: Sequence[Working], place: object) -> list[ToolUse]:
    steps = [step for working in workings for step in working]
    return [ToolUse(f"work-{place}-{n}", "calculate", cast(JsonObject, step)) for n, step in enumerate(steps)]


def _reply(*blocks: TextBlock | ToolUse) -> ModelReply:
    uses = any(isinstance(block, ToolUse) for block in blocks)
    return ModelReply(blocks, "tool_use" if uses else "end_turn", Usage(10, 10), "scripted")
