"""The tool loop of one state: the model asks, the gate decides, permitted calls run, the model reads what came."""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

from services.executor.core.context import TurnContext
from services.executor.core.execute.model_calls import ask, thrift_of
from services.executor.core.prompts.sections import render
from services.executor.core.side_by_side import side_by_side
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import Message, ModelReply, ModelRequest, TextBlock, ToolResult, ToolUse
from shared.domain.exact_json import Json, dumps


class ToolRetry(Exception):
    """The model's call was not made; made again as the message says, it will be."""


class ToolFailed(Exception):
    """The model's call is over: the message says why, and the same call is not made again."""


class Dispatch(Protocol):
    """Makes one call that the model asked for and says what came of it.

    For the model's own mistakes it raises ``ToolRetry`` or ``ToolFailed``, and nothing else.
    """

    def __call__(self, key: str, use: ToolUse, /) -> Awaitable[ToolResult]: ...


class Talk(NamedTuple):
    """How a loop ended: the model's last reply, how many model and tool calls it took, and what was said before it."""

    reply: ModelReply
    model_calls: int
    tool_calls: int
    before: tuple[Message, ...] = ()


async def talk(
    ctx: TurnContext, step: str, request: ModelRequest, dispatch: Dispatch, purse: Purse = Purse.READING
) -> Talk:
    """Run the loop until the model asks for no tool, or the iterations are used up.

    Where the budget changes the tier, the conversation begins anew with what was called so far as data: one model's
    messages are not put into another's mouth.
    """
    messages = request.messages
    tier, calls = request.tier, _Calls(dispatch, ctx.limits.tool_calls)
    for iteration in range(ctx.limits.iterations):
        key = f"{step}:model:{iteration}"
        before, tier = tier, thrift_of(ctx, key, request.tier, purse).tier
        if tier is not before and iteration:
            messages = calls.retold(request.messages)
        reply = await ask(ctx, key, request._replace(messages=messages), purse)
        if not reply.tool_uses:
            return Talk(reply, iteration + 1, calls.made, messages)
        results = await calls.run(f"{step}:tool:{iteration}", reply.tool_uses)
        messages = (*messages, Message("assistant", reply.blocks), Message("user", tuple(results)))
    return Talk(reply, ctx.limits.iterations, calls.made, messages)


class _Calls:
    """The calls of one loop, as many as it may make."""

    def __init__(self, dispatch: Dispatch, most: int) -> None:
        self._dispatch = dispatch
        self._most = most
        self._told: list[Json] = []
        self._over: dict[str, str] = {}
        self.made = 0

    async def run(self, prefix: str, uses: Sequence[ToolUse]) -> list[ToolResult]:
        """Run the calls of one reply side by side, each after another that is the same: a dispatch may know it then.

        Those beyond the limit are answered with a refusal.
        """
        left = self._most - self.made
        firsts = {_same(use): index for index, use in reversed(list(enumerate(uses)))}
        repeats = [index for index, use in enumerate(uses) if firsts[_same(use)] != index]
        results: dict[int, ToolResult] = {}

        async def run(index: int) -> None:
            results[index] = await self._run(f"{prefix}:{index}", uses[index], index < left)

        await side_by_side(run(index) for index in sorted(firsts.values()))
        for index in repeats:
            await run(index)
        ordered = [results[index] for index in range(len(uses))]
        self.made += len(ordered)
        self._told += [_told(use, result) for use, result in zip(uses, ordered, strict=True)]
        return ordered

    def retold(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The first messages, and all calls so far as a section of data in the last of them."""
        *before, last = messages
        so_far = TextBlock(render({"so_far": self._told}))
        return (*before, last._replace(blocks=(*last.blocks, so_far)))

    async def _run(self, key: str, use: ToolUse, permitted: bool) -> ToolResult:
        if not permitted:
            return _error(use, "Not called: this state's limit of tool calls is reached.")
        same = _same(use)
        if same in self._over:
            return _error(use, f"Not called again, it came to nothing before: {self._over[same]}")
        try:
            return await self._dispatch(key, use)
        except ToolRetry as again:
            return _error(use, str(again))
        except ToolFailed as over:
            self._over[same] = str(over)
            return _error(use, str(over))


def _same(use: ToolUse) -> str:
    return f"{use.name} {dumps(use.input)}"


def _error(use: ToolUse, why: str) -> ToolResult:
    return ToolResult(use.id, why, is_error=True)


def _told(use: ToolUse, result: ToolResult) -> Json:
    failed: dict[str, Json] = {"failed": True} if result.is_error else {}
    return {"tool": use.name, "arguments": use.input, "result": result.content, **failed}
